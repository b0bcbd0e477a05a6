"""Tool calling through the prompt, for any dialect."""

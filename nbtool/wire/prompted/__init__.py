"""Tool calling through the prompt, around any dialect."""

"""Commands that send a prompt."""

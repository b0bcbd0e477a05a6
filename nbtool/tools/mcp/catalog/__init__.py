"""What a server offers, and what it returns: its tools, resources and prompts, and the values of its results."""

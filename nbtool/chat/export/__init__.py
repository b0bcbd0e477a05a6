"""Export a conversation as plain Python, Markdown, JSON or a notebook, and import JSON."""

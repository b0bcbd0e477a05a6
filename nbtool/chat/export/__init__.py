"""A conversation that leaves nbtool: as plain Python, Markdown, JSON or a notebook; and JSON that comes back."""

"""What the reader sees: the widget of a running turn."""

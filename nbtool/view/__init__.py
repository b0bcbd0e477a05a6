"""The widgets: a running turn, a conversation, the history explorer."""

"""Commands about the turns of this chat."""

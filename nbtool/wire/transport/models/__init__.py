"""Which models there are: the list of a server, and the default model."""

"""Servers of the Model Context Protocol that tests start as processes."""

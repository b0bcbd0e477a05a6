"""Blocks as HTML, plain text and data of a saved notebook."""

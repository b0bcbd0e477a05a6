"""The variable store, and references to what is in it."""

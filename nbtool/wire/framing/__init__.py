"""From bytes to JSON values, and from error objects to errors; no I/O."""

"""Parse bytes to JSON values, and error objects to errors, without I/O."""

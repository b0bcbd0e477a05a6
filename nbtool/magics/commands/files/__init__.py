"""Commands that write or read a file."""

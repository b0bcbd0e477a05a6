"""What is sent: the body, the key, the headers."""

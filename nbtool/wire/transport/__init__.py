"""The HTTP transport, the only package that uses httpx."""

"""Transports of httpx without sockets: the browser's `fetch`, and servers inside this process."""

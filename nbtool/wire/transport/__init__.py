"""The network: the one place that uses httpx."""

"""Providers: the catalog, credentials, and what a model name means; no sockets."""

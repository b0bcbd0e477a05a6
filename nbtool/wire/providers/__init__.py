"""The provider catalog, credentials and model kinds, without network access."""

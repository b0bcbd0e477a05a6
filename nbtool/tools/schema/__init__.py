"""Build a JSON schema and a validator from a signature."""

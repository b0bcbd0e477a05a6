"""From a signature to a JSON schema and a validator."""

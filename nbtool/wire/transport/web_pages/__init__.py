"""Pages fetched for a model, from public addresses only."""

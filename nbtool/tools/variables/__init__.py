"""The variable store, references, and eviction."""

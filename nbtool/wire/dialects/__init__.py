"""The dialects, a folder each with its encoder and its decoder; no I/O."""

"""One folder a dialect, with its encoder and its decoder; no I/O."""

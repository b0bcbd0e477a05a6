"""The notebook as the magics see it: its names, its cells, and the settings and flags written there."""

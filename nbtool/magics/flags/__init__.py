"""The flags of a cell, and the settings that are their defaults."""

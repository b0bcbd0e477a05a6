"""Convert any Python value to text, a preview and media."""

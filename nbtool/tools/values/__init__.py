"""From any Python value to text, preview and media."""

"""The notebook's names: as tools and references of a chat, as results, and as a turn changed them."""

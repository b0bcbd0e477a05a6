"""The cells of the notebook: as context, as tools change and run them, and as the page inserts them."""

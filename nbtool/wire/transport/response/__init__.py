"""What comes back: bytes read ahead and decompressed, decoded to deltas."""

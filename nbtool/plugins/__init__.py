"""What enters a turn by the public door; ours use the same door as yours."""

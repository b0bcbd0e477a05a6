"""Texts that look like calls, written in another form than the one that was asked for."""

"""Recordings: a recorded turn is reused when nothing that matters changed, so that Run All is free and the same.

The chat decides before anything is asked; nothing below it knows. `key` says what a turn is made of, `file` holds turns
next to the notebook, `taking` makes one of a finished turn, `replay` tells it again, `recordings` brings them together.
"""

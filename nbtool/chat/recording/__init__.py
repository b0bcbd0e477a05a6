"""Recordings: a recorded turn is replayed if its inputs are unchanged, so that Run All is free and reproducible.

The chat looks up the recording before any request; lower layers are not aware of it. `cache_key` is the key of a turn,
`file` the file next to the notebook, `serialize` converts finished turns, `replay` replays them, `recorder` is the API.
"""

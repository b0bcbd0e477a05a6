"""Rounds until the model stops: the engine, the plugin contract, limits and repair."""

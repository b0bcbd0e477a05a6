"""The engine that runs the rounds of a turn, the plugin hooks, limits and history repair."""

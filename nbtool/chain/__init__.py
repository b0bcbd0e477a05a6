"""The engine that runs the rounds of a turn, the plugin hooks, limits and history repair.

engine.py   the engine: rounds, status, end     plugin.py, hooks.py  the plugin interface
request.py  one request and its reply           hook_calls.py        order, thread and time limit of hooks
outcome.py  what a turn came to                 limits.py, meter.py  limits, and what a turn has used of them
"""

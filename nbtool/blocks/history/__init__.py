"""A whole conversation for the explorer: its tree, each turn in steps and on a timeline, and its totals.

protocol.py             the types sent to the page   tree_rows.py      the tree as rows
turn_steps.py           one turn, step by step       timeline.py       who waited for whom
conversation_search.py  full-text search             usage_totals.py   tokens, cost and time, by tool, round and model
static_history.py       all of it as safe HTML       saved_history.py  all of it as data
"""

"""A whole conversation for the explorer: its tree, each turn in steps and on a timeline, and its totals.

protocol.py  the types sent to the page      rows.py      the tree as rows
turn.py      one turn, step by step          timeline.py  who waited for whom
search.py    full-text search                totals.py    tokens, cost and time, by tool, round and model
static.py    all of it as safe HTML         saved.py     all of it as data
"""

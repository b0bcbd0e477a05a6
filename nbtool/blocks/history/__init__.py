"""A whole conversation as what an explorer shows: its tree, one turn in steps and on a time line, and its totals.

shapes.py   what crosses to the page          told.py    what is read of a conversation
index.py    the tree as rows                  detail.py  one turn, step by step
spans.py    who waited for whom               totals.py  tokens, cost and time, by tool, round and model
search.py   words in what was said            static.py  all of it as HTML that can do nothing
"""

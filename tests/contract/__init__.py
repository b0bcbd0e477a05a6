"""What nbtool guarantees, said as tests that do not know how it is done.

- Every promise of docs/promises.md and every line of the tables of docs/features.md has a test here, marked with
  `promise("its id")` or `feature("the first cell of its row")`. What only a page can show is marked in tests/browser.
- Tests use what a user has: the names of `PUBLIC` in test_coverage.py, cells, files, and other programs' libraries.
- The outside is `simulator.py`: a provider on loopback that says what a test scripts, and keeps what it was sent.
- A file is a topic, and its docstring says which promises it holds; a test is a sentence. A body scripts, acts, and
  asserts facts: a value, a status, the name of a setting in a message; never a sentence of nbtool's.
- A test here changes only if nbtool promises something else: then README, docs and CHANGELOG change with it.
"""

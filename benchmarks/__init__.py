"""Benchmarks of nbtool, other libraries and minimal hand-written clients: `make bench BENCH=performance`.

__main__.py       the command: runs everything, prints a table, writes docs/performance.md
server.py         a deterministic server on loopback that speaks Chat Completions
client.py         one process, one contestant: runs scenarios and prints a line of JSON for each
floors.py         minimal clients: a raw socket, or httpx and pydantic_core by hand
contestants.py    nbtool and its peers, each used as in its own documentation
environments.py   the environment of each peer, created if missing, and its size
rounds.py         interleaved processes; medians, and ratios within one round
goals.py          goals and measured figures
startup.py        import times                   memory.py   memory after 10,000 turns
tool_search.py    tokens that a search of tools saves, and what it finds, with the questions of a public suite
wakeup.py         a click in a running cell      history.py, journal.py, page.py   separate programs

Peers run in separate environments, so `client.py` and its imports need only the standard library.
"""

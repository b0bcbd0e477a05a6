"""What nbtool costs, beside other libraries and beside the least that is possible: `make bench`.

__main__.py       the command: runs everything, prints a table, writes docs/performance.md
server.py         a deterministic server on loopback that speaks Chat Completions
client.py         one process, one contestant: runs scenarios and prints a line of JSON for each
floors.py         the least a client can do: a raw socket, or httpx and pydantic_core by hand
contestants.py    nbtool and its peers, each used as its own documentation shows
environments.py   the environment of each peer, made where it is missing, and how large it is
rounds.py         interleaved processes; medians, and ratios within one round
goals.py          what is aimed at, and what was measured
startup.py        how long an import takes       memory.py   what 10,000 turns leave behind
wakeup.py         a click in a running cell      history.py, journal.py, page.py   programs of their own

Peers run in environments of their own, so `client.py` and what it imports need nothing but the standard library.
"""

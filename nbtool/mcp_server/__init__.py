"""The notebook's tools and variables for programs outside: a Model Context Protocol server in the kernel.

endpoint.py      a call of a client, in place of a model content.py      tools, results and variables for clients
client_calls.py  the calls of one client, each a turn   handlers.py     the requests of the protocol
access.py        who may connect                        http_server.py  the server, on a thread of its own
address.py       the file with its address and token    bridge.py       `nbtool-mcp`: a process in front of it
totals.py        what a client called and received
"""

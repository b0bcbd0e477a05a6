"""Agents that answer in a cell through the Agent Client Protocol: JSON-RPC lines to a program on this machine.

profiles.py      which agents there are, and what is known of each     settings.py    the person's `agents.toml`
agent_process.py the program that runs an agent, and ends it           process.py     its start and its end
connection.py    requests, notifications and answers, in order         mapping.py     the protocol as nbtool's deltas
relay.py         the tools of a turn, as a server of MCP               relay_bridge.py the program in front of it
session.py       one session of an agent: mode, prompts, questions     transcript.py  a conversation as a first prompt
endpoint.py      the endpoint of a turn                                agent_host.py  the agent of one chat
"""

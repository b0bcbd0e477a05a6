"""Agents that answer in a cell through the Agent Client Protocol: JSON-RPC lines to a program on this machine.

agent.py           what a chat knows of an agent before a turn   profiles.py      which agents there are
settings.py        the person's `agents.toml`                    limits.py        seconds and sizes
agent_host.py      the agent of one chat                         endpoint.py      the endpoint of one turn
session.py         one session: mode, prompts, questions         mapping.py       the protocol as nbtool's deltas
connection.py      messages in order, each answered once         session_record.py  what a session has seen
process.py         its start and its end                         agent_process.py the program that runs and ends it
relay.py           the tools of a turn, as a server of MCP       relay_bridge.py  the program in front of it
transcript.py      a conversation as a first prompt
"""

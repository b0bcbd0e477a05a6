"""A model on loopback that says what a test wants it to say, and keeps every byte that it was sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from nbtool.messages import ToolCall
from tests.chaos import DONE, ChaosServer, event, finish, head, serve_each, text

Reply = str | ToolCall | Sequence[ToolCall]


@contextmanager
def model(*replies: Reply) -> Iterator[ChaosServer]:
    """Serve these replies in order, each as the stream of an OpenAI-compatible server."""
    with serve_each(*([head(), *_stream_reply(reply), DONE] for reply in replies)) as server:
        yield server


def sent_text(server: ChaosServer) -> str:
    """Give all that left, as it went over the wire: the bodies of every request, with JSON's escapes undone."""
    return "\n".join(request.body.decode() for request in server.requests).replace('\\"', '"').replace("\\\\", "\\")


def answers(server: ChaosServer, request: int = -1) -> dict[str, str]:
    """Give what the model was told of its calls in one request, by the provider's call id."""
    messages = server.requests[request].json["messages"]
    return {message["tool_call_id"]: message["content"] for message in messages if message["role"] == "tool"}


def offered_tools(server: ChaosServer) -> dict[str, Any]:
    """Give the tools of the first request, by name."""
    return {tool["function"]["name"]: tool["function"] for tool in server.requests[0].json["tools"]}


def _stream_reply(reply: Reply) -> list[bytes]:
    if isinstance(reply, str):
        return [text(reply), finish()]
    calls = [reply] if isinstance(reply, ToolCall) else reply
    deltas = [
        {"index": at, "id": call.id or f"call_{at}", "function": {"name": call.name, "arguments": call.arguments}}
        for at, call in enumerate(calls)
    ]
    return [event({"choices": [{"delta": {"tool_calls": deltas}}]}), finish("tool_calls")]

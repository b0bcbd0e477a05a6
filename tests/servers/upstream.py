"""The double of a provider behind a gateway: it answers by the name of the model, in three dialects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.chaos import ChaosServer, Received, Repeat, Reset, Step, head, serve_by, whole
from tests.providers.replies import Answer, encode_answer
from tests.providers.simulator import PATHS, WRONG_KEY

KEY = "upstream-key-0123456789"
"""The key that the provider accepts, in either header."""

CALL = Answer("Let me see.", calls=(("double", {"n": 21}),))
LAST = Answer("The double of 21 is 42.")
TOKENS = (3, 4)
"""The tokens of every reply, in and out."""

MODELS = ("steady", "endless", "broken", "busy", "short")
"""The models, by what they do: answer, talk for ever, break off in mid-reply, refuse for now, refuse long prompts."""

REFUSALS: dict[str, tuple[int, dict[str, Any], dict[str, str]]] = {
    "busy": (
        429,
        {"error": {"message": "Rate limit reached for requests", "type": "rate_limit_error", "code": "rate_limit"}},
        {"retry_after": "7200"},
    ),
    "short": (
        400,
        {
            "error": {
                "message": "This model's maximum context length is 10 tokens.", "type": "invalid_request_error",
                "code": "context_length_exceeded",
            }
        },
        {},
    ),
}  # fmt: skip


@dataclass
class Upstream:
    """The running double: its address and the requests that it received."""

    server: ChaosServer | None = None
    requests: list[Received] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Its address, as one for clients of OpenAI."""
        assert self.server
        return self.server.url

    def respond(self, request: Received) -> Sequence[Step]:
        """Give the answer to one request."""
        path = request.path.partition("?")[0]
        if request.method == "GET":  # LiteLLM looks for models when it starts
            return [whole(200, {"object": "list", "data": []})]
        dialect = next((name for name, pattern in PATHS.items() if re.search(f"{pattern.pattern}$", path)), "")
        if KEY not in (request.headers.get("x-api-key"), request.headers.get("authorization", "")[len("Bearer ") :]):
            return [whole(401, WRONG_KEY[dialect])]
        self.requests.append(request)
        body = request.json
        model = body["model"]
        if model in REFUSALS:
            status, refusal, headers = REFUSALS[model]
            return [whole(status, _in_dialect(dialect, refusal), **headers)]
        if model in ("endless", "broken"):
            return _begin(dialect, model)
        answer = CALL if body.get("tools") and not _has_result(dialect, body) else LAST
        return encode_answer(dialect, answer, stream=body.get("stream") is True)


def _in_dialect(dialect: str, refusal: dict[str, Any]) -> dict[str, Any]:
    return {"type": "error", **refusal} if dialect == "anthropic" else refusal


def _has_result(dialect: str, body: dict[str, Any]) -> bool:
    """Whether the request ends with the result of a call."""
    messages = body["input"] if dialect == "responses" else body["messages"]
    last = messages[-1]
    if dialect == "anthropic":
        return any(block.get("type") == "tool_result" for block in last["content"] if isinstance(block, dict))
    return last.get("role") == "tool" or last.get("type") == "function_call_output"


def _begin(dialect: str, model: str) -> list[Step]:
    """Give a reply that never ends, or one that the connection breaks in its call."""
    answer = Answer("word " * 20) if model == "endless" else CALL
    _, *events = encode_answer(dialect, answer, stream=True)
    mark = b"word" if model == "endless" else b'"double"'
    at = next(at for at, step in enumerate(events) if isinstance(step, bytes) and mark in step)
    piece = events[at]
    if model == "endless" and isinstance(piece, bytes):
        return [head(), *events[:at], Repeat(piece)]
    return [head(), *events[: at + 2], Reset()]


@contextmanager
def serve_upstream() -> Iterator[Upstream]:
    """Run the double."""
    upstream = Upstream()
    with serve_by(upstream.respond) as server:
        upstream.server = server
        yield upstream

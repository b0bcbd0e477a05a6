"""A loopback double of the providers: their dialects, the headers they demand, and what they refuse.

    with simulate("openai", Answer(calls=(("double", {"n": 21}),)), Answer("42.")) as provider:
        Chat("openai:gpt-5.4", base_url=provider.url, api_key=provider.key, tools=[double]).send("Double 21.")

A request is checked as the provider would check it, in this order: the path, the key, the version header, the rows of
`BEHAVIOURS` for that provider and dialect. A request that passes gets the next answer, of which the last is repeated.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tests.chaos import ChaosServer, Received, Step, serve_by, whole
from tests.providers.behaviour import Behaviour
from tests.providers.behaviours import BEHAVIOURS
from tests.providers.conditions import has_hidden_thinking, prefix_signature
from tests.providers.replies import Answer, Body, encode_answer

PATHS = {
    "chat": re.compile(r"/chat/completions"),
    "responses": re.compile(r"/responses"),
    "anthropic": re.compile(r"/messages"),
    "gemini": re.compile(r"/models/([^/:]+):(?:streamG|g)enerateContent"),
}
"""How the path of a request ends in each dialect."""

KEY_HEADERS = {"anthropic": "x-api-key", "gemini": "x-goog-api-key"}
"""The header of the key by dialect; all others take `Authorization: Bearer`."""

OWN_KEY_HEADERS = {"azure": "api-key", "vertex": "bearer"}
"""The header of the key of providers that differ from their dialect."""


def key_header(provider: str, dialect: str) -> str:
    """Return the header of the key, as nbtool's setting `auth` names it."""
    return OWN_KEY_HEADERS.get(provider) or KEY_HEADERS.get(dialect, "bearer")


MODELS_PATH = re.compile(r"/models")


@dataclass
class Keys:
    """The keys that a provider accepts: each for a number of requests, after which it has expired; None for ever."""

    lifetimes: dict[str, int | None]
    used: dict[str, int] = field(default_factory=dict)

    def accept(self, key: str) -> bool:
        """Whether a key is valid, counting its use."""
        if key not in self.lifetimes:
            return False
        lifetime = self.lifetimes[key]
        self.used[key] = self.used.get(key, 0) + 1
        return lifetime is None or self.used[key] <= lifetime


@dataclass
class Provider:
    """A running double of one provider."""

    name: str
    answers: Sequence[Answer]
    keys: Keys
    behaviours: Sequence[Behaviour]
    models: Sequence[Body]
    headers: dict[str, str]
    required_query: dict[str, str]
    refused: list[str] = field(default_factory=list)
    bodies: list[Body] = field(default_factory=list)
    dialects: list[str] = field(default_factory=list)
    server: ChaosServer | None = None

    @property
    def url(self) -> str:
        """The address of its API, as a person would set it."""
        assert self.server
        path = {"google": "v1beta", "vertex": "v1/projects/p/locations/l/publishers/google"}.get(self.name, "v1")
        return f"{'https' if self.server.tls else 'http'}://127.0.0.1:{self.server.port}/{path}"

    @property
    def key(self) -> str:
        """A valid key."""
        return next(iter(self.keys.lifetimes))

    @property
    def requests(self) -> list[Received]:
        """All requests as they came."""
        assert self.server
        return self.server.requests

    def respond(self, request: Received) -> Sequence[Step]:
        """Give the answer to one request, or its refusal."""
        path = request.path.partition("?")[0]
        if request.method == "GET" and MODELS_PATH.search(path):
            return self._list_models(request)
        dialect = next((name for name, pattern in PATHS.items() if re.search(f"{pattern.pattern}$", path)), "")
        refusal = self._gate(dialect, request)
        if refusal:
            self.refused.append(refusal[0])
            return [whole(refusal[1], refusal[2])]
        body = request.json
        for row in self.behaviours:
            if row.dialect == dialect and row.refuses(body, request):
                self.refused.append(row.name)
                return [whole(row.status, row.body_for(body, request), **row.headers)]
        answer = self.answers[min(len(self.bodies), len(self.answers) - 1)]
        self.bodies.append(body)
        self.dialects.append(dialect)
        is_stream = ":stream" in path if dialect == "gemini" else body.get("stream") is True
        if dialect == "anthropic":
            answer = replace(answer, signature=prefix_signature(body), is_hidden=has_hidden_thinking(body))
        return encode_answer(dialect, replace(answer, has_ids=self.name != "vertex"), stream=is_stream)

    def _gate(self, dialect: str, request: Received) -> tuple[str, int, Body] | None:
        """Check the path, the key and the headers; a refusal with its name, status and body."""
        if not dialect:
            return "path", 404, {"error": {"message": f"Not found: {request.path}"}}
        if not self.keys.accept(self._key_of(dialect, request)):
            return "key", 401, WRONG_KEY[dialect]
        missing = [name for name, value in self._headers_of(dialect).items() if request.headers.get(name) != value]
        if missing:
            return "headers", 400, {"error": {"message": f"{missing[0]}: header is required"}}
        if any(f"{name}={value}" not in request.path for name, value in self.required_query.items()):
            return "query", 404, {"error": {"code": "404", "message": "Resource not found"}}
        return None

    def _key_of(self, dialect: str, request: Received) -> str:
        name = key_header(self.name, dialect)
        return request.headers.get("authorization" if name == "bearer" else name, "").removeprefix("Bearer ")

    def _headers_of(self, dialect: str) -> dict[str, str]:
        return {**self.headers, **({"anthropic-version": "2023-06-01"} if dialect == "anthropic" else {})}

    def _list_models(self, request: Received) -> Sequence[Step]:
        dialects = {"anthropic": "anthropic", "google": "gemini"}
        dialect = dialects.get(self.name, "chat")
        if not self.keys.accept(self._key_of(dialect, request)):
            self.refused.append("key")
            return [whole(401, WRONG_KEY[dialect])]
        if dialect == "gemini":
            return [whole(200, {"models": [{**model, "name": f"models/{model['id']}"} for model in self.models]})]
        return [whole(200, {"object": "list", "data": list(self.models)})]


WRONG_KEY: dict[str, Body] = {
    "chat": {
        "error": {
            "message": "Incorrect API key provided: sk-****.", "type": "invalid_request_error",
            "code": "invalid_api_key",
        }
    },
    "anthropic": {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}},
    "gemini": {
        "error": {
            "code": 401, "status": "UNAUTHENTICATED",
            "message": "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or "
            "other valid authentication credential.",
        }
    },
}  # fmt: skip
WRONG_KEY["responses"] = WRONG_KEY["chat"]


@contextmanager
def simulate(
    name: str,
    *answers: Answer,
    behaviours: Sequence[Behaviour] | None = None,
    keys: dict[str, int | None] | None = None,
    models: Sequence[Body] = (),
    headers: dict[str, str] | None = None,
    query: dict[str, str] | None = None,
    tls: ssl.SSLContext | None = None,
) -> Iterator[Provider]:
    """Run a double of a provider; `headers` and `query` are demanded of every request beside its own."""
    rows = [row for row in BEHAVIOURS if row.provider == name] if behaviours is None else behaviours
    provider = Provider(
        name, answers or (Answer(),), Keys(keys or {"key-1": None}), rows, models, headers or {}, query or {}
    )
    with serve_by(provider.respond, tls=tls) as server:
        provider.server = server
        yield provider

"""One refusal of a provider: its words, its condition, and what nbtool makes of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from nbtool import Chat
from nbtool.errors import ProviderError
from nbtool.messages import user
from nbtool.wire import Prompt, ToolSpec
from tests.chaos import Received
from tests.providers.replies import Answer

Body = dict[str, Any]

DOUBLE = ToolSpec("double", "Twice a number.", {"type": "object", "properties": {"n": {"type": "integer"}}})
PLAIN = Prompt((user("Hi"),))
WITH_TOOLS = Prompt((user("Double 21."),), tools=(DOUBLE,))

CALL = Answer("", calls=(("double", {"n": 21}),), thinking="Twice 21.")
"""The first answer of a conversation."""

TEXT_DIALECTS = ("chat", "responses", "anthropic", "gemini")
SERVER_DIALECTS = ("chat", "responses", "anthropic")
"""The dialects that gateways and local servers speak beside each other."""


class Topic(StrEnum):
    """What a behaviour is about."""

    DIALECT = "tools need another dialect"
    COST = "the cost of a reply"
    RETIRED = "models that are gone"
    THINKING = "thinking that goes back"
    DISPLAY = "forced tools, and text between calls"
    CACHE = "cache marks"
    GATEWAY = "headers, query and keys that expire"
    CERTIFICATES = "certificates"
    HISTORY = "earlier calls and results"
    TOOLS = "models without native tools"
    PROVIDER_TOOLS = "tools of the provider"
    REASONING = "encrypted reasoning"
    ACCOUNT = "keys, limits and overload"
    FIELDS = "fields of a request"


@dataclass(frozen=True)
class Behaviour:
    """One refusal of one provider; `{model}` in its body is the model of the request.

    `models` matches the model of the request. `is_refused` looks at the body alone, so that a row holds for every
    request of that shape; `trigger` is a prompt whose request has it, with these `fields` in place of its own, and
    `error` what nbtool makes of the refusal.
    A conversation is held in each of `dialects` (default: `dialect`): the model answers with `answer`; `options`
    are those of the person, and `change` is what the person does before the second prompt.
    """

    provider: str
    dialect: str
    name: str
    models: str
    is_refused: Callable[[Body], bool]
    status: int
    body: Body
    date: str
    source: str
    model: str
    trigger: Prompt = WITH_TOOLS
    error: type[ProviderError] = ProviderError
    headers: Mapping[str, str] = field(default_factory=dict)
    topic: Topic = Topic.FIELDS
    dialects: tuple[str, ...] = ()
    answer: Answer = CALL
    change: Callable[[Chat], None] | None = None
    provider_tools: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)

    def refuses(self, body: Body, request: Received) -> bool:
        """Whether a request is refused."""
        return bool(re.fullmatch(self.models, requested_model(body, request))) and self.is_refused(body)

    def body_for(self, body: Body, request: Received) -> Body:
        """Give the body of the refusal."""
        model = json.dumps(requested_model(body, request))[1:-1]
        answer: Body = json.loads(json.dumps(self.body).replace("{model}", model))
        return answer


def requested_model(body: Body, request: Received) -> str:
    """Give the model of a request, from its body or its path."""
    in_path = re.search(r"/models/([^/:?]+):", request.path)
    return in_path[1] if in_path else str(body.get("model", ""))


# --- the form of each provider's errors -----------------------------------------------------------------------


def openai(message: str, code: str | None = None, param: str | None = None) -> Body:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def anthropic(message: str, kind: str = "invalid_request_error") -> Body:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def google(code: int, status: str, message: str, *details: Body) -> Body:
    return {"error": {"code": code, "message": message, "status": status, **({"details": details} if details else {})}}


def detail(kind: str, **fields: Any) -> Body:
    return {"@type": f"type.googleapis.com/google.rpc.{kind}", **fields}

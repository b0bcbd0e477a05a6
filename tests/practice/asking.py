"""What the tests of the practice model share: tools on offer, and requests made of prompts."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from nbtool import practice

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
REAL = {"type": "number"}
FRAME = {"type": "string", "description": "a reference: $VAR_REF{{name}} to a DataFrame"}
SPECIES = {"type": "string", "enum": ["Adelie", "Chinstrap", "Gentoo"]}

SYSTEM = "Pass objects as `$VAR_REF{{name}}`.\n- $VAR_REF{{penguins}}: DataFrame, 344 rows by 8 columns"


def tool(name: str, /, *required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": "", "parameters": parameters}}


TOOLS = [
    tool("price", "ticker", ticker=TEXT),
    tool("count", "species", species=SPECIES),
    tool("heaviest", "df", df=FRAME, n={**WHOLE, "default": 3}),
    tool("describe", "df", df=FRAME),
    tool("add", "a", "b", a=REAL, b=REAL),
    tool("double", "x", x=WHOLE),
    tool("weather", "city", city=TEXT, unit={"enum": ["celsius", "fahrenheit"]}),
    tool("tidy", "df", "strict", df=FRAME, strict={"type": "boolean"}),
    tool("mean", "values", values={"type": "array", "items": REAL}),
    tool("plot", "df", df=FRAME, kind={"anyOf": [{"enum": ["bar", "line"]}, {"type": "null"}]}),
    tool("distance", "start", "end", start=TEXT, end=TEXT),
    tool("since", "day", day=TEXT),
    tool("list_species"),
]


def request(prompt: str, *later: dict[str, Any], **fields: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}, *later]
    return {"model": "fast", "messages": messages, "tools": TOOLS, **fields}


def call_round(*calls: tuple[str, dict[str, Any], str]) -> list[dict[str, Any]]:
    """Give the messages of a round in which these calls were made, with what came of each."""
    ids = [f"call_{name}_{at}" for at, (name, _, _) in enumerate(calls)]
    asked = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for call_id, (name, arguments, _) in zip(ids, calls, strict=True)
    ]
    answers = [
        {"role": "tool", "tool_call_id": call_id, "content": text}
        for call_id, (_, _, text) in zip(ids, calls, strict=True)
    ]
    return [{"role": "assistant", "content": None, "tool_calls": asked}, *answers]


@contextmanager
def send_request(
    method: str, path: str, body: object = None, *, headers: dict[str, str] | None = None
) -> Iterator[http.client.HTTPResponse]:
    """Send one request to the practice server over HTTP, with its key; `headers` are laid over the usual ones."""
    server = practice.start()
    host = urlsplit(server.base_url)
    data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    usual = {"Authorization": f"Bearer {server.key.get_secret_value()}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(str(host.hostname), host.port, timeout=240)
    try:
        connection.request(method, f"{host.path}{path}", data, {**usual, **(headers or {})})
        with connection.getresponse() as response:
            yield response
    finally:
        connection.close()

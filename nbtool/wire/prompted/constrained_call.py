"""A call that a server can only write as it should: a reply whose JSON schema is that of the call.

Where a tool has to be called and the server constrains decoding (the ability `json_schema`), the reply is one object
with the mark of the chat as its only key, so that no text that is merely repeated is one. See
https://docs.vllm.ai/en/latest/features/structured_outputs.html and
https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from nbtool.json_schema.dialects import is_strict
from nbtool.wire.base import ToolSpec
from nbtool.wire.dialect import find_dialect

MAX_CONSTRAINED = 1024 * 1024
"""Maximum number of characters of such a reply; a longer one does not run."""

MAX_BEGIN = 200
"""Maximum number of characters, blanks included, before the mark of such a reply ends."""


def constrain_call(dialect: str, word: str, tools: Sequence[ToolSpec], choice: str) -> dict[str, Any]:
    """Return the request options that allow the call of one of these tools only; empty where none is required."""
    chosen = [tool for tool in tools if choice in ("required", tool.name)]
    if choice in ("auto", "none") or not chosen:
        return {}
    schema = _call_schema(word, chosen)
    return find_dialect(dialect).answer_options(schema, is_strict(schema))


class ConstrainedReply:
    """Tells a reply that is such a call from any other, however it is cut; `size` is that of what is held of it."""

    def __init__(self, word: str) -> None:
        self._word, self._begin = word, f'{{"{word}":'
        self._may_be = True
        self._held: list[str] = []
        self.size = 0
        self.is_call = False

    @property
    def held(self) -> str:
        """Return what was read and not returned."""
        return "".join(self._held)

    def feed(self, text: str) -> str:
        """Return the text of a reply that is no such call, as soon as this can be told."""
        if not self._may_be:
            return text
        self._held.append(text)
        self.size += len(text)
        if not self.is_call:
            begin = "".join(self.held.split())
            self.is_call = begin.startswith(self._begin)
            self._may_be = self.is_call or (self.size <= MAX_BEGIN and self._begin.startswith(begin))
        return "" if self._may_be else self.release()

    def release(self) -> str:
        """Return what is held of a reply that is no such call: something other than text follows, or nothing."""
        if self.is_call:
            return ""
        text = self.held
        self._held.clear()
        self._may_be = False
        return text

    def read(self) -> tuple[str, dict[str, Any]] | None:
        """Return the name and the arguments of the call; None if it is not whole, or too long."""
        if self.size > MAX_CONSTRAINED:
            return None
        try:
            call = json.loads(self.held)[self._word]
            name, arguments = call["name"], call["arguments"]
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        return (name, arguments) if isinstance(name, str) and isinstance(arguments, dict) else None


def _call_schema(word: str, tools: Sequence[ToolSpec]) -> dict[str, Any]:
    """Return the schema of a call of one of the tools; definitions are those of the root, so those of one tool only."""
    if len(tools) == 1:
        parameters = dict(tools[0].parameters)
        definitions = parameters.pop("$defs", None)
        schema = _closed({word: _call_of(tools[0], parameters)})
        return {**schema, "$defs": definitions} if definitions else schema
    calls = [_call_of(tool, {"type": "object"} if "$defs" in tool.parameters else tool.parameters) for tool in tools]
    return _closed({word: {"anyOf": calls}})


def _call_of(tool: ToolSpec, parameters: Mapping[str, Any]) -> dict[str, Any]:
    return _closed({"name": {"type": "string", "enum": [tool.name]}, "arguments": parameters})


def _closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }

"""The key of a recorded turn: a digest of every input that its replies depend on.

A key has a digest for each part, so that a difference can be explained: `the tool price changed`, `df has other
values`. The date in the prompts and values that differ from run to run (ids of calls and messages) are excluded.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nbtool.chat.model import Model
from nbtool.chat.recording.key_part import Part, PartKind
from nbtool.clock import monotonic
from nbtool.errors import UnknownReference
from nbtool.messages import Citation, DateText, Media, Message, ProviderCall, ToolCall, ToolResult
from nbtool.text import map_text
from nbtool.tools.content_hash import MAX_SECONDS, content_hash, content_hash_or_reason
from nbtool.tools.content_hash.code import global_data
from nbtool.tools.tool import Tool
from nbtool.tools.variables.references import referenced_names
from nbtool.tools.variables.store import Variables

SECONDS = MAX_SECONDS
"""Time limit for hashing all objects of one turn, in seconds."""

DIGEST_CHARS = 20
"""Hexadecimal digits of a part's digest: 80 bits."""

_MENTION = re.compile(r"(?<![\\\w])\$`([A-Za-z_]\w*)`")

ANY_MODEL = ""
"""The name of an unspecified model: matches any recorded model in replay-only mode."""

_OPTIONAL = ("reads", "result")
"""Kinds of parts that are compared only if the recording has them."""


@dataclass(frozen=True)
class TurnInputs:
    """The inputs of a turn before it starts, except the history.

    `choices` are further inputs: which tools it may use, and the texts of outcomes.
    """

    prompt: Message
    model: Model
    model_name: str
    system: str
    tools: Mapping[str, Tool]
    rules: Sequence[tuple[str, str, str]]
    options: Mapping[str, Any]
    variables: Variables
    plugins: Sequence[object] = ()
    answer: Any = None
    choices: Any = None


@dataclass(frozen=True, slots=True)
class CacheKey:
    """The parts of a turn with their digests; `uncomparable` maps parts that cannot be compared to the reason.

    `conditional` are exposed objects without a digest: they matter only if a call refers to them.
    """

    parts: Mapping[Part, str]
    uncomparable: Mapping[Part, str] = field(default_factory=dict)
    conditional: Mapping[str, str] = field(default_factory=dict)

    def diff(self, recorded: Mapping[Part, str], variables: Variables, *, any_model: bool = False) -> list[str]:
        """Return the differences to a recorded key, a phrase for each part."""
        now = dict(self.parts)
        now |= {part: _result(part.name, variables) for part in recorded if part.kind == "result"}
        wanted = [part for part in now if part in recorded or part.kind not in _OPTIONAL]
        parts = [*recorded, *(part for part in wanted if part not in recorded)]
        differ = [part for part in parts if recorded.get(part) != now.get(part)]
        if any_model:
            differ = [part for part in differ if part.kind != "model"]
        return [_phrase(part, recorded.get(part), now.get(part)) for part in differ]


def make_key(inputs: TurnInputs) -> CacheKey:
    """Return the key of a turn; slow if its objects are large, so it is called off the loop."""
    parts = {
        Part("prompt"): hash_json([_part(part) for part in inputs.prompt.parts]),
        **_model_parts(inputs.model, inputs.model_name),
        Part("system"): hash_json([inputs.system.strip(), [list(rule) for rule in inputs.rules]]),
        Part("options"): hash_json(content_hash(dict(inputs.options))),
        Part("answer"): hash_json(inputs.answer.schema if inputs.answer else None),
        Part("choices"): (content_hash(inputs.choices) or "unknown")[:DIGEST_CHARS],
    }
    deadline = monotonic() + SECONDS
    unknown = _add_code(parts, inputs)
    parts |= global_reads(inputs.tools, deadline)
    key = _add_objects(parts, inputs, deadline)
    return replace(key, uncomparable={**unknown, **key.uncomparable})


def mentioned_variables(prompt: Message) -> set[str]:
    """Return the variables that a prompt mentions or refers to."""
    return {*_MENTION.findall(prompt.text), *referenced_names(prompt.text)}


def hash_json(value: Any) -> str:
    """Return the digest of a JSON value."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_CHARS]


def history_digest(history: Iterable[Message], clean: Callable[[str], str] = str) -> str:
    """Return the digest of the history: roles and parts, without ids and dates; empty if there is none."""
    rows = [
        [message.role, [_part(part) for part in message.parts if not isinstance(part, DateText)]] for message in history
    ]
    return hash_json(map_text(rows, clean)) if rows else ""


def result_digests(names: Iterable[str], variables: Variables) -> tuple[dict[Part, str], dict[Part, str]]:
    """Return the parts for results of earlier turns that a turn used, and uncomparable ones with the reason."""
    parts, unknown = {}, {}
    for name in names:
        code_hash = content_hash_or_reason(variables.value(name))
        if code_hash.digest is None:
            unknown[Part("result", name)] = code_hash.reason
        else:
            parts[Part("result", name)] = code_hash.digest[:DIGEST_CHARS]
    return parts, unknown


def explain_uncomparable(unknown: Mapping[Part, str]) -> str:
    """Return a text that lists parts that cannot be compared, and why."""
    return "; ".join(f"`{part.name or part.kind}` cannot be compared ({reason})" for part, reason in unknown.items())


def global_reads(tools: Mapping[str, Tool], deadline: float | None = None) -> dict[Part, str]:
    """Return the parts for global data that tools read by name, if it can be compared."""
    until = deadline or monotonic() + SECONDS
    reads: dict[Part, str] = {}
    for name, tool in tools.items():
        reads |= _reads(name, tool, until)
    return reads


def changed_reads(parts: Mapping[Part, str], later: Mapping[Part, str]) -> set[Part]:
    """Return the globals read by tools that the turn itself changed: they are state, not inputs."""
    return {part for part, digest in parts.items() if part.kind == "reads" and later.get(part) != digest}


def _model_parts(model: Model, name: str) -> dict[Part, str]:
    """Return the parts for the model as specified; nothing is looked up that would need an API key."""
    own = None if model.wire is None or isinstance(model.wire, str) else model.wire
    return {
        Part("model"): name,
        Part("wire"): own.dialect if own else str(model.wire or ""),
        Part("address"): hash_json(model.base_url) if model.base_url else "",
        Part("tool_mode"): model.tool_mode,
    }


def _add_code(parts: dict[Part, str], inputs: TurnInputs) -> dict[Part, str]:
    """Add plugins and tools; return those whose code cannot be compared, with the reason."""
    unknown = {}
    for plugin in inputs.plugins:
        part, code_hash = Part("plugin", type(plugin).__name__), content_hash_or_reason(type(plugin))
        parts[part] = (code_hash.digest or "")[:DIGEST_CHARS]
        if code_hash.digest is None:
            unknown[part] = code_hash.reason
    for name, tool in inputs.tools.items():
        code_hash = content_hash_or_reason(tool.function)
        digest = code_hash.digest or tool.digest
        parts[Part("tool", name)] = hash_json(
            [tool.name, tool.description, dict(tool.parameters.schema), tool.store_as, digest]
        )
        if code_hash.is_unhashable_code:
            unknown[Part("tool", name)] = code_hash.reason
    return unknown


def _reads(name: str, tool: Tool, deadline: float) -> dict[Part, str]:
    """Return the tables, constants and the like that one tool reads."""
    data = global_data(tool.function)
    digests = {
        read: content_hash_or_reason(value, seconds=deadline - monotonic()).digest for read, value in data.items()
    }
    return {Part("reads", name, read): digest[:DIGEST_CHARS] for read, digest in digests.items() if digest}


def _add_objects(parts: dict[Part, str], inputs: TurnInputs, deadline: float) -> CacheKey:
    """Add the exposed objects; an uncomparable one matters only if the prompt or a call refers to it."""
    in_prompt = mentioned_variables(inputs.prompt)
    options = content_hash_or_reason(dict(inputs.options))
    unknown: dict[Part, str] = {} if options.digest else {Part("options"): options.reason}
    maybe: dict[str, str] = {}
    for entry in inputs.variables.list_entries():
        part = Part("object", entry.name)
        if entry.kind != "exposed":
            if entry.name in in_prompt and entry.kind == "result":
                more, failures = result_digests([entry.name], inputs.variables)
                parts, unknown = parts | more, unknown | failures
            continue
        try:
            code_hash = content_hash_or_reason(inputs.variables.value(entry.name), seconds=deadline - monotonic())
        except UnknownReference:
            parts[part] = "gone"
            continue
        readable = " read" if entry.is_readable else ""
        if code_hash.digest is not None:
            parts[part] = code_hash.digest[:DIGEST_CHARS] + readable
        elif entry.name in in_prompt:
            unknown[part] = code_hash.reason
        else:
            maybe[entry.name] = code_hash.reason
            parts[part] = hash_json(inputs.variables.describe(entry.name)) + readable
    return CacheKey(parts, unknown, maybe)


def _result(name: str, variables: Variables) -> str:
    try:
        return (content_hash(variables.value(name)) or "")[:DIGEST_CHARS]
    except UnknownReference:
        return ""


def _part(part: Any) -> Any:
    """Return a part of a message as JSON, without values that differ from run to run."""
    match part:
        case Media():
            data = hashlib.sha256(part.data).hexdigest() if part.data is not None else ""
            return ["media", part.mime, data, part.url or "", part.name]
        case ToolCall():
            return ["call", part.name, part.arguments]
        case ToolResult():
            return ["result", part.name, part.text, part.is_error, [_part(media) for media in part.media]]
        case ProviderCall():
            return ["provider", part.tool, part.text, part.output]
        case Citation():
            return ["citation", part.link.url, part.text]
        case _:
            return [part.kind, part.text]


def _phrase(part: Part, then: str | None, now: str | None) -> str:
    """Return a short description of a changed part."""
    match part.kind:
        case "model":
            return f"the model is {now}, not {then}"
        case "version":
            return f"version {now or 1} of this turn was not recorded" if now or then else ""
        case "reads":
            return f"`{part.item}`, which the tool `{part.name}` reads, has other values"
        case "tool" | "plugin":
            became = "is new" if then is None else "is gone" if now is None else "changed"
            return f"the {part.kind} `{part.name}` {became}"
        case "object" | "result":
            became = "is exposed now" if then is None else "is not exposed" if not now else "has other values"
            return f"`{part.name}` {became}"
        case _:
            return _PHRASES[part.kind]


_PHRASES: Mapping[PartKind, str] = {
    "prompt": "the prompt or an attachment changed",
    "wire": "the wire changed",
    "address": "the base URL changed",
    "system": "the system text changed",
    "options": "the options changed",
    "answer": "the type of the answer changed",
    "choices": "the available tools or the texts of outcomes changed",
    "history": "the history changed",
    "tool_mode": "the tool mode changed",
}

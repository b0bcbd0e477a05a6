"""What a request says: the prompt, the tools on offer, the variables that may be named, and what was done already."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nbtool.practice.pictures import seen

MAX_PROMPT = 20_000
"""Characters of a prompt that are read; tools named further down are not seen."""

REFERENCE = re.compile(r"\$VAR_REF\{\{([^\W\d][\w./-]*)[^}]{0,200}\}\}")
MENTION = re.compile(r"\$`([^\W\d][\w./-]*)`")
LAST_WORD = re.compile(r"\[nbtool\]|without (calling )?(any )?(more )?tools|final (reply|answer)", re.IGNORECASE)
OBJECTS = re.compile(r"(?<!\s)\s*<notebook-objects>.*?(?:</notebook-objects>|\Z)", re.DOTALL)
"""What nbtool adds to a prompt: the objects that may be referred to. They are known, but were not said."""
MUST_FIT = re.compile(r"must be JSON that fits this schema[^\n]{0,80}\n(?=\{)")
PLACEHOLDERS = frozenset({"name", "var"})
"""Names that stand for a name wherever the syntax of references is explained."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool on offer; `parameters` is its JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Done:
    """A call of this turn and the text that came of it; `arguments` as they were sent."""

    name: str
    arguments: str
    text: str

    @property
    def reference(self) -> str:
        """The reference under which the result says it is kept, or nothing."""
        found = REFERENCE.findall(self.text)
        return reference_to(found[-1]) if found else ""

    @property
    def shown(self) -> str:
        """The result without the closing lines that only say where it is kept."""
        lines = self.text.strip("\n").rstrip().splitlines()
        while len(lines) > 1 and (not lines[-1].strip() or REFERENCE.search(lines[-1])):
            lines.pop()
        return "\n".join(lines) or "nothing"


@dataclass(frozen=True, slots=True)
class Ask:
    """A request as the planner sees it.

    `choice` is `auto`, `none`, `required` or the name of the one tool that must be called; `final` asks for
    a last word without tools; `known` are the variables that the request names anywhere; `attached` says what came
    with the prompt, and `schema` is that of the JSON that the answer must be.
    """

    prompt: str
    tools: tuple[Offer, ...] = ()
    known: tuple[str, ...] = ()
    done: tuple[Done, ...] = ()
    choice: str = "auto"
    parallel: bool = True
    final: bool = False
    attached: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None


def read(body: Mapping[str, Any]) -> Ask:
    """Read a request that `protocol.check` has found in order."""
    messages = body["messages"]
    at, final = _prompt_of(messages)
    prompt = OBJECTS.sub("", text_of(messages[at])[:MAX_PROMPT]) if at >= 0 else ""
    told = "\n".join(text_of(one) for one in messages if one["role"] in ("system", "developer", "user"))
    named = [*_named(prompt), *(name for name in _named(told) if name not in PLACEHOLDERS)]
    functions = [tool["function"] for tool in body.get("tools") or []]
    choice = body.get("tool_choice") or "auto"
    return Ask(
        prompt=prompt,
        tools=tuple(Offer(one["name"], one.get("description") or "", one.get("parameters") or {}) for one in functions),
        known=tuple(dict.fromkeys(named)),
        done=tuple(_done(messages[at + 1 :])),
        choice=choice if isinstance(choice, str) else choice["function"]["name"],
        parallel=body.get("parallel_tool_calls") is not False,
        final=final or choice == "none",
        attached=_attached(messages[at]) if at >= 0 else (),
        schema=_schema(told),
    )


def reference_to(name: str) -> str:
    """Write a reference."""
    return f"$VAR_REF{{{{{name}}}}}"


def text_of(message: Mapping[str, Any]) -> str:
    """Give the prose of a message, whose content is a text or a list of parts."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(str(part.get("text") or "") for part in content)


def _attached(message: Mapping[str, Any]) -> tuple[str, ...]:
    content = message.get("content")
    return tuple(filter(None, map(seen, content))) if isinstance(content, list) else ()


def _schema(told: str) -> Mapping[str, Any] | None:
    """Find the schema that an answer is to fit, where the system text tells one."""
    begins = list(MUST_FIT.finditer(told))
    try:
        found = json.JSONDecoder().raw_decode(told, begins[-1].end())[0] if begins else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _named(text: str) -> list[str]:
    found = [*REFERENCE.finditer(text), *MENTION.finditer(text)]
    return [match[1] for match in sorted(found, key=lambda match: match.start())]


def _prompt_of(messages: list[dict[str, Any]]) -> tuple[int, bool]:
    """Find the message that is to be answered; where a last word is asked for after tools, it is the one before."""
    said = [at for at, message in enumerate(messages) if message["role"] == "user"]
    since = [message["role"] for message in messages[said[-2] : said[-1]]] if len(said) > 1 else []
    if "tool" in since and LAST_WORD.search(text_of(messages[said[-1]])):
        return said[-2], True
    return (said[-1] if said else -1), False


def _done(turn: list[dict[str, Any]]) -> list[Done]:
    answers = {message["tool_call_id"]: text_of(message) for message in turn if message["role"] == "tool"}
    calls = [(call["id"], call["function"]) for message in turn for call in message.get("tool_calls") or []]
    return [Done(said["name"], said.get("arguments") or "{}", answers.get(call_id, "")) for call_id, said in calls]

"""Parse a request: the prompt, the offered tools, the named variables, and the calls made so far."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nbtool.practice.pictures import describe_image
from nbtool.tools.calls.result import EDITED_NOTICE
from nbtool.tools.schema.json_schema import ANSWER_SCHEMA_PROMPT
from nbtool.wire.dialects.chat_completions.encoder import RESULT_MEDIA

MAX_PROMPT = 20_000
"""Maximum number of characters of a prompt that are read; tools named after them are not found."""

REFERENCE = re.compile(r"\$VAR_REF\{\{([^\W\d][\w./-]*)[^}]{0,200}\}\}")
MENTION = re.compile(r"\$`([^\W\d][\w./-]*)`")
FINAL_REQUEST = re.compile(r"\[nbtool\]|without (calling )?(any )?(more )?tools|final (reply|answer)", re.IGNORECASE)
PROMPT_CONTEXT = re.compile(r"(?<!\s)\s*<(notebook-objects|date)>.*?(?:</\1>|\Z)", re.DOTALL)
"""What nbtool adds to a prompt: the date, and objects that can be referenced, but that the user did not name."""
_RESULT_MEDIA = re.compile(re.escape(RESULT_MEDIA).replace(r"\{name\}", r"\S{1,200}"))
PLACEHOLDERS = frozenset({"name", "var"})
"""Placeholder names in explanations of the reference syntax."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """An offered tool; `parameters` is its JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """A call of this turn and its result text; `arguments` as they were sent."""

    name: str
    arguments: str
    text: str

    @property
    def reference(self) -> str:
        """The reference to the stored result in the result text, or an empty text."""
        names = REFERENCE.findall(self.text)
        return reference_to(names[-1]) if names else ""

    @property
    def is_edited(self) -> bool:
        """Whether the result says that the user changed the arguments, which are not known then."""
        return self.text.startswith(EDITED_NOTICE)

    @property
    def result_text(self) -> str:
        """The result without the line about changed arguments and the closing lines about where it is stored."""
        lines = self.text.removeprefix(EDITED_NOTICE).strip("\n").rstrip().splitlines()
        while len(lines) > 1 and (not lines[-1].strip() or REFERENCE.search(lines[-1])):
            lines.pop()
        return "\n".join(lines) or "nothing"


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A parsed request for the planner.

    `choice` is `auto`, `none`, `required` or the name of the one tool that must be called; `final` requests a final
    reply without calls; `variables` are the variables that the request names anywhere; `attachments` describes the
    attachments of the prompt, and `schema` is that of a required JSON answer; `instructions` are
    the system text.
    """

    prompt: str
    tools: tuple[OfferedTool, ...] = ()
    variables: tuple[str, ...] = ()
    outcomes: tuple[ToolOutcome, ...] = ()
    choice: str = "auto"
    parallel: bool = True
    final: bool = False
    attachments: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None
    instructions: str = ""


def parse_request(body: Mapping[str, Any]) -> ParsedRequest:
    """Parse a request that `protocol.validate_request` has accepted."""
    messages = [message for message in body["messages"] if not _has_only_result_media(message)]
    index, final = _find_prompt(messages)
    prompt = PROMPT_CONTEXT.sub("", message_text(messages[index])[:MAX_PROMPT]) if index >= 0 else ""
    all_text = "\n".join(
        message_text(message) for message in messages if message["role"] in ("system", "developer", "user")
    )
    names = [*_mentioned_names(prompt), *(name for name in _mentioned_names(all_text) if name not in PLACEHOLDERS)]
    functions = [tool["function"] for tool in body.get("tools") or []]
    choice = body.get("tool_choice") or "auto"
    return ParsedRequest(
        prompt=prompt,
        tools=tuple(
            OfferedTool(message["name"], message.get("description") or "", message.get("parameters") or {})
            for message in functions
        ),
        variables=tuple(dict.fromkeys(names)),
        outcomes=tuple(_read_outcomes(messages[index + 1 :])),
        choice=choice if isinstance(choice, str) else choice["function"]["name"],
        parallel=body.get("parallel_tool_calls") is not False,
        final=final or choice == "none",
        attachments=_attached(messages[index]) if index >= 0 else (),
        schema=_schema(all_text),
        instructions="\n".join(
            message_text(message) for message in messages if message["role"] in ("system", "developer")
        ),
    )


def reference_to(name: str) -> str:
    """Return the reference to a name."""
    return f"$VAR_REF{{{{{name}}}}}"


def message_text(message: Mapping[str, Any]) -> str:
    """Return the text of a message, whose content is a text or a list of parts."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(str(part.get("text") or "") for part in content)


def _has_only_result_media(message: Mapping[str, Any]) -> bool:
    """Whether a message of the user is none, but has the images of results."""
    content = message.get("content")
    if message["role"] != "user" or not isinstance(content, list):
        return False
    texts = [str(part.get("text") or "") for part in content if part.get("type") == "text"]
    return bool(texts) and all(map(_RESULT_MEDIA.fullmatch, texts))


def _attached(message: Mapping[str, Any]) -> tuple[str, ...]:
    content = message.get("content")
    return tuple(filter(None, map(describe_image, content))) if isinstance(content, list) else ()


def _schema(all_text: str) -> Mapping[str, Any] | None:
    """Return the schema that an answer must fit, if the system text has one."""
    _, mark, text = all_text.rpartition(ANSWER_SCHEMA_PROMPT)
    try:
        schema = json.JSONDecoder().raw_decode(text)[0] if mark else None
    except (ValueError, RecursionError):
        return None
    return schema if isinstance(schema, dict) else None


def _mentioned_names(text: str) -> list[str]:
    matches = [*REFERENCE.finditer(text), *MENTION.finditer(text)]
    return [match[1] for match in sorted(matches, key=lambda match: match.start())]


def _find_prompt(messages: list[dict[str, Any]]) -> tuple[int, bool]:
    """Find the message to answer; if a final reply is requested after tools, it is the previous one."""
    user_indexes = [index for index, message in enumerate(messages) if message["role"] == "user"]
    roles_between = (
        [message["role"] for message in messages[user_indexes[-2] : user_indexes[-1]]] if len(user_indexes) > 1 else []
    )
    if "tool" in roles_between and FINAL_REQUEST.search(message_text(messages[user_indexes[-1]])):
        return user_indexes[-2], True
    return (user_indexes[-1] if user_indexes else -1), False


def _read_outcomes(turn: list[dict[str, Any]]) -> list[ToolOutcome]:
    answers = {message["tool_call_id"]: message_text(message) for message in turn if message["role"] == "tool"}
    calls = [(call["id"], call["function"]) for message in turn for call in message.get("tool_calls") or []]
    return [
        ToolOutcome(function["name"], function.get("arguments") or "{}", answers.get(call_id, ""))
        for call_id, function in calls
    ]

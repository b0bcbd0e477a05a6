"""The protocol's messages as nbtool's values, and the other way round: what a new version of it changes is here."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtool.errors import BadUsage, Unsupported
from nbtool.events import Delta, MediaDelta, StopReason, TextDelta, ThinkingDelta
from nbtool.messages import Media, Message, Text, Usage
from nbtool.text import left_out, shorten
from nbtool.wire.agents.process import one_line

if TYPE_CHECKING:
    from acp.schema import McpServerStdio
    from pydantic import BaseModel

PROTOCOL_VERSION = 1
"""The version of the protocol that is spoken."""

MAX_PLAN_STEPS = 100
"""Maximum number of steps of a plan that are shown."""

MAX_STEP = 500
"""Characters of a step that are shown."""

STOP_REASONS: Mapping[str, StopReason] = {
    "end_turn": "end",
    "max_tokens": "length",
    "max_turn_requests": "calls",
    "refusal": "refused",
}
"""Why a prompt ended; `cancelled`, and what is not here, is an error."""

_STEP_MARKS = {"completed": "[x]", "in_progress": "[~]"}

Json = Mapping[str, Any]


def require_packages() -> None:
    """Import the packages of the extra in advance, so that their import does not block the loop.

    Raises:
        BadUsage: one is not installed.
    """
    try:
        import acp.schema  # noqa: F401, PLC0415 - the extra is imported when an agent is used
        import mcp.server  # noqa: F401, PLC0415 - the same
    except ImportError as error:
        fix = "Run `%pip install 'nbtool-chat[acp]'`."
        raise BadUsage(f"Agents need the packages `agent-client-protocol` and `mcp` ({error}).", fix=fix) from error


def initialize_params() -> Json:
    """Return the parameters of `initialize`: no files, no terminals, no questions of an agent's own."""
    from acp.schema import ClientCapabilities, Implementation, InitializeRequest  # noqa: PLC0415 - part of the extra

    about = Implementation(name="nbtool", version=_own_version())
    capabilities = ClientCapabilities.model_validate({
        "fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False,
    })  # fmt: skip
    return _dump(
        InitializeRequest(protocol_version=PROTOCOL_VERSION, client_capabilities=capabilities, client_info=about)
    )


def _own_version() -> str:
    try:
        return version("nbtool-chat")
    except PackageNotFoundError:  # pragma: no cover - it runs from its sources
        return "0"


def session_params(folder: Path, server: McpServerStdio, options: Json, session_id: str = "") -> Json:
    """Return the parameters of `session/new`, or, with an id, those of `session/resume` and `session/load`."""
    from acp.schema import NewSessionRequest, ResumeSessionRequest  # noqa: PLC0415 - part of the extra

    fields: dict[str, Any] = {"cwd": str(folder), "mcp_servers": [server]}
    request = ResumeSessionRequest(session_id=session_id, **fields) if session_id else NewSessionRequest(**fields)
    return {**_dump(request), **({"_meta": options} if options else {})}


def prompt_params(session_id: str, messages: Iterable[Message], before: Iterable[str], *, takes_images: bool) -> Json:
    """Return the parameters of `session/prompt`: texts, and the messages of the person.

    Raises:
        nbtool.errors.Unsupported: an attachment cannot be sent.
    """
    from acp.schema import PromptRequest, TextContentBlock  # noqa: PLC0415 - part of the extra

    blocks: list[Any] = [TextContentBlock(type="text", text=text) for text in before if text]
    for message in messages:
        for part in message.parts:
            if isinstance(part, Media):
                blocks.append(_image_block(part, takes_images=takes_images))
            elif isinstance(part, Text) and part.text:
                blocks.append(TextContentBlock(type="text", text=part.text))
    return _dump(PromptRequest(session_id=session_id, prompt=blocks))


def _image_block(media: Media, *, takes_images: bool) -> BaseModel:
    from acp.schema import ImageContentBlock  # noqa: PLC0415 - part of the extra

    if not takes_images or not media.mime.startswith("image/") or media.data is None:
        raise Unsupported(
            f"This agent takes no attachment of the type {media.mime}{' by its address' if media.url else ''}.",
            fix="Leave it out, and expose the object to a tool: `-v NAME`.",
        )
    data = base64.b64encode(media.data).decode("ascii")
    return ImageContentBlock(type="image", mime_type=media.mime, data=data)


def _dump(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


@dataclass(frozen=True, slots=True)
class AgentAbilities:
    """What an agent says of itself: its name and version, and which requests it takes."""

    about: str = ""
    version: str = ""
    protocol: int = 0
    can_resume: bool = False
    can_load: bool = False
    can_close: bool = False
    takes_images: bool = False

    @classmethod
    def read(cls, response: Json) -> AgentAbilities:
        """Return what an answer to `initialize` says; what it does not say, the agent cannot."""
        own, info = _object(response, "agentCapabilities"), _object(response, "agentInfo")
        sessions, prompts = _object(own, "sessionCapabilities"), _object(own, "promptCapabilities")
        protocol = response.get("protocolVersion")
        return cls(
            one_line(info.get("name") or "", 60),
            one_line(info.get("version") or "", 30),
            protocol if isinstance(protocol, int) else 0,
            can_resume=isinstance(sessions.get("resume"), Mapping),
            can_load=own.get("loadSession") is True,
            can_close=isinstance(sessions.get("close"), Mapping),
            takes_images=prompts.get("image") is True,
        )


def mode_of(response: Json) -> str | None:
    """Return the mode that an answer or an update names; None if it names none, "" if it names several."""
    found = {
        value
        for value in (
            _object(response, "modes").get("currentModeId"),
            response.get("currentModeId"),
            *(
                option.get("currentValue")
                for option in _objects(response.get("configOptions"))
                if "mode" in (option.get("category"), option.get("id"))
            ),
        )
        if isinstance(value, str)
    }
    return next(iter(found)) if len(found) == 1 else "" if found else None


class ReplyReader:
    """Reads the updates of one prompt as the deltas of a reply; a new message of the agent is a text of its own."""

    def __init__(self) -> None:
        self._message_ids: dict[type[Delta], object] = {}
        self._plan = ""

    def read(self, update: Json) -> Iterator[Delta]:
        """Yield the deltas of an update; none for those of other kinds, and for what cannot be read."""
        kind, content = update.get("sessionUpdate"), _object(update, "content")
        if kind == "agent_message_chunk":
            yield from self._text(update, content, TextDelta)
            yield from _image(content)
        elif kind == "agent_thought_chunk":
            yield from self._text(update, content, ThinkingDelta)
        elif kind == "plan" and (plan := format_plan(update)) and plan != self._plan:
            self._plan = plan
            yield self._piece(plan, "plan", ThinkingDelta)

    def _text(self, update: Json, content: Json, delta_type: type[TextDelta] | type[ThinkingDelta]) -> Iterator[Delta]:
        text = content.get("text")
        if content.get("type") == "text" and isinstance(text, str) and text:
            yield self._piece(text, update.get("messageId"), delta_type)

    def _piece(self, text: str, message_id: object, delta_type: type[TextDelta] | type[ThinkingDelta]) -> Delta:
        """Return a piece of a message; another message is a paragraph of its own."""
        is_new = delta_type in self._message_ids and message_id != self._message_ids[delta_type]
        self._message_ids[delta_type] = message_id
        return delta_type(f"\n\n{text}" if is_new else text, is_new=is_new)


def _image(content: Json) -> Iterator[Delta]:
    mime, data = content.get("mimeType"), content.get("data")
    if content.get("type") == "image" and isinstance(mime, str) and isinstance(data, str):
        try:
            yield MediaDelta(Media(mime, base64.b64decode(data, validate=True)))
        except (binascii.Error, ValueError):
            return


def format_plan(update: Json) -> str:
    """Return an agent's plan as text, a line for each step."""
    steps = _objects(update.get("entries"))
    lines = [
        f"{_STEP_MARKS.get(str(step.get('status')), '[ ]')} {one_line(step.get('content', ''), MAX_STEP)}"
        for step in steps[:MAX_PLAN_STEPS]
    ]
    more = [f"[{note}]"] if (note := left_out(len(steps) - MAX_PLAN_STEPS, "steps")) else []
    return "\n".join(["Plan:", *lines, *more, ""]) if lines else ""


def describe_tool_call(call: Json, names: Iterable[object] = ()) -> str:
    """Return a tool call of an agent in one line: its tool's name or kind, its title, and the files that it names."""
    title = one_line(call.get("title") or "without a title", 200)
    name = one_line(next(iter(names), None) or call.get("kind") or "tool", 30)
    paths = [item.get("path") for item in (*_objects(call.get("locations")), *_objects(call.get("content")))]
    named = ", ".join(dict.fromkeys(one_line(path, 100) for path in paths if path))
    return f"{name}: {title}{f' ({named})' if named else ''}"


def describe_diffs(call: Json) -> str:
    """Return the changes of files in a tool call of an agent, as text."""
    pieces = []
    for item in _objects(call.get("content")):
        if item.get("type") == "diff":
            old, new = str(item.get("oldText") or ""), str(item.get("newText") or "")
            pieces.append(
                "\n".join([f"--- {one_line(item.get('path', ''), 200)}", *_marked("-", old), *_marked("+", new)])
            )
    return "\n".join(pieces)


def _marked(mark: str, text: str) -> list[str]:
    lines = text.splitlines()
    more = [f"[{note}]"] if (note := left_out(len(lines) - MAX_PLAN_STEPS, "lines")) else []
    return [f"{mark} {shorten(line, MAX_STEP)}" for line in lines[:MAX_PLAN_STEPS]] + more


def read_usage(response: Json) -> Usage:
    """Return the tokens of a prompt, as far as its answer says them; what is read from a cache is part of the input."""
    usage = _object(response, "usage")
    read, written = _count(usage, "cachedReadTokens"), _count(usage, "cachedWriteTokens")
    inputs, outputs = _count(usage, "inputTokens"), _count(usage, "outputTokens")
    if _count(usage, "totalTokens") - inputs - outputs >= read + written:
        inputs += read + written
    return Usage(
        input_tokens=inputs,
        output_tokens=outputs,
        cached_tokens=read,
        cache_write_tokens=written,
        thinking_tokens=_count(usage, "thoughtTokens"),
    ).bounded()


class CostReader:
    """The cost of each prompt, from the running total of a session; it is never negative, also if that begins again."""

    def __init__(self) -> None:
        self._total: float | None = None
        self._cost: float | None = None
        self.context_tokens = 0

    def read(self, update: Json) -> None:
        """Take note of a `usage_update`."""
        self.context_tokens = _count(update, "used")
        cost = _object(update, "cost")
        amount = cost.get("amount")
        if cost.get("currency", "USD") == "USD" and isinstance(amount, int | float) and 0 <= amount < float("inf"):
            self._cost = (self._cost or 0.0) + max(0.0, amount - (self._total or 0.0))
            self._total = float(amount)

    def take(self, usage: Usage) -> Usage:
        """Return the usage of a prompt with its cost since the last one, which is an estimate of the agent's own."""
        cost, self._cost = self._cost, None
        return usage if cost is None else replace(usage, cost=cost, is_cost_estimated=True)


def _count(source: Json, name: str) -> int:
    value = source.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else 0


def _object(source: Json, name: str) -> Json:
    value = source.get(name)
    return value if isinstance(value, Mapping) else {}


def _objects(value: Any) -> list[Json]:
    return [record for record in value if isinstance(record, Mapping)] if isinstance(value, list) else []

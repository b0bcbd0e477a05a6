"""The wire that offers tools through the prompt, around any dialect, for models without function calling.

The inner wire gets no tools: the system text describes them, calls and results in the history are written as text, and
the scanner parses the model's text. Native calls of the inner wire are passed on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from nbtool.errors import WireError
from nbtool.events import (
    CallDelta,
    CallPending,
    Delta,
    MediaDelta,
    ProviderDelta,
    RefusalDelta,
    ReplyEnd,
    TextDelta,
    ThinkingDelta,
)
from nbtool.messages import Message, Part, Text, ToolCall, ToolResult
from nbtool.wire.base import Decoder, Prompt, Request, Target, Wire
from nbtool.wire.dialect import PROMPTED, PromptFormatName
from nbtool.wire.prompted.constrained_call import MAX_CONSTRAINED, ConstrainedReply, constrain_call
from nbtool.wire.prompted.instructions import PromptFormat, arguments_json, render_results
from nbtool.wire.prompted.parse import ParsedText, parse_calls
from nbtool.wire.prompted.segments import (
    CallSegment,
    MalformedReason,
    MalformedSegment,
    PendingSegment,
    TextSegment,
)
from nbtool.wire.prompted.text_scanner import TextScanner
from nbtool.wire.reply import CALLS_CEILING, TRUNCATED_REASONS

__all__ = ["ParsedText", "PromptedWire", "parse_calls"]

PIECE = 64 * 1024
"""Maximum characters of a reply that are scanned at once."""

UNREADABLE = "unreadable_call"
"""The name of a call that does not say which tool it means."""

_ERRORS: dict[MalformedReason, str] = {
    "other_form": "This is not written as the block that the system text describes, so it is no call and did not run."
    " To call a tool, write exactly that block; else answer in plain words.",
    "unreadable": "The block of this call cannot be read, so it did not run. Write it again, exactly as the system text"
    " describes it, with one valid JSON object; else answer in plain words.",
    "result": "You wrote a result yourself. Only nbtool writes results, in the message after your calls: nothing ran"
    " for this one. Call the tool, or answer without it.",
    "after_result": "This call followed a result that you wrote yourself, or was in your thinking, so it did not run."
    " Write it again, and nothing after it.",
    "cut": "The reply was cut off before this call was complete, so it did not run.",
    "too_long": "This call is too long, so it did not run. Write less at once.",
    "too_many": "More beginnings of calls came before this than are read in one reply: what follows was not read, and"
    " nothing of it ran. Write fewer calls at once.",
}

_CHOICE_NONE = "Answer now, in plain words, and call no tool."
_CHOICE_REQUIRED = "Call a tool now."


class PromptedWire:
    """A wire that uses an inner one and transports tools in its text.

    `fence` is a word that is unique to a chat: with it, and in the `json` format, only a code fence with that word
    starts a call, so that a text that the model merely repeats is not a call. `format` is the result of `format_for`
    for the model. `names` are the available tools, if they are known when the wire is created.
    """

    def __init__(
        self,
        inner: Wire,
        fence: str | None = None,
        *,
        format: PromptFormatName = "json",
        names: Iterable[str] | None = None,
    ) -> None:
        self.name = f"{inner.name}{PROMPTED}"
        self._inner = inner
        self._format = PromptFormat(format, fence)
        self._names = None if names is None else frozenset(names)

    def encode(self, prompt: Prompt, target: Target) -> Request:
        """Encode a prompt as a request of the inner wire, without native tools."""
        tool_prompt = self._format.tool_prompt(prompt.tools)
        system = "\n\n".join(filter(None, (prompt.system, tool_prompt)))
        messages = _as_plain_messages(prompt.messages, self._format)
        if prompt.tools and prompt.tool_choice != "auto":
            messages = _with_tool_choice(messages, prompt.tool_choice)
        options = prompt.options
        if "json_schema" in target.abilities:
            required = constrain_call(self._inner.name, self._format.word, prompt.tools, prompt.tool_choice)
            options = {**required, **options}
        inner_prompt = replace(
            prompt, messages=tuple(messages), system=system, tools=(), tool_choice="auto", options=options
        )
        return self._inner.encode(inner_prompt, target)

    def decoder(self, *, stream: bool = True) -> Decoder:
        """Return a new decoder for one reply."""
        scanner = TextScanner(self._format.runs, self._names)
        return _PromptedDecoder(self._inner.decoder(stream=stream), scanner, ConstrainedReply(self._format.word))


class _PromptedDecoder(Decoder):
    """Passes on the inner decoder's deltas, its text through the scanner."""

    def __init__(self, inner: Decoder, scanner: TextScanner, constrained: ConstrainedReply) -> None:
        self._inner = inner
        self._scanner = scanner
        self._constrained = constrained
        self._phase = ""  # of the text that comes next
        self._count = 0
        self._is_finished = False

    @property
    def is_done(self) -> bool:
        """Whether the reply is complete."""
        return self._inner.is_done

    @property
    def pending(self) -> str:  # type: ignore[override]  # of the inner decoder
        """The status of a reply that the provider generates in the background."""
        return self._inner.pending

    @property
    def continuation(self) -> Mapping[str, Any]:  # type: ignore[override]  # of the inner decoder
        """The fields of the request that continues the reply."""
        return self._inner.continuation

    def resume(self) -> None:
        """Expect the bytes of the next response; text that is held back is still held back."""
        self._inner.resume()

    def feed(self, data: bytes, deltas: list[Delta]) -> None:
        """Feed the next bytes."""
        self._read(partial(self._inner.feed, data), deltas)

    def close(self, deltas: list[Delta]) -> None:
        """Signal the end of the bytes."""
        self._read(self._inner.close, deltas)
        if not self.continuation:
            deltas += self._flush()

    def _read(self, read: Callable[[list[Delta]], None], deltas: list[Delta]) -> None:
        """Append what replaces the deltas that are read; before an error also the text that is held back."""
        arrived: list[Delta] = []
        try:
            read(arrived)
        except WireError:
            deltas += self._translate(arrived)
            deltas += self._flush()
            raise
        deltas += self._translate(arrived)

    def _translate(self, deltas: list[Delta]) -> list[Delta]:
        return [translated for delta in deltas for translated in self._translate_one(delta)]

    def _flush(self) -> list[Delta]:
        return [] if self._is_finished else self._finish(complete=False)

    def _translate_one(self, delta: Delta) -> Iterator[Delta]:
        match delta:
            case TextDelta() if not self._is_finished:
                if delta.phase:
                    yield from self._flush_text()
                    self._phase = delta.phase
                yield from self._scanned(self._constrained.feed(delta.text))
                if self._constrained.is_call:
                    yield CallPending(self._constrained.size)
                return
            case ThinkingDelta() | RefusalDelta() | MediaDelta() | ProviderDelta() | CallDelta():
                yield from self._flush_text()
            case ReplyEnd() if not self._is_finished:
                yield from self._finish(complete=delta.stop_reason not in TRUNCATED_REASONS)
        yield delta

    def _flush_text(self) -> Iterator[Delta]:
        """Pass on what is held back of prose, because something other than its text comes next."""
        yield from self._scanned(self._constrained.release())
        yield from self._as_deltas(self._scanner.flush())

    def _scanned(self, text: str) -> Iterator[Delta]:
        """Scan a text, in chunks if it is long; not after more calls than one reply may have."""
        for at in range(0, len(text), PIECE):
            if self._count > CALLS_CEILING:
                return
            yield from self._as_deltas(self._scanner.feed(text[at : at + PIECE]))

    def _finish(self, *, complete: bool) -> list[Delta]:
        self._is_finished = True
        if self._constrained.is_call:
            return [self._constrained_delta(complete=complete)]
        rest = list(self._scanned(self._constrained.release()))
        return [*rest, *self._as_deltas(self._scanner.close(complete=complete))]

    def _constrained_delta(self, *, complete: bool) -> CallDelta:
        """Return the call that is the whole reply, or what is wrong with it."""
        key, call, source = "written-1", self._constrained.read(), self._constrained.held
        if call is not None and complete:
            name, arguments = call
            return CallDelta(key, name=name, arguments=json.dumps(arguments, ensure_ascii=False), final=True)
        reason: MalformedReason = "too_long" if len(source) > MAX_CONSTRAINED else "unreadable" if complete else "cut"
        return CallDelta(key, name=UNREADABLE, arguments=source, final=True, error=_ERRORS[reason])

    def _as_deltas(
        self, segments: Iterable[TextSegment | CallSegment | MalformedSegment | PendingSegment]
    ) -> Iterator[Delta]:
        for segment in segments:
            match segment:
                case TextSegment(text):
                    phase, self._phase = self._phase, ""
                    yield TextDelta(text, phase=phase)
                case PendingSegment(size):
                    yield CallPending(size)
                case MalformedSegment(source, reason, name):
                    self._count += 1
                    key = f"written-{self._count}"
                    yield CallDelta(key, name=name or UNREADABLE, arguments=source, final=True, error=_ERRORS[reason])
                case CallSegment(calls):  # pragma: no branch - a piece is one of three
                    for call in calls:
                        if self._count > CALLS_CEILING:
                            return
                        self._count += 1
                        arguments = json.dumps(call.args, ensure_ascii=False)
                        yield CallDelta(
                            f"written-{self._count}",
                            name=call.name,
                            arguments=arguments,
                            final=True,
                            repaired=call.all_repairs,
                        )


# --- the history, with calls and results as text ----------------------------------------------------------------


def _as_plain_messages(messages: Iterable[Message], format: PromptFormat) -> list[Message]:
    """Encode calls and results as text; results join the adjacent user message, so that roles alternate."""
    plain_messages: list[Message] = []
    word = format.word if format.fence else ""
    order: dict[str, int] = {}
    pending: list[ToolResult] = []
    for message in messages:
        pending += message.results
        if message.results and all(isinstance(part, ToolResult) for part in message.parts):
            continue
        parts: tuple[Part, ...] = tuple(part for part in message.parts if not isinstance(part, ToolResult))
        if message.role == "user":
            parts, pending = (*_results_as_parts(pending, order, word), *parts), []
        else:
            _append_results(plain_messages, pending, order, word)
            pending = []
        if message.calls:
            order = {
                name: index for index, call in enumerate(message.calls) for name in (call.id, call.call_id) if name
            }
            parts = _calls_as_text(parts, format)
        plain_messages.append(message if parts == message.parts else message.with_parts(parts))
    _append_results(plain_messages, pending, order, word)
    return plain_messages


def _append_results(plain_messages: list[Message], pending: list[ToolResult], order: dict[str, int], word: str) -> None:
    if pending:
        plain_messages.append(Message("user", tuple(_results_as_parts(pending, order, word))))


def _results_as_parts(results: list[ToolResult], order: dict[str, int], word: str) -> list[Part]:
    if not results:
        return []
    last = len(order)
    ordered = sorted(results, key=lambda result: order.get(result.id, order.get(result.call_id, last)))
    return [Text(render_results(ordered, word) + "\n"), *(media for result in ordered for media in result.media)]


def _calls_as_text(parts: tuple[Part, ...], format: PromptFormat) -> tuple[Part, ...]:
    """Encode each call at its position, on separate lines, joined with the prose around it."""
    plain_parts: list[Part] = []
    text, phase = "", ""
    for part in parts:
        if isinstance(part, ToolCall):
            separator = "" if not text or text.endswith("\n") else "\n"
            written = part.arguments if part.is_malformed else format.render_call(part.name, arguments_json(part))
            text += f"{separator}{written}\n"
        elif isinstance(part, Text) and part.phase in ("", phase):
            text += part.text
        elif isinstance(part, Text):
            plain_parts += [Text(text, phase=phase)] if text else []
            text, phase = part.text, part.phase
        else:
            plain_parts += [Text(text, phase=phase), part] if text else [part]
            text, phase = "", ""
    return (*plain_parts, Text(text, phase=phase)) if text else tuple(plain_parts)


def _with_tool_choice(messages: list[Message], choice: str) -> list[Message]:
    """Append what the system text cannot contain without changing: whether a tool must be called now."""
    reminder = {"none": _CHOICE_NONE, "required": _CHOICE_REQUIRED}.get(choice, f"Call the tool {choice} now.")
    if messages and messages[-1].role == "user":
        return [*messages[:-1], messages[-1].with_parts((*messages[-1].parts, Text(f"\n\n{reminder}")))]
    return [*messages, Message("user", (Text(reminder),))]

"""Tools through the prompt, around any dialect, for models without function calling.

The inner wire never hears of tools: they are told in the system text, calls and results are written as text in the
history, and what the model writes is read back by the scanner. Calls that the inner wire brings in its own way
pass through.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace

from nbtool.errors import WireError
from nbtool.events import (
    CallDelta,
    CallHeld,
    Delta,
    MediaDelta,
    RefusalDelta,
    ReplyEnd,
    TextDelta,
    ThinkingDelta,
)
from nbtool.messages import Message, Part, Text, ToolCall, ToolResult
from nbtool.wire.base import Decoder, Prompt, Request, Target, Wire
from nbtool.wire.prompted.instructions import Form, FormName, arguments_of, written_results
from nbtool.wire.prompted.parse import ParsedText, parse_calls
from nbtool.wire.prompted.scanner import Scanner
from nbtool.wire.prompted.segments import Calls, Held, Prose
from nbtool.wire.reply import CALLS_CEILING, CUT_SHORT

__all__ = ["ParsedText", "Prompted", "parse_calls"]

PIECE = 64 * 1024
"""Characters of a reply that are scanned at a time."""

_NO_CALL = "Answer now, in plain words, and call no tool."
_MUST_CALL = "Call a tool now."


class Prompted:
    """A wire that speaks an inner one and carries tools in its text.

    `fence` is a word that is unique to a chat: with it, and in the `json` form, nothing opens a call but a code
    fence of that word, so a text that the model merely repeats cannot be one. `form` is what `forms.form_name`
    gives for the model. `names` are the tools there are, where that is known when the wire is made.
    """

    def __init__(
        self, inner: Wire, fence: str | None = None, *, form: FormName = "json", names: Iterable[str] | None = None
    ) -> None:
        self.name = f"{inner.name}-prompted"
        self._inner = inner
        self._form = Form(form, fence)
        self._names = None if names is None else frozenset(names)

    def encode(self, prompt: Prompt, target: Target) -> Request:
        """Write a prompt as a request of the inner wire, without native tools."""
        told = self._form.tool_prompt(prompt.tools)
        system = "\n\n".join(filter(None, (prompt.system, told)))
        messages = _without_tools(prompt.messages, self._form)
        if prompt.tools and prompt.tool_choice != "auto":
            messages = _reminded(messages, prompt.tool_choice)
        plain = replace(prompt, messages=tuple(messages), system=system, tools=(), tool_choice="auto")
        return self._inner.encode(plain, target)

    def decoder(self, *, stream: bool = True) -> Decoder:
        """Give a fresh decoder for one reply."""
        scanner = Scanner(marks=self._form.marks, names=self._names, bare=self._form.is_bare)
        return _PromptedDecoder(self._inner.decoder(stream=stream), scanner)


class _PromptedDecoder:
    """Passes the inner decoder's deltas on, its text by way of the scanner."""

    def __init__(self, inner: Decoder, scanner: Scanner) -> None:
        self._inner = inner
        self._scanner = scanner
        self._count = 0
        self._ended = False
        self._error: WireError | None = None

    @property
    def is_done(self) -> bool:
        """Whether nothing more is to be expected."""
        return self._inner.is_done and self._error is None

    @property
    def pending(self) -> str:
        """The status of a reply that the provider makes in the background; see `responses_decoder`."""
        return str(getattr(self._inner, "pending", ""))

    def feed(self, data: bytes) -> list[Delta]:
        """Take the next bytes; an error waits until the text that was held back has been given."""
        self._raise_error()
        try:
            return self._pass_on(self._inner.feed(data))
        except WireError as error:
            return self._give_up(error)

    def close(self) -> list[Delta]:
        """Take note that no more bytes will come."""
        self._raise_error()
        try:
            deltas = self._pass_on(self._inner.close())
        except WireError as error:
            return self._give_up(error)
        return deltas if self._ended else [*deltas, *self._end(complete=False)]

    def _pass_on(self, deltas: Iterable[Delta]) -> list[Delta]:
        return [out for delta in deltas for out in self._translated(delta)]

    def _translated(self, delta: Delta) -> Iterator[Delta]:
        match delta:
            case TextDelta() if not self._ended:
                yield from self._scanned(delta.text)
                return
            case ThinkingDelta() | RefusalDelta() | MediaDelta() | CallDelta():
                yield from self._as_deltas(self._scanner.flush())
            case ReplyEnd() if not self._ended:
                yield from self._end(complete=delta.stop_reason not in CUT_SHORT)
        yield delta

    def _scanned(self, text: str) -> Iterator[Delta]:
        """Scan a text, a piece at a time where it is long; none after more calls than one reply may have."""
        for at in range(0, len(text), PIECE):
            if self._count > CALLS_CEILING:
                return
            yield from self._as_deltas(self._scanner.feed(text[at : at + PIECE]))

    def _end(self, *, complete: bool) -> list[Delta]:
        self._ended = True
        return list(self._as_deltas(self._scanner.close(complete=complete)))

    def _give_up(self, error: WireError) -> list[Delta]:
        held = [] if self._ended else self._end(complete=False)
        if not held:
            raise error
        self._error = error
        return held

    def _raise_error(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _as_deltas(self, pieces: Iterable[Prose | Calls | Held]) -> Iterator[Delta]:
        for piece in pieces:
            match piece:
                case Prose(text):
                    yield TextDelta(text)
                case Held(size):
                    yield CallHeld(size)
                case Calls(calls):  # pragma: no branch - a piece is one of three
                    for call in calls:
                        if self._count > CALLS_CEILING:
                            return
                        self._count += 1
                        arguments = json.dumps(call.args, ensure_ascii=False)
                        key = f"written-{self._count}"
                        yield CallDelta(key, name=call.name, arguments=arguments, final=True, repaired=call.mended)


# --- the history, told without tools ----------------------------------------------------------------------------


def _without_tools(messages: Iterable[Message], form: Form) -> list[Message]:
    """Write calls and results as text; results join the user message beside them, so that roles alternate."""
    told: list[Message] = []
    order: dict[str, int] = {}
    pending: list[ToolResult] = []
    for message in messages:
        pending += message.results
        if message.results and all(isinstance(part, ToolResult) for part in message.parts):
            continue
        parts: tuple[Part, ...] = tuple(part for part in message.parts if not isinstance(part, ToolResult))
        if message.role == "user":
            parts, pending = (*_results_as_parts(pending, order), *parts), []
        else:
            _tell_results(told, pending, order)
            pending = []
        if message.calls:
            order = {name: at for at, call in enumerate(message.calls) for name in (call.id, call.call_id) if name}
            parts = _calls_as_text(parts, form)
        told.append(message if parts == message.parts else message.with_parts(parts))
    _tell_results(told, pending, order)
    return told


def _tell_results(told: list[Message], pending: list[ToolResult], order: dict[str, int]) -> None:
    if pending:
        told.append(Message("user", tuple(_results_as_parts(pending, order))))


def _results_as_parts(results: list[ToolResult], order: dict[str, int]) -> list[Part]:
    if not results:
        return []
    last = len(order)
    ordered = sorted(results, key=lambda result: order.get(result.id, order.get(result.call_id, last)))
    return [Text(written_results(ordered) + "\n"), *(media for result in ordered for media in result.media)]


def _calls_as_text(parts: tuple[Part, ...], form: Form) -> tuple[Part, ...]:
    """Write each call where it stood, on lines of its own, and join it with the prose around it."""
    told: list[Part] = []
    text = ""
    for part in parts:
        if isinstance(part, ToolCall):
            gap = "" if not text or text.endswith("\n") else "\n"
            text += gap + form.written_call(part.name, arguments_of(part)) + "\n"
        elif isinstance(part, Text):
            text += part.text
        else:
            told += [Text(text), part] if text else [part]
            text = ""
    return (*told, Text(text)) if text else tuple(told)


def _reminded(messages: list[Message], choice: str) -> list[Message]:
    """Say at the very end what the system text cannot say without changing: whether a tool is to be called now."""
    word = {"none": _NO_CALL, "required": _MUST_CALL}.get(choice, f"Call the tool {choice} now.")
    if messages and messages[-1].role == "user":
        return [*messages[:-1], messages[-1].with_parts((*messages[-1].parts, Text(f"\n\n{word}")))]
    return [*messages, Message("user", (Text(word),))]

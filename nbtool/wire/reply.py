"""Build one assistant message from deltas.

The builder collects fragments in lists and joins once, so its cost is linear in the stream. Arguments are parsed
once, strictly, at the end; a call may run only if the provider's terminal signal was received, the reply was not
truncated by a limit or a filter, and its arguments are a complete JSON object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar

from nbtool.call_arguments import parse_arguments
from nbtool.errors import ReplyTooLarge
from nbtool.events import (
    CallDelta,
    Delta,
    MediaDelta,
    ProviderDelta,
    RefusalDelta,
    ReplyEnd,
    StopReason,
    TextDelta,
    ThinkingDelta,
    UsageDelta,
)
from nbtool.ids import new_id
from nbtool.messages import (
    Citation,
    Media,
    Message,
    Native,
    Part,
    ProviderCall,
    Refusal,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from nbtool.text import clean_text
from nbtool.wire.arguments import single_object

T = TypeVar("T")

TRUNCATED_REASONS: frozenset[StopReason] = frozenset({"length", "refused", "filtered", "calls", "error"})

MAX_REPLY_CALLS = 256
"""Maximum number of calls in one reply; beyond it reading stops, and none of its calls runs."""

MAX_ITEMS = 10_000
"""Maximum number of items or blocks of one reply; a reply with more is an error, its earlier items are kept."""

CALLS_CEILING = 4096
"""Upper bound of the configurable limit of calls: decoders build no more."""

MAX_ARGUMENT_CHARS = 4 * 1024 * 1024
"""Maximum size of the arguments of one reply's calls, in characters; beyond it reading stops too."""


_OVER_LIMIT = "This call did not run: the reply {what} and was stopped there; none of its calls ran. {fix}"
_TRUNCATED = "The reply was cut off before it was complete; its calls do not run."


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of a model, complete or partial.

    `stop_reason` is normalized, `finish_reason` is the provider's value and `explanation` its explanation. `complete`
    only if the provider's terminal signal was received.
    """

    message: Message
    stop_reason: StopReason = "unknown"
    finish_reason: str = ""
    usage: Usage = field(default_factory=Usage)
    complete: bool = False
    refusal: str = ""
    explanation: str = ""

    @property
    def text(self) -> str:
        """The text of the reply."""
        return self.message.text

    @property
    def is_part(self) -> bool:
        """Whether the reply broke off within its text, or after it."""
        return not self.complete and bool(self.text.strip())

    @property
    def answer(self) -> str:
        """The text of the reply without commentary; see `Message.answer`."""
        return self.message.answer

    @property
    def thinking(self) -> str:
        """The thinking of the reply."""
        return self.message.thinking

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return self.message.calls


class ReplyBuilder:
    """Builds one reply from its deltas; if `is_full`, a limit was reached and reading must stop.

    `wire` is the dialect of the reply; it may be set until `reply` is called.
    """

    def __init__(self, *, wire: str = "", host: str = "", model: str = "", max_calls: int = MAX_REPLY_CALLS) -> None:
        self.is_full = False
        self._max_calls = min(max_calls, CALLS_CEILING)
        self.wire, self._server = wire, (host, model)
        self._segments: list[_TextSegment | _PartSegment | _CallSegment] = []
        self._citations: dict[Citation, None] = {}  # each once, after all other parts
        self._calls: dict[str, _CallSegment] = {}
        self._size = 0
        self._limit_text = ""
        self._not_run_reason = ""
        self._end: ReplyEnd | None = None
        self._usage = Usage()

    def add(self, delta: Delta) -> None:
        """Add the next delta; the `call_id` of a call's delta is set."""
        if self.is_full:
            return
        match delta:
            case TextDelta() | ThinkingDelta() | RefusalDelta():
                self._add_text(delta)
            case CallDelta():
                self._add_call(delta)
            case MediaDelta():
                self._segments.append(_PartSegment(delta.media))
            case ProviderDelta():
                self._add_provider_part(delta.part)
            case UsageDelta():
                self._usage = delta.usage
            case ReplyEnd():
                self._end = delta
            case _:
                pass

    def reply(self) -> Reply:
        """Return the reply as received so far."""
        end = self._end
        stop_reason: StopReason = "calls" if self.is_full else end.stop_reason if end else "unknown"
        if end and stop_reason in ("end", "unknown"):
            stop_reason = self._stop_reason_of_content(stop_reason)
        can_run = end is not None and stop_reason not in TRUNCATED_REASONS
        not_run_reason = "" if can_run else self._not_run_reason or _TRUNCATED
        parts = (*(segment.part(not_run_reason) for segment in self._segments), *self._citations)
        native = Native(self.wire, *self._server, end.native, end.prefix) if end and end.native is not None else None
        return Reply(
            message=Message("assistant", _deduplicated(parts), native=native),
            stop_reason=stop_reason,
            finish_reason=end.finish_reason if end else "",
            usage=self._usage,
            complete=end is not None,
            refusal="".join(part.text for part in parts if isinstance(part, Refusal)),
            explanation=self._limit_text or _explanation(end, stop_reason),
        )

    def _stop_reason_of_content(self, stop_reason: StopReason) -> StopReason:
        """Return the stop reason from the content: some providers send `stop` with calls or refusals."""
        if self._calls:
            return "tools"
        is_refusal = any(
            isinstance(segment, _TextSegment) and segment.delta_type is RefusalDelta for segment in self._segments
        )
        return "refused" if is_refusal else stop_reason

    def _add_provider_part(self, part: ProviderCall | Citation) -> None:
        if isinstance(part, Citation):
            self._citations[part] = None
        else:
            self._segments.append(_PartSegment(part))

    def _add_text(self, delta: TextDelta | ThinkingDelta | RefusalDelta) -> None:
        last = self._segments[-1] if self._segments else None
        phase = delta.phase if isinstance(delta, TextDelta) else ""
        is_separate = isinstance(delta, TextDelta) and isinstance(last, _TextSegment) and delta.is_separate(last.phase)
        if isinstance(last, _TextSegment) and last.delta_type is type(delta) and not is_separate:
            last.texts.append(delta.text)
            last.phase = last.phase or phase
        elif delta.text:
            self._segments.append(_TextSegment(type(delta), [delta.text], phase))

    def _add_call(self, delta: CallDelta) -> None:
        call = self._calls.get(delta.key)
        if call is None and len(self._calls) >= self._max_calls:
            self._stop_reading(f"contained more than {self._max_calls} calls", "Make fewer calls at once.")
            return
        self._size += len(delta.arguments)
        if self._size > MAX_ARGUMENT_CHARS:
            self._stop_reading(
                f"contained more than {MAX_ARGUMENT_CHARS:,} characters of arguments", "Write less at once."
            )
            return
        if call is None:
            call = self._calls[delta.key] = _CallSegment()
            self._segments.append(call)
        delta.call_id = call.call_id
        call.id = call.id or delta.id
        call.name = delta.name or call.name
        call.repaired = delta.repaired or call.repaired
        call.malformed = delta.error or call.malformed
        if delta.final and delta.arguments:
            call.fragments = [delta.arguments]
        elif delta.arguments and not delta.final:
            call.fragments.append(delta.arguments)

    def _stop_reading(self, excess: str, fix: str) -> None:
        """Stop reading, and record the reason."""
        self.is_full = True
        self._limit_text = f"it {excess}"
        self._not_run_reason = _OVER_LIMIT.format(what=excess, fix=fix)


def _explanation(end: ReplyEnd | None, stop_reason: StopReason) -> str:
    """Return the provider's explanation of a stop, or its finish reason if the stop reason is not specific."""
    if end is None or end.explanation or stop_reason not in ("error", "unknown"):
        return clean_text(end.explanation) if end else ""
    return clean_text(end.finish_reason)


@dataclass(slots=True)
class _TextSegment:
    delta_type: type[TextDelta | ThinkingDelta | RefusalDelta]
    texts: list[str]
    phase: str = ""

    def part(self, not_run_reason: str) -> Part:  # noqa: ARG002 - the interface of all segments
        text = clean_text("".join(self.texts))
        if self.delta_type is ThinkingDelta:
            return Thinking(text)
        return Refusal(text) if self.delta_type is RefusalDelta else Text(text, phase=self.phase)


@dataclass(slots=True)
class _PartSegment:
    value: Media | ProviderCall

    def part(self, not_run_reason: str) -> Part:  # noqa: ARG002 - the interface of all segments
        return self.value


@dataclass(slots=True)
class _CallSegment:
    call_id: str = field(default_factory=lambda: new_id("call"))
    id: str = ""
    name: str = ""
    fragments: list[str] = field(default_factory=list)
    repaired: tuple[str, ...] = ()
    malformed: str = ""

    def part(self, not_run_reason: str) -> Part:
        arguments = single_object(clean_text("".join(self.fragments)))
        args, error = (None, self.malformed) if self.malformed else parse_arguments(arguments)
        if not self.name:
            error = error or "The call names no tool."
        return ToolCall(
            name=self.name,
            arguments=arguments,
            id=self.id or self.call_id,
            call_id=self.call_id,
            error=(self.malformed or not_run_reason or error) or None,
            runnable=not not_run_reason and error is None,
            repaired=self.repaired,
            is_malformed=bool(self.malformed),
        ).parsed_as(args)


def require_few_items(count: int) -> None:
    """Reject a reply of more than `MAX_ITEMS` items.

    Raises:
        nbtool.errors.ReplyTooLarge: it has more.
    """
    if count > MAX_ITEMS:
        raise ReplyTooLarge(f"The reply has more than {MAX_ITEMS:,} items.", fix="Ask for less.")


def up_to_ceiling(items: Iterable[T], is_call: Callable[[T], bool]) -> Iterator[T]:
    """Yield the items of a reply up to the first call beyond `CALLS_CEILING`, at which its builder stops."""
    calls = 0
    for item in items:
        yield item
        calls += is_call(item)
        if calls > CALLS_CEILING:
            return


def _deduplicated(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return the parts with unique call ids: some servers send the same id twice."""
    ids: set[str] = set()
    unique: list[Part] = []
    for part in parts:
        if isinstance(part, ToolCall):
            if part.id in ids:
                part = replace(part, id=part.call_id)
            ids.add(part.id)
        unique.append(part)
    return tuple(unique)

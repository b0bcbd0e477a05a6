"""Deltas in, one assistant message out.

The builder collects fragments in lists and joins once, so its cost is linear in the stream. Arguments are parsed
once, strictly, at the end; a call may run only when the provider's terminal signal was seen, the reply was not cut
short by a limit or a filter, and its arguments are a whole JSON object.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from nbtool.errors import ReplyTooLarge
from nbtool.events import (
    CallDelta,
    Delta,
    MediaDelta,
    RefusalDelta,
    ReplyEnd,
    StopReason,
    TextDelta,
    ThinkingDelta,
    UsageDelta,
)
from nbtool.messages import Media, Message, Native, Part, Refusal, Text, Thinking, ToolCall, Usage, clean_text, new_id

T = TypeVar("T")

TRUNCATED_REASONS: frozenset[StopReason] = frozenset({"length", "refused", "filtered", "calls", "error"})

MAX_REPLY_CALLS = 256
"""Calls of one reply; one that asks for more is not read any further, and none of its calls runs."""

MAX_ITEMS = 10_000
"""Items or blocks of one reply; one with more is refused, and what came before them is kept."""

CALLS_CEILING = 4096
"""Calls of one reply that are ever read, whatever a person allows: a decoder builds no more of them."""

MAX_ARGUMENT_CHARS = 4 * 1024 * 1024
"""Characters of the arguments of one reply's calls; one that writes more is not read any further either."""

MAX_NESTING = 100
"""Levels of lists and objects in the arguments of a call."""

_OVER_LIMIT = "This call did not run: the reply {what} and was stopped there; none of its calls ran. {fix}"
_TRUNCATED = "The reply was cut off before it was complete; its calls do not run."


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of a model, whole or as far as it came.

    `stop_reason` is in our vocabulary, `finish_reason` the provider's own word and `explanation` what it says about it.
    `complete` only where the provider's terminal signal was seen.
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
        """The prose of the reply."""
        return self.message.text

    @property
    def thinking(self) -> str:
        """The thinking of the reply."""
        return self.message.thinking

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls it asks for, in order."""
        return self.message.calls


class ReplyBuilder:
    """Builds one reply from its deltas; `is_full` says that no more of them are to be read."""

    def __init__(self, *, wire: str = "", host: str = "", model: str = "", max_calls: int = MAX_REPLY_CALLS) -> None:
        self.is_full = False
        self._max_calls = min(max_calls, CALLS_CEILING)
        self._origin = (wire, host, model)
        self._segments: list[_TextSegment | _MediaSegment | _CallSegment] = []
        self._calls: dict[str, _CallSegment] = {}
        self._size = 0
        self._limit_text = ""
        self._not_run_reason = ""
        self._end: ReplyEnd | None = None
        self._usage = Usage()

    def add(self, delta: Delta) -> None:
        """Take the next delta; a call's delta gets our `call_id` written into it."""
        if self.is_full:
            return
        match delta:
            case TextDelta() | ThinkingDelta() | RefusalDelta():
                self._add_text(delta)
            case CallDelta():
                self._add_call(delta)
            case MediaDelta():
                self._segments.append(_MediaSegment(delta.media))
            case UsageDelta():
                self._usage = delta.usage
            case ReplyEnd():
                self._end = delta
            case _:
                pass

    def reply(self) -> Reply:
        """Give the reply as it stands."""
        end = self._end
        stop_reason: StopReason = "calls" if self.is_full else end.stop_reason if end else "unknown"
        if end and stop_reason in ("end", "unknown"):
            stop_reason = self._stop_reason_of_content(stop_reason)
        can_run = end is not None and stop_reason not in TRUNCATED_REASONS
        not_run_reason = "" if can_run else self._not_run_reason or _TRUNCATED
        parts = tuple(segment.part(not_run_reason) for segment in self._segments)
        native = Native(*self._origin, end.native) if end and end.native is not None else None
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
        """Say why a reply stopped by what it holds: several providers say `stop` beside calls, and beside refusals."""
        if self._calls:
            return "tools"
        is_refusal = any(
            isinstance(segment, _TextSegment) and segment.delta_type is RefusalDelta for segment in self._segments
        )
        return "refused" if is_refusal else stop_reason

    def _add_text(self, delta: TextDelta | ThinkingDelta | RefusalDelta) -> None:
        last = self._segments[-1] if self._segments else None
        if isinstance(last, _TextSegment) and last.delta_type is type(delta):
            last.texts.append(delta.text)
        elif delta.text:
            self._segments.append(_TextSegment(type(delta), [delta.text]))

    def _add_call(self, delta: CallDelta) -> None:
        call = self._calls.get(delta.key)
        if call is None and len(self._calls) >= self._max_calls:
            self._stop_reading(f"asked for more than {self._max_calls} calls", "Ask for fewer at once.")
            return
        self._size += len(delta.arguments)
        if self._size > MAX_ARGUMENT_CHARS:
            self._stop_reading(f"wrote more than {MAX_ARGUMENT_CHARS:,} characters of arguments", "Write less at once.")
            return
        if call is None:
            call = self._calls[delta.key] = _CallSegment()
            self._segments.append(call)
        delta.call_id = call.call_id
        call.id = call.id or delta.id
        call.name = call.name or delta.name
        call.repaired = delta.repaired or call.repaired
        if delta.final and delta.arguments:
            call.fragments = [delta.arguments]
        elif delta.arguments and not delta.final:
            call.fragments.append(delta.arguments)

    def _stop_reading(self, excess: str, fix: str) -> None:
        """Read no further, and say why."""
        self.is_full = True
        self._limit_text = f"it {excess}"
        self._not_run_reason = _OVER_LIMIT.format(what=excess, fix=fix)


def _explanation(end: ReplyEnd | None, stop_reason: StopReason) -> str:
    """Give what is known of why a reply stopped: the provider's explanation, or its word where only that tells."""
    if end is None or end.explanation or stop_reason not in ("error", "unknown"):
        return clean_text(end.explanation) if end else ""
    return clean_text(end.finish_reason)


@dataclass(slots=True)
class _TextSegment:
    delta_type: type[TextDelta | ThinkingDelta | RefusalDelta]
    texts: list[str]

    def part(self, not_run_reason: str) -> Part:  # noqa: ARG002 - one shape for both kinds of segment
        text = clean_text("".join(self.texts))
        if self.delta_type is ThinkingDelta:
            return Thinking(text)
        return Refusal(text) if self.delta_type is RefusalDelta else Text(text)


@dataclass(slots=True)
class _MediaSegment:
    media: Media

    def part(self, not_run_reason: str) -> Part:  # noqa: ARG002 - one shape for every kind of segment
        return self.media


@dataclass(slots=True)
class _CallSegment:
    call_id: str = field(default_factory=lambda: new_id("call"))
    id: str = ""
    name: str = ""
    fragments: list[str] = field(default_factory=list)
    repaired: tuple[str, ...] = ()

    def part(self, not_run_reason: str) -> Part:
        arguments = clean_text("".join(self.fragments))
        args, error = parse_arguments(arguments)
        if not self.name:
            error = error or "The call names no tool."
        return ToolCall(
            name=self.name,
            arguments=arguments,
            id=self.id or self.call_id,
            call_id=self.call_id,
            args=None if not_run_reason else args,
            error=not_run_reason or error or None,
            runnable=not not_run_reason and error is None,
            repaired=self.repaired,
        )


def parse_arguments(arguments: str) -> tuple[dict[str, Any] | None, str | None]:
    """Read a call's arguments strictly: a JSON object, or nothing at all for a call without arguments.

    Returns the arguments and None, or None and one line of what is wrong. Some servers write `null` for no
    arguments; `NaN` and `Infinity` are not JSON (RFC 8259 section 6), and a number that no float can hold could not be
    written again.
    """
    if not arguments.strip():
        return {}, None
    try:
        value = json.loads(arguments, parse_constant=_refuse_constant, parse_float=_parse_finite_float)
    except (ValueError, RecursionError) as error:
        return None, f"The arguments are not JSON: {error}."
    if value is None:
        return {}, None
    if not isinstance(value, dict):
        return None, f"The arguments are a JSON {type(value).__name__}; an object is expected."
    if "\\ud" in arguments.lower() and _has_lone_surrogates(value):
        return None, "The arguments hold half of a surrogate pair, which is no character."
    if _is_too_deep(value):
        return None, f"The arguments are nested deeper than {MAX_NESTING} levels."
    return value, None


def _has_lone_surrogates(value: Any) -> bool:
    """Whether a text holds half of a surrogate pair (RFC 8259 section 8.2): it could not be written again."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except RecursionError:  # what nests so deeply is refused as such
        return False
    return False


def _is_too_deep(value: Any) -> bool:
    """Whether a value has more levels than `MAX_NESTING`: what copies, writes and shows it goes down level by level."""
    level = [value]
    for _ in range(MAX_NESTING):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def _refuse_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _parse_finite_float(number: str) -> float:
    if math.isinf(value := float(number)):
        raise ValueError(f"{number[:20]} is too large for a number")
    return value


def require_few_items(count: int) -> None:
    """Refuse a reply of more than `MAX_ITEMS` items.

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


def valid_arguments(arguments: object) -> str:
    """Give the arguments of a call as they can go back to a provider: the text of a JSON object.

    Servers parse them again with every request, and refuse the whole conversation for one that is broken; what was
    wrong with them stands in the call's result.
    """
    if isinstance(arguments, dict):
        arguments = json.dumps(arguments, ensure_ascii=False)
    args, _ = parse_arguments(arguments) if isinstance(arguments, str) else (None, None)
    return clean_text(str(arguments)) if args else "{}"


def _deduplicated(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Give every call an id that is unique in its reply: servers exist that send the same one twice."""
    ids: set[str] = set()
    unique: list[Part] = []
    for part in parts:
        if isinstance(part, ToolCall):
            if part.id in ids:
                part = replace(part, id=part.call_id)
            ids.add(part.id)
        unique.append(part)
    return tuple(unique)

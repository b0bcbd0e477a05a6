"""Repair a history so that every provider accepts it.

Providers reject a conversation in which a call has no result, or a result no call, or whose arguments are not JSON.
Interrupted turns leave such histories. The repair is deterministic and idempotent, and adds only what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from nbtool.messages import Message, Part, Text, ToolCall, ToolResult, results

NO_RESULT = "This call did not run: the turn ended before it could."


def repair_history(messages: Iterable[Message]) -> list[Message]:
    """Return a history in which every call has exactly one result, directly after the message with the call."""
    repaired_messages: list[Message] = []
    open_calls: dict[str, ToolCall] = {}
    call_results: list[ToolResult] = []
    given: list[Message] = []

    def close() -> None:
        if open_calls or call_results:
            found = (*call_results, *map(_missing_result, open_calls.values()))
            repaired_messages.append(_results_message(given, found))
        open_calls.clear()
        call_results.clear()
        given.clear()

    for message in messages:
        if message.role == "tool":
            given.append(message)
            for result in message.results:
                if open_calls.pop(_key(result), None):
                    call_results.append(result)
            continue
        close()
        if not (message := _drop_unsendable(message)).parts and message.native is None:
            continue
        repaired_messages.append(message)
        open_calls.update((_key(call), call) for call in message.calls)
    close()
    return [
        _sort_results(message, before)
        for before, message in zip([None, *repaired_messages], repaired_messages, strict=False)
    ]


def _results_message(given: list[Message], found: tuple[ToolResult, ...]) -> Message:
    """Return the message with these results: the given one if it has them all, else a new one."""
    return given[0] if len(given) == 1 and given[0].parts == found else results(*found)


def _key(part: ToolCall | ToolResult) -> str:
    return part.call_id or part.id


def _missing_result(call: ToolCall) -> ToolResult:
    return ToolResult(call.name, NO_RESULT, id=call.id, call_id=call.call_id, is_error=True)


def _drop_unsendable(message: Message) -> Message:
    """Replace arguments that are not JSON by `{}`, and drop empty texts; the rest is unchanged."""
    parts = tuple(_repair_part(part) for part in message.parts if not (isinstance(part, Text) and not part.text))
    return message if parts == message.parts else message.with_parts(parts)


def _repair_part(part: Part) -> Part:
    if isinstance(part, ToolCall) and part.error and part.arguments != "{}":
        return replace(part, arguments="{}")
    return part


def _sort_results(message: Message, before: Message | None) -> Message:
    if message.role != "tool" or before is None:
        return message
    order = {_key(call): position for position, call in enumerate(before.calls)}
    parts = tuple(sorted(message.results, key=lambda result: order.get(_key(result), len(order))))
    return message if parts == message.parts else replace(message, parts=parts)

"""Calls that are repeated in rounds that follow one another: whether the latest round has brought something new."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from nbtool.events import CallStatus
from nbtool.tools.content_hash import content_hash_or_reason
from nbtool.turn_state import Call

WAIT_SECONDS = 1.0
"""A call that lasted this long may have waited for something, as for a job: to ask again is no loop then."""

DECIDED: frozenset[CallStatus] = frozenset({"denied", "withheld"})
"""Outcomes that were decided: that a call was denied says nothing about the progress of the task."""

COMPARE_SECONDS = 0.05
"""Processor seconds that are spent on a result to compare it with that of the round before."""

COMPARE_BYTES = 32 * 1024 * 1024
"""Maximum number of bytes that are compared of a result."""


def can_repeat(calls: Sequence[Call]) -> bool:
    """Whether a round counts: it has calls, none was decided by somebody, and none may have waited for something."""
    return bool(calls) and not any(call.status in DECIDED or call.seconds >= WAIT_SECONDS for call in calls)


def is_repeated(calls: Sequence[Call], earlier: Sequence[Call]) -> bool:
    """Whether a round has the same calls as an earlier one, and the same results."""
    if (
        len(calls) != len(earlier)
        or not can_repeat(calls)
        or [_outcome(call) for call in calls] != [_outcome(item) for item in earlier]
    ):
        return False
    return not any(_is_new_object(item, former) for item, former in zip(calls, earlier, strict=True))


def count_repeats(calls: Sequence[Call]) -> int:
    """Return in how many rounds at the end of a turn the same calls had the same results."""
    rounds: dict[int, list[Call]] = defaultdict(list)
    for call in calls:
        rounds[call.round].append(call)
    latest = [rounds[number] for number in sorted(rounds, reverse=True)]
    count = 0
    while count < len(latest) and (is_repeated(latest[count], latest[max(0, count - 1)])):
        count += 1
    return count


def _outcome(call: Call) -> tuple[str, str, str]:
    """Return a call with its result as the model reads them, without the name under which the result is stored."""
    return call.name, call.arguments, call.shown.replace(call.reference or "\0", "")


def _is_new_object(call: Call, former: Call) -> bool:
    """Whether a result differs from a former one in what its text does not show: by reference, or beyond its length."""
    is_shown = not (call.is_described or call.is_unreadable or call.whole)
    if is_shown or call.status != "ok" or call.result is former.result:
        return False
    digests = [
        content_hash_or_reason(item.result, seconds=COMPARE_SECONDS, max_bytes=COMPARE_BYTES).digest
        for item in (call, former)
    ]
    return None not in digests and digests[0] != digests[1]

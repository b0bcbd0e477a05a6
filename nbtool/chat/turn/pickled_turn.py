"""What of a turn `pickle` and `copy` take: the data of one that has ended, as its record in the journal."""

from __future__ import annotations

import pickle
from typing import Any

from nbtool.errors import BadUsage, NbtoolError

DATA = (
    "prompt", "model", "cell_id", "turn_id", "context", "log", "event_times", "difference", "is_rerun",
    "_broken_status",
)  # fmt: skip
"""The attributes of a turn that are data; threads, futures, listeners and approvers stay in their process."""


def pickled_turn(turn: Any) -> dict[str, Any]:
    """Return the data of a `Turn` that has ended.

    The objects that its calls returned are left out, as in the journal: their text is in the records, and they may be
    connections, frames of gigabytes, or withheld.

    Raises:
        BadUsage: the turn has not ended.
    """
    if not turn.done.done():
        raise BadUsage(
            f"The turn {turn.turn_id} has not ended, so it cannot be copied or saved.",
            fix="Wait for it, or stop it: `%chat approve ID --wait`, `%chat stop`.",
        )
    data = {name: getattr(turn, name) for name in DATA}
    return {
        **data,
        "state": turn.state.without_results(),
        "error": _plain_error(turn.error),
        "_kept_value": turn.value,
    }


def _plain_error(error: BaseException | None) -> BaseException | None:
    """Return an error that can be read back: itself, or one with its text."""
    try:
        restored = pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - the class of an error may be anything
        return NbtoolError(f"{type(error).__name__}: {error}")
    return error if type(restored) is type(error) else NbtoolError(f"{type(error).__name__}: {error}")

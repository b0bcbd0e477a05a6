"""The errors of prompts whose worker was lost: what had started there, and what a person can do."""

from __future__ import annotations

from nbtool.errors import WorkerLost

NOT_REPEATED = "A worker ended after a call of this prompt had started, or was about to: what the call did may be done."
NOT_REPEATED_FIX = (
    "Map again: it goes on from the result of the call, if that is known, and is not sent otherwise. Then check what "
    "the call did; with `repeat_calls=True` the prompt is sent from its beginning."
)

NOT_STARTED = "The worker ended before its answer came back. No call of this prompt had started."
NOT_STARTED_FIX = "Map again: it is sent."

RESULTS_KEPT = "The worker ended before its answer came back. The results of its calls are kept."
RESULTS_KEPT_FIX = "Map again: it goes on from these results."


def lost_in_call() -> WorkerLost:
    """Return the error of a prompt with a call whose outcome is not known."""
    return WorkerLost(NOT_REPEATED, fix=NOT_REPEATED_FIX, may_have_run=True)


def lost_after_calls() -> WorkerLost:
    """Return the error of a prompt of which all calls that started have a known outcome."""
    return WorkerLost(RESULTS_KEPT, fix=RESULTS_KEPT_FIX)


def lost_before_calls() -> WorkerLost:
    """Return the error of a prompt of which no call had started."""
    return WorkerLost(NOT_STARTED, fix=NOT_STARTED_FIX)

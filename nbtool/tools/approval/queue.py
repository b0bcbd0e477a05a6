"""The queue of pending questions."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from nbtool.argument_check import describe_value
from nbtool.errors import AlreadyDecided, ApprovalError
from nbtool.text import clean_text
from nbtool.tools.approval.decisions import (
    BY_PERSON,
    BY_REMEMBERED,
    Approved,
    Decision,
    Denied,
    Released,
    Resolution,
    Scope,
    Withheld,
)
from nbtool.tools.approval.digest import json_copy
from nbtool.tools.approval.question import Question
from nbtool.tools.approval.remembered_approvals import RememberedApproval, RememberedApprovals, check_scope
from nbtool.tools.content_hash.tool_states import ToolStates

MAX_DECIDED = 10_000
"""Maximum number of decided questions that the queue remembers, so that a late decision gets the first one's origin."""

NEEDS_PERSON = "Only a person can agree to sign in to a server, by hand."


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """A question in the queue; awaiting it returns the resolution.

    If it `uses_remembered`, an approval that is remembered while it waits settles it.
    """

    question: Question
    uses_remembered: bool = False
    future: Future[Resolution] = field(default_factory=Future, repr=False)

    def __await__(self) -> Generator[Any, None, Resolution]:
        return asyncio.wrap_future(self.future).__await__()


@dataclass(frozen=True, slots=True)
class QueueChange:
    """What a listener of the queue receives; `resolution` only if there was a decision."""

    kind: Literal["asked", "decided", "withdrawn"]
    question: Question
    resolution: Resolution | None = None

    def copy(self) -> QueueChange:
        """Return the change with copies of its arguments and mappings, so that changing them affects nothing else."""
        return replace(self, question=self.question.copy(), resolution=self.resolution and self.resolution.copy())


Listener = Callable[[QueueChange], None]


class ApprovalQueue:
    """Pending questions; the first decision counts. Thread-safe.

    `tool_states` holds the states in which approved runs left their tools.
    """

    def __init__(self, *, max_decided: int = MAX_DECIDED) -> None:
        self._max_decided = max_decided
        self._lock = threading.Lock()
        self._open: dict[str, PendingQuestion] = {}
        self._decided: OrderedDict[str, str] = OrderedDict()
        self._shown: set[str] = set()
        self.remembered_approvals = RememberedApprovals()
        self.tool_states = ToolStates()
        self._listeners: list[Listener] = []

    def add(self, question: Question, *, uses_remembered: bool = False) -> PendingQuestion:
        """Add a question to the queue.

        Raises:
            ApprovalError: the same question is pending or was decided: no question is asked or used twice.
        """
        pending = PendingQuestion(question, uses_remembered)
        pending.future.set_running_or_notify_cancel()  # so that cancelling one wait does not cancel it for the others
        with self._lock:
            if question.digest in self._open or question.digest in self._decided:
                raise ApprovalError(
                    f"The question {question.digest[:12]} was asked before.", fix="Create a new question."
                )
            self._open[question.digest] = pending
        self._notify(QueueChange("asked", question))
        return pending

    def decide(self, digest: str, decision: Decision, *, by: str = "script") -> None:
        """Decide the question with this digest.

        Raises:
            AlreadyDecided: it was decided or withdrawn before.
            ApprovalError: no question has this digest, or the decision does not fit its gate, or only a person can
                approve it and this is nobody's click, line of input or command.
        """
        with self._lock:
            pending = self._find(digest)
            if pending.question.needs_person and isinstance(decision, Approved) and by not in BY_PERSON:
                raise ApprovalError(NEEDS_PERSON, fix="Click *Open sign-in page*, or run `%chat approve` in a cell.")
            resolution = Resolution(_copy_decision(pending.question, decision), by)
            self._close(digest, f"Decided by {by}.")
        pending.future.set_result(resolution)
        self._notify(QueueChange("decided", pending.question, resolution))

    def expire(self, digest: str, reason: str = "Nobody answered in time.") -> None:
        """Deny the question; raises as `decide`."""
        with self._lock:
            denial = self._find(digest).question.denial(reason)
        self.decide(digest, denial, by="expired")

    def withdraw(self, digest: str, reason: str = "The call was stopped before a decision.") -> bool:
        """Remove a question from the queue; return whether it was pending."""
        with self._lock:
            pending = self._open.get(digest)
            if pending is None:
                return False
            self._close(digest, reason)
        pending.future.set_result(Resolution(pending.question.denial(reason), "withdrawn"))
        self._notify(QueueChange("withdrawn", pending.question))
        return True

    def pending(self) -> tuple[Question, ...]:
        """Return the pending questions, oldest first."""
        with self._lock:
            return tuple(entry.question.copy() for entry in self._open.values())

    def mark_shown(self, digest: str) -> None:
        """Note that a person was shown a question, with its tool and its arguments; one that is closed is ignored."""
        with self._lock:
            if digest in self._open:
                self._shown.add(digest)

    def is_shown(self, digest: str) -> bool:
        """Return whether a person was shown a pending question, so that a decision without its id can mean it."""
        with self._lock:
            return digest in self._shown

    def remembered(self) -> tuple[RememberedApproval, ...]:
        """Return the remembered approvals, oldest first."""
        return self.remembered_approvals.entries()

    def remember(self, question: Question, scope: Scope, *, by: str) -> None:
        """Remember the approval of a question, and approve the pending questions that it covers.

        Raises:
            ApprovalError: approvals of this tool or this call are not remembered.
        """
        self.remembered_approvals.add(question, scope, by=by)
        with self._lock:
            waiting = [item.question for item in self._open.values() if item.uses_remembered]
        for covered in filter(self.remembered_approvals.find, waiting):
            with suppress(AlreadyDecided):
                self.decide(covered.digest, Approved(), by=BY_REMEMBERED)

    def revoke(self, approval_id: str) -> None:
        """Forget a remembered approval; raises as `RememberedApprovals.revoke`."""
        self.remembered_approvals.revoke(approval_id)

    def add_listener(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` on every change, on the thread that makes it; return a function that removes it.

        A listener that raises is removed.
        """
        with self._lock:
            self._listeners.append(listener)
        return lambda: self._remove_listener(listener)

    def _find(self, digest: str) -> PendingQuestion:
        if pending := self._open.get(digest):
            return pending
        if reason := self._decided.get(digest):
            raise AlreadyDecided(f"The question {digest[:12]} is closed: {reason}")
        raise ApprovalError(
            f"No question with the digest {digest[:12]!r} is pending.", fix="Decide one of `pending()`."
        )

    def _close(self, digest: str, reason: str) -> None:
        del self._open[digest]
        self._shown.discard(digest)
        self._decided[digest] = reason
        while len(self._decided) > self._max_decided:
            self._decided.popitem(last=False)

    def _notify(self, change: QueueChange) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(change.copy())
            except Exception:  # noqa: BLE001 - a listener that fails must not stop a decision
                self._remove_listener(listener)

    def _remove_listener(self, listener: Listener) -> None:
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)


def _copy_decision(question: Question, decision: Decision) -> Decision:
    """Return the decision with a copy of its arguments and a clean reason, or raise if it does not fit the question.

    A decision of a class of the user's own becomes one of nbtool's.
    """
    allowed = (Approved, Denied) if question.gate == "run" else (Released, Withheld)
    kind = next((kind for kind in allowed if isinstance(decision, kind)), None)
    if kind is None:
        names = " or ".join(kind.__name__ for kind in allowed)
        raise ApprovalError(f"The {question.gate} gate takes {names}, not {describe_value(decision)}.")
    decision = kind(**{item.name: getattr(decision, item.name) for item in fields(kind)})
    if isinstance(decision, Denied | Withheld | Approved):
        decision = replace(decision, reason=clean_text(str(decision.reason)))
    if isinstance(decision, Approved) and decision.remember:
        check_scope(question, decision.remember)
    if not isinstance(decision, Approved) or decision.arguments is None:
        return decision
    try:
        return replace(decision, arguments=json_copy(decision.arguments))
    except (TypeError, ValueError, RecursionError) as error:
        raise ApprovalError(f"The arguments are not JSON: {error}.", fix="Pass a dict of JSON values.") from None

"""Approval questions and decisions.

A question is bound to a digest of everything that would happen: the tool, its schema, the arguments, and what each
reference points to. A decision carries the digest back, so it cannot answer any other question. Pending questions are
in the `ApprovalQueue`; buttons, a line of input, a policy or a script's approver can decide them, and the first
decision counts.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Generator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, get_args

from nbtool.errors import AlreadyDecided, ApprovalError, BadUsage
from nbtool.events import Gate, RepeatedQuestion, ResolvedArgument
from nbtool.messages import Media, new_id
from nbtool.tools.content_hash.tool_states import ToolStates

RunMode = Literal["auto", "ask_once", "ask_always"]
ResultMode = Literal["never", "on_error", "always"]
RunPolicy = RunMode | Callable[[Mapping[str, Any]], RunMode]
ResultPolicy = ResultMode | Callable[[Mapping[str, Any]], ResultMode]
Scope = Literal["call", "tool"]

MAX_DECIDED = 10_000
"""Maximum number of decided questions that the queue remembers, so that a late decision gets the first one's origin."""


@dataclass(frozen=True, slots=True)
class Policy:
    """When approval is required.

    Before a call runs: `auto` never, `ask_once` once for the same arguments, `ask_always` before every call. Before its
    result is sent to the model: `never`, `on_error`, `always`. A callable receives a copy of the arguments as the model
    wrote them and returns one of these modes. A `sensitive` tool asks before every call regardless of `run`, and its
    approval is not remembered.
    """

    run: RunPolicy = "ask_always"
    result: ResultPolicy = "never"
    sensitive: bool = False

    def __post_init__(self) -> None:
        _check_mode("run", self.run, get_args(RunMode))
        _check_mode("result", self.result, get_args(ResultMode))

    def run_mode(self, arguments: Mapping[str, Any]) -> RunMode:
        """Return the mode for this call; exceptions of a callable propagate.

        Raises:
            BadUsage: a callable returned something else than a mode.
        """
        mode = self.run(json_copy(arguments)) if callable(self.run) else self.run
        _check_mode("run", mode, get_args(RunMode))
        return "ask_always" if self.sensitive else mode

    def result_mode(self, arguments: Mapping[str, Any]) -> ResultMode:
        """Return the mode for this call's result; raises as `run_mode`."""
        mode = self.result(json_copy(arguments)) if callable(self.result) else self.result
        _check_mode("result", mode, get_args(ResultMode))
        return mode


@dataclass(frozen=True, slots=True)
class Approved:
    """The call may run, with `arguments` in place of its own if set.

    `remember` skips later questions: for this `call` (same tool, same arguments), or for the whole `tool` as it is now.
    """

    arguments: Mapping[str, Any] | None = None
    remember: Literal["", "call", "tool"] = ""


@dataclass(frozen=True, slots=True)
class Denied:
    """The call must not run; the reason is sent to the model."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Released:
    """The result may be sent to the model, with `text` in place of its own if set."""

    text: str | None = None


@dataclass(frozen=True, slots=True)
class Withheld:
    """The result must not reach the model in any form; the reason is sent to the model."""

    reason: str = ""


Decision = Approved | Denied | Released | Withheld


@dataclass(frozen=True, slots=True)
class Question:
    """May this call run, or may this result be sent to the model?

    Args:
        shown: what is decided: the canonical arguments as JSON, or the text of the result.
        resolved: describes the value of each argument.
        effect: what the call would change, as reported by the tool.
        media: the images of a result; sent to the model if its text is released unchanged.
        notice: what the person must know first, such as how the tool changed; shown in full.
        remember_keys: the keys under which an approval can be remembered, for the call and for the tool. There is
            none for a call with an object that cannot be watched for changes.
        previews: the first rows of readable variables.
        notes: lines for the person.
        again: why the call is asked about again.
    """

    call_id: str
    gate: Gate
    digest: str
    tool: str
    shown: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    resolved: Mapping[str, ResolvedArgument] = field(default_factory=dict)
    effect: str = ""
    notice: str = ""
    media: tuple[Media, ...] = field(default=(), repr=False)
    sensitive: bool = False
    can_remember: bool = False
    remember_keys: Mapping[Scope, str] = field(default_factory=dict)
    previews: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = ()
    again: RepeatedQuestion | None = None

    @property
    def can_remember_call(self) -> bool:
        """Whether an approval of these arguments can be remembered, not only one of the tool."""
        return self.can_remember and "call" in self.remember_keys

    def copy(self) -> Question:
        """Return the question with copies of its arguments and mappings, so that changing them affects nothing else."""
        return replace(
            self,
            arguments=json_copy(self.arguments),
            schema=json_copy(self.schema),
            resolved=dict(self.resolved),
            remember_keys=dict(self.remember_keys),
            previews={name: dict(preview) for name, preview in self.previews.items()},
        )

    def denial(self, reason: str) -> Decision:
        """Return the decision that fails closed at this gate."""
        return Denied(reason) if self.gate == "run" else Withheld(reason)


class Approver(Protocol):
    """Answers questions; a callable with the signature of `ask` works too.

    None means that the decision will be passed to the queue in another way.
    """

    def ask(self, question: Question) -> Decision | Awaitable[Decision | None] | None:
        """Answer one question."""


AskFunction = Callable[[Question], Decision | Awaitable[Decision | None] | None]


@dataclass(frozen=True, slots=True)
class Resolution:
    """A decision, and who made it."""

    decision: Decision
    by: str

    def copy(self) -> Resolution:
        """Return the resolution with a copy of the edited arguments."""
        decision = self.decision
        if not isinstance(decision, Approved) or decision.arguments is None:
            return self
        return replace(self, decision=replace(decision, arguments=json_copy(decision.arguments)))


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """A question in the queue; awaiting it returns the resolution."""

    question: Question
    future: Future[Resolution] = field(default_factory=Future, repr=False)

    def __await__(self) -> Generator[Any, None, Resolution]:
        return asyncio.wrap_future(self.future).__await__()


@dataclass(frozen=True, slots=True)
class StandingApproval:
    """An approval that skips later questions until it is revoked or the kernel stops."""

    approval_id: str
    scope: Scope
    tool: str
    shown: str
    by: str


@dataclass(frozen=True, slots=True)
class QueueChange:
    """What a listener of the queue receives; `resolution` only if there was a decision."""

    kind: Literal["asked", "decided", "withdrawn"]
    question: Question
    resolution: Resolution | None = None

    def copy(self) -> QueueChange:
        """Return the change with copies of its arguments and mappings, so that changing them affects nothing else."""
        return replace(self, question=self.question.copy(), resolution=self.resolution and self.resolution.copy())


BY_POLICY = "policy"
"""The `by` of a resolution made by nbtool's own rules, without a person or an approver."""

Listener = Callable[[QueueChange], None]


class ApprovalQueue:
    """Pending questions; the first decision counts. Thread-safe.

    `tool_states` holds the states in which approved runs left their tools.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, PendingQuestion] = {}
        self._decided: OrderedDict[str, str] = OrderedDict()
        self._remembered: dict[str, StandingApproval] = {}
        self.tool_states = ToolStates()
        self._listeners: list[Listener] = []

    def add(self, question: Question) -> PendingQuestion:
        """Add a question to the queue.

        Raises:
            ApprovalError: the same question is pending or was decided: no question is asked or used twice.
        """
        pending = PendingQuestion(question)
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
            ApprovalError: no question has this digest, or the decision does not fit its gate.
        """
        with self._lock:
            pending = self._find(digest)
            resolution = Resolution(_copy_decision(pending.question, decision), by)
            self._close(digest, f"Decided by {by}.")
        pending.future.set_result(resolution)
        self._notify(QueueChange("decided", pending.question, resolution))

    def expire(self, digest: str, reason: str = "Nobody answered in time.") -> None:
        """Deny the question; raises as `decide`."""
        with self._lock:
            denial = self._find(digest).question.denial(reason)
        self.decide(digest, denial, by="expired")

    def withdraw(self, digest: str, reason: str = "The call was cancelled.") -> bool:
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

    def remember(self, question: Question, scope: Scope, *, by: str) -> StandingApproval:
        """Skip later questions that this approval covers; in memory only.

        Raises:
            ApprovalError: approvals of this tool or this call are not remembered.
        """
        _check_scope(question, scope)
        entry = StandingApproval(new_id("approval"), scope, question.tool, question.shown, by)
        with self._lock:
            return self._remembered.setdefault(question.remember_keys[scope], entry)

    def find_remembered(self, question: Question) -> StandingApproval | None:
        """Return the remembered approval that covers a question, if there is one."""
        if not question.can_remember:
            return None
        with self._lock:
            entries = (self._remembered.get(key) for key in question.remember_keys.values())
            return next((entry for entry in entries if entry), None)

    def remembered(self) -> tuple[StandingApproval, ...]:
        """Return the remembered approvals, oldest first."""
        with self._lock:
            return tuple(self._remembered.values())

    def revoke(self, approval_id: str) -> None:
        """Forget a remembered approval.

        Raises:
            ApprovalError: no approval has this id.
        """
        with self._lock:
            for key, entry in self._remembered.items():
                if entry.approval_id == approval_id:
                    del self._remembered[key]
                    return
        raise ApprovalError(
            f"No remembered approval has the id {approval_id!r}.", fix="List them with `%chat approvals`."
        )

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
        self._decided[digest] = reason
        while len(self._decided) > MAX_DECIDED:
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


def canonical_json(value: Any) -> str:
    """Return JSON in its only canonical form: keys sorted, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def make_digest(**parts: Any) -> str:
    """Return the SHA-256 of named JSON parts, in hex."""
    return hashlib.sha256(canonical_json(parts).encode()).hexdigest()


def _copy_decision(question: Question, decision: Decision) -> Decision:
    """Return the decision with a copy of its arguments, or raise if it does not fit the question."""
    allowed = (Approved, Denied) if question.gate == "run" else (Released, Withheld)
    if not isinstance(decision, allowed):
        names = " or ".join(kind.__name__ for kind in allowed)
        raise ApprovalError(f"The {question.gate} gate takes {names}, not {type(decision).__name__}.")
    if isinstance(decision, Approved) and decision.remember:
        _check_scope(question, decision.remember)
    if not isinstance(decision, Approved) or decision.arguments is None:
        return decision
    try:
        return replace(decision, arguments=json_copy(decision.arguments))
    except (TypeError, ValueError, RecursionError) as error:
        raise ApprovalError(f"The arguments are not JSON: {error}.", fix="Pass a dict of JSON values.") from None


def _check_scope(question: Question, scope: Scope) -> None:
    if not question.can_remember:
        raise ApprovalError(f"An approval of {question.tool!r} cannot be remembered.", fix="It asks before every call.")
    if scope == "call" and not question.can_remember_call:
        raise ApprovalError(
            f"An approval of this call of {question.tool!r} cannot be remembered: its objects, or data that the tool"
            " uses, cannot be watched for changes.",
            fix="Approve it once, or remember the tool.",
        )


def json_copy(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a deep copy of JSON values.

    Raises:
        TypeError, ValueError, RecursionError: it holds something else.
    """
    copy: dict[str, Any] = json.loads(json.dumps(dict(value)))
    return copy


def _check_mode(name: str, mode: object, modes: tuple[str, ...]) -> None:
    if not callable(mode) and mode not in modes:
        raise BadUsage(f"{name}={mode!r} is not a policy: expected one of {', '.join(modes)}.")

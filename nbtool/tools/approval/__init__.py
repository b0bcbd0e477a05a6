"""Who is asked, what exactly about, and what was decided.

A question is bound to a digest of everything that would happen: the tool, its schema, the arguments, and what each
reference points to. A decision carries the digest back, so it can answer nothing else. Questions lie on the desk;
buttons, a line of input, a policy and a script's approver are roads to it, and the first decision wins.
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
"""Decided questions that the desk still knows, so that a late decision learns who was first."""


@dataclass(frozen=True, slots=True)
class Policy:
    """When a person is asked.

    Before a call runs: `auto` never, `ask_once` once for the same arguments, `ask_always` each time. Before its
    result reaches the model: `never`, `on_error`, `always`. A callable gets a copy of the arguments as the model
    wrote them and gives one of these words. A `sensitive` tool asks each time, whatever else is said, and is not
    remembered.
    """

    run: RunPolicy = "ask_always"
    result: ResultPolicy = "never"
    sensitive: bool = False

    def __post_init__(self) -> None:
        _check_mode("run", self.run, get_args(RunMode))
        _check_mode("result", self.result, get_args(ResultMode))

    def run_mode(self, arguments: Mapping[str, Any]) -> RunMode:
        """Give the word for this call; whatever a callable raises goes through.

        Raises:
            BadUsage: a callable gave something else than a word.
        """
        mode = self.run(json_copy(arguments)) if callable(self.run) else self.run
        _check_mode("run", mode, get_args(RunMode))
        return "ask_always" if self.sensitive else mode

    def result_mode(self, arguments: Mapping[str, Any]) -> ResultMode:
        """Give the word for this call's result; as `run_mode`."""
        mode = self.result(json_copy(arguments)) if callable(self.result) else self.result
        _check_mode("result", mode, get_args(ResultMode))
        return mode


@dataclass(frozen=True, slots=True)
class Approved:
    """The call may run, with other `arguments` where given.

    `remember` spares the next question: for this very `call` (same tool, same arguments), or for the whole `tool`
    as it is now.
    """

    arguments: Mapping[str, Any] | None = None
    remember: Literal["", "call", "tool"] = ""


@dataclass(frozen=True, slots=True)
class Denied:
    """The call must not run; the model reads the reason."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Released:
    """The result may reach the model, as another `text` where given."""

    text: str | None = None


@dataclass(frozen=True, slots=True)
class Withheld:
    """The result must not reach the model by any road; the model reads the reason."""

    reason: str = ""


Decision = Approved | Denied | Released | Withheld


@dataclass(frozen=True, slots=True)
class Question:
    """May this call run, or may this result reach the model?

    `shown` is what is decided about: the canonical arguments as JSON, or the text of the result. `resolved`
    describes what each argument stands for, `effect` what would change, as the tool tells it, and `media` are the
    images of a result, which reach the model where its text is released as it is. `notice` is what the person has to
    know first, such as how the tool changed; it is shown in full. `remember_keys` are the names under which an
    approval can be remembered, for the call and for the tool; one that stands for something that cannot be watched has
    none for the call. `previews` are the first rows of what was opened for reading, `notes` lines that the person
    should know, and `again` says why the call is asked about once more.
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
        """Whether an approval of these very arguments can be remembered, not only one of the tool."""
        return self.can_remember and "call" in self.remember_keys

    def copy(self) -> Question:
        """Give the question with arguments and mappings of its own: whoever changes them changes nothing else."""
        return replace(
            self,
            arguments=json_copy(self.arguments),
            schema=json_copy(self.schema),
            resolved=dict(self.resolved),
            remember_keys=dict(self.remember_keys),
            previews={name: dict(preview) for name, preview in self.previews.items()},
        )

    def denial(self, reason: str) -> Decision:
        """Give the decision that fails closed at this gate."""
        return Denied(reason) if self.gate == "run" else Withheld(reason)


class Approver(Protocol):
    """Somebody who answers questions; a plain callable of the same shape will do as well.

    None says that the decision will be laid on the desk by another road.
    """

    def ask(self, question: Question) -> Decision | Awaitable[Decision | None] | None:
        """Answer one question."""


AskFunction = Callable[[Question], Decision | Awaitable[Decision | None] | None]


@dataclass(frozen=True, slots=True)
class Resolution:
    """A decision, and whose it was."""

    decision: Decision
    by: str

    def copy(self) -> Resolution:
        """Give the ruling with edited arguments of its own."""
        decision = self.decision
        if not isinstance(decision, Approved) or decision.arguments is None:
            return self
        return replace(self, decision=replace(decision, arguments=json_copy(decision.arguments)))


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """A question on the desk; awaiting it gives the ruling."""

    question: Question
    future: Future[Resolution] = field(default_factory=Future, repr=False)

    def __await__(self) -> Generator[Any, None, Resolution]:
        return asyncio.wrap_future(self.future).__await__()


@dataclass(frozen=True, slots=True)
class StandingApproval:
    """An approval that spares further questions until it is revoked or the kernel ends."""

    approval_id: str
    scope: Scope
    tool: str
    shown: str
    by: str


@dataclass(frozen=True, slots=True)
class QueueChange:
    """What a listener of the desk is told; `resolution` only where there was a decision."""

    kind: Literal["asked", "decided", "withdrawn"]
    question: Question
    resolution: Resolution | None = None

    def copy(self) -> QueueChange:
        """Give the change with arguments and mappings of its own: whoever changes them changes nothing else."""
        return replace(self, question=self.question.copy(), resolution=self.resolution and self.resolution.copy())


BY_POLICY = "policy"
"""Whose a ruling is that no person and no approver of a person's gave."""

Listener = Callable[[QueueChange], None]


class ApprovalQueue:
    """Pending questions, where the first decision wins. Safe from any thread.

    `tool_states` are the states in which approved runs left their tools.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, PendingQuestion] = {}
        self._decided: OrderedDict[str, str] = OrderedDict()
        self._remembered: dict[str, StandingApproval] = {}
        self.tool_states = ToolStates()
        self._listeners: list[Listener] = []

    def add(self, question: Question) -> PendingQuestion:
        """Lay a question on the desk.

        Raises:
            ApprovalError: the same question lies there, or was decided: nothing is asked or used twice.
        """
        pending = PendingQuestion(question)
        pending.future.set_running_or_notify_cancel()  # so that whoever stops waiting cannot cancel it for others
        with self._lock:
            if question.digest in self._open or question.digest in self._decided:
                raise ApprovalError(f"The question {question.digest[:12]} was asked before.", fix="Ask anew.")
            self._open[question.digest] = pending
        self._notify(QueueChange("asked", question))
        return pending

    def decide(self, digest: str, decision: Decision, *, by: str = "script") -> None:
        """Decide the question with this digest.

        Raises:
            AlreadyDecided: somebody was first, or the question was withdrawn.
            ApprovalError: there is no such question, or the decision does not fit its gate.
        """
        with self._lock:
            pending = self._find(digest)
            resolution = Resolution(_copy_decision(pending.question, decision), by)
            self._close(digest, f"It was decided by {by}.")
        pending.future.set_result(resolution)
        self._notify(QueueChange("decided", pending.question, resolution))

    def expire(self, digest: str, reason: str = "Nobody answered in time.") -> None:
        """Decide the question against the call; raises as `decide`."""
        with self._lock:
            denial = self._find(digest).question.denial(reason)
        self.decide(digest, denial, by="expired")

    def withdraw(self, digest: str, reason: str = "The call was cancelled.") -> bool:
        """Take a question off the desk; says whether it still lay there."""
        with self._lock:
            pending = self._open.get(digest)
            if pending is None:
                return False
            self._close(digest, reason)
        pending.future.set_result(Resolution(pending.question.denial(reason), "withdrawn"))
        self._notify(QueueChange("withdrawn", pending.question))
        return True

    def pending(self) -> tuple[Question, ...]:
        """Give the questions that wait, oldest first."""
        with self._lock:
            return tuple(entry.question.copy() for entry in self._open.values())

    def remember(self, question: Question, scope: Scope, *, by: str) -> StandingApproval:
        """Let an approval spare further questions; in memory only.

        Raises:
            ApprovalError: this tool, or this call, is asked about each time.
        """
        _check_scope(question, scope)
        entry = StandingApproval(new_id("approval"), scope, question.tool, question.shown, by)
        with self._lock:
            return self._remembered.setdefault(question.remember_keys[scope], entry)

    def find_remembered(self, question: Question) -> StandingApproval | None:
        """Give the remembered approval that covers a question, if there is one."""
        if not question.can_remember:
            return None
        with self._lock:
            entries = (self._remembered.get(key) for key in question.remember_keys.values())
            return next((entry for entry in entries if entry), None)

    def remembered(self) -> tuple[StandingApproval, ...]:
        """Give the remembered approvals, oldest first."""
        with self._lock:
            return tuple(self._remembered.values())

    def revoke(self, approval_id: str) -> None:
        """Forget a remembered approval.

        Raises:
            ApprovalError: there is none with this id.
        """
        with self._lock:
            for key, entry in self._remembered.items():
                if entry.approval_id == approval_id:
                    del self._remembered[key]
                    return
        raise ApprovalError(f"No remembered approval has the id {approval_id!r}.", fix="See the list of approvals.")

    def add_listener(self, listener: Listener) -> Callable[[], None]:
        """Tell `listener` of every change, on the thread that makes it; gives a function that ends this.

        A listener that raises is dropped.
        """
        with self._lock:
            self._listeners.append(listener)
        return lambda: self._remove_listener(listener)

    def _find(self, digest: str) -> PendingQuestion:
        if pending := self._open.get(digest):
            return pending
        if reason := self._decided.get(digest):
            raise AlreadyDecided(f"The question {digest[:12]} is closed: {reason}")
        raise ApprovalError(f"No question with the digest {digest[:12]!r} waits.", fix="Decide one that is pending.")

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
    """Write JSON in one way only: keys sorted, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def make_digest(**parts: Any) -> str:
    """Give the SHA-256 of named JSON parts, in hex."""
    return hashlib.sha256(canonical_json(parts).encode()).hexdigest()


def _copy_decision(question: Question, decision: Decision) -> Decision:
    """Give the decision with arguments of its own, or say why it does not fit the question."""
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
        raise ApprovalError(f"The arguments are not JSON: {error}.", fix="Give a dict of plain values.") from None


def _check_scope(question: Question, scope: Scope) -> None:
    if not question.can_remember:
        raise ApprovalError(f"An approval of {question.tool!r} cannot be remembered.", fix="It asks each time.")
    if scope == "call" and not question.can_remember_call:
        raise ApprovalError(
            f"An approval of this call of {question.tool!r} cannot be remembered: its objects, or what the tool works"
            " with, cannot be watched.",
            fix="Approve it once, or remember the tool.",
        )


def json_copy(value: Mapping[str, Any]) -> dict[str, Any]:
    """Give a deep copy of JSON values.

    Raises:
        TypeError, ValueError, RecursionError: it holds something else.
    """
    copy: dict[str, Any] = json.loads(json.dumps(dict(value)))
    return copy


def _check_mode(name: str, mode: object, modes: tuple[str, ...]) -> None:
    if not callable(mode) and mode not in modes:
        raise BadUsage(f"{name}={mode!r} is no policy; expected one of {', '.join(modes)}.")

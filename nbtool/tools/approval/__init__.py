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
from nbtool.events import AskedAgain, Gate, ResolvedArgument
from nbtool.messages import Media, new_id
from nbtool.tools.content_hash.tool_states import ToolStates

RunWord = Literal["auto", "ask_once", "ask_always"]
ResultWord = Literal["never", "on_error", "always"]
RunPolicy = RunWord | Callable[[Mapping[str, Any]], RunWord]
ResultPolicy = ResultWord | Callable[[Mapping[str, Any]], ResultWord]
Scope = Literal["call", "tool"]

MAX_CLOSED = 10_000
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
        _check_word("run", self.run, get_args(RunWord))
        _check_word("result", self.result, get_args(ResultWord))

    def run_word(self, arguments: Mapping[str, Any]) -> RunWord:
        """Give the word for this call; whatever a callable raises goes through.

        Raises:
            BadUsage: a callable gave something else than a word.
        """
        word = self.run(json_copy(arguments)) if callable(self.run) else self.run
        _check_word("run", word, get_args(RunWord))
        return "ask_always" if self.sensitive else word

    def result_word(self, arguments: Mapping[str, Any]) -> ResultWord:
        """Give the word for this call's result; as `run_word`."""
        word = self.result(json_copy(arguments)) if callable(self.result) else self.result
        _check_word("result", word, get_args(ResultWord))
        return word


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
    know first, such as how the tool changed; it is shown in full. `keys` are the names under which an approval can be
    remembered, for the call and for the tool; one that stands for something that cannot be watched has none for the
    call. `glances` are the first rows of what was opened for reading, `notes` lines that the person should know, and
    `again` says why the call is asked about once more.
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
    keys: Mapping[Scope, str] = field(default_factory=dict)
    glances: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = ()
    again: AskedAgain | None = None

    @property
    def can_remember_call(self) -> bool:
        """Whether an approval of these very arguments can be remembered, not only one of the tool."""
        return self.can_remember and "call" in self.keys

    def copy(self) -> Question:
        """Give the question with arguments and mappings of its own: whoever changes them changes nothing else."""
        return replace(
            self,
            arguments=json_copy(self.arguments),
            schema=json_copy(self.schema),
            resolved=dict(self.resolved),
            keys=dict(self.keys),
            glances={name: dict(glance) for name, glance in self.glances.items()},
        )

    def refusal(self, reason: str) -> Decision:
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
class Ruling:
    """A decision, and whose it was."""

    decision: Decision
    by: str

    def copy(self) -> Ruling:
        """Give the ruling with edited arguments of its own."""
        decision = self.decision
        if not isinstance(decision, Approved) or decision.arguments is None:
            return self
        return replace(self, decision=replace(decision, arguments=json_copy(decision.arguments)))


@dataclass(frozen=True, slots=True)
class Pending:
    """A question on the desk; awaiting it gives the ruling."""

    question: Question
    future: Future[Ruling] = field(default_factory=Future, repr=False)

    def __await__(self) -> Generator[Any, None, Ruling]:
        return asyncio.wrap_future(self.future).__await__()


@dataclass(frozen=True, slots=True)
class Remembered:
    """An approval that spares further questions until it is revoked or the kernel ends."""

    approval_id: str
    scope: Scope
    tool: str
    shown: str
    by: str


@dataclass(frozen=True, slots=True)
class DeskChange:
    """What a listener of the desk is told; `ruling` only where there was a decision."""

    kind: Literal["asked", "decided", "withdrawn"]
    question: Question
    ruling: Ruling | None = None

    def copy(self) -> DeskChange:
        """Give the change with arguments and mappings of its own: whoever changes them changes nothing else."""
        return replace(self, question=self.question.copy(), ruling=self.ruling and self.ruling.copy())


BY_POLICY = "policy"
"""Whose a ruling is that no person and no approver of a person's gave."""

Listener = Callable[[DeskChange], None]


class Desk:
    """Pending questions, where the first decision wins. Safe from any thread.

    `tool_states` are the states in which approved runs left their tools.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, Pending] = {}
        self._closed: OrderedDict[str, str] = OrderedDict()
        self._remembered: dict[str, Remembered] = {}
        self.tool_states = ToolStates()
        self._listeners: list[Listener] = []

    def ask(self, question: Question) -> Pending:
        """Lay a question on the desk.

        Raises:
            ApprovalError: the same question lies there, or was decided: nothing is asked or used twice.
        """
        pending = Pending(question)
        pending.future.set_running_or_notify_cancel()  # so that whoever stops waiting cannot cancel it for others
        with self._lock:
            if question.digest in self._open or question.digest in self._closed:
                raise ApprovalError(f"The question {question.digest[:12]} was asked before.", fix="Ask anew.")
            self._open[question.digest] = pending
        self._tell(DeskChange("asked", question))
        return pending

    def decide(self, digest: str, decision: Decision, *, by: str = "script") -> None:
        """Decide the question with this digest.

        Raises:
            AlreadyDecided: somebody was first, or the question was withdrawn.
            ApprovalError: there is no such question, or the decision does not fit its gate.
        """
        with self._lock:
            pending = self._find(digest)
            ruling = Ruling(_fitting(pending.question, decision), by)
            self._close(digest, f"It was decided by {by}.")
        pending.future.set_result(ruling)
        self._tell(DeskChange("decided", pending.question, ruling))

    def expire(self, digest: str, reason: str = "Nobody answered in time.") -> None:
        """Decide the question against the call; raises as `decide`."""
        with self._lock:
            refusal = self._find(digest).question.refusal(reason)
        self.decide(digest, refusal, by="expired")

    def withdraw(self, digest: str, why: str = "The call was cancelled.") -> bool:
        """Take a question off the desk; says whether it still lay there."""
        with self._lock:
            pending = self._open.get(digest)
            if pending is None:
                return False
            self._close(digest, why)
        pending.future.set_result(Ruling(pending.question.refusal(why), "withdrawn"))
        self._tell(DeskChange("withdrawn", pending.question))
        return True

    def pending(self) -> tuple[Question, ...]:
        """Give the questions that wait, oldest first."""
        with self._lock:
            return tuple(entry.question.copy() for entry in self._open.values())

    def remember(self, question: Question, scope: Scope, *, by: str) -> Remembered:
        """Let an approval spare further questions; in memory only.

        Raises:
            ApprovalError: this tool, or this call, is asked about each time.
        """
        _check_scope(question, scope)
        entry = Remembered(new_id("approval"), scope, question.tool, question.shown, by)
        with self._lock:
            return self._remembered.setdefault(question.keys[scope], entry)

    def recall(self, question: Question) -> Remembered | None:
        """Give the remembered approval that covers a question, if there is one."""
        if not question.can_remember:
            return None
        with self._lock:
            found = (self._remembered.get(key) for key in question.keys.values())
            return next((entry for entry in found if entry), None)

    def remembered(self) -> tuple[Remembered, ...]:
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

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Tell `listener` of every change, on the thread that makes it; gives a function that ends this.

        A listener that raises is dropped.
        """
        with self._lock:
            self._listeners.append(listener)
        return lambda: self._drop(listener)

    def _find(self, digest: str) -> Pending:
        if pending := self._open.get(digest):
            return pending
        if why := self._closed.get(digest):
            raise AlreadyDecided(f"The question {digest[:12]} is closed: {why}")
        raise ApprovalError(f"No question with the digest {digest[:12]!r} waits.", fix="Decide one that is pending.")

    def _close(self, digest: str, why: str) -> None:
        del self._open[digest]
        self._closed[digest] = why
        while len(self._closed) > MAX_CLOSED:
            self._closed.popitem(last=False)

    def _tell(self, change: DeskChange) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(change.copy())
            except Exception:  # noqa: BLE001 - a listener that fails must not stop a decision
                self._drop(listener)

    def _drop(self, listener: Listener) -> None:
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)


def canonical(value: Any) -> str:
    """Write JSON in one way only: keys sorted, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest_of(**parts: Any) -> str:
    """Give the SHA-256 of named JSON parts, in hex."""
    return hashlib.sha256(canonical(parts).encode()).hexdigest()


def _fitting(question: Question, decision: Decision) -> Decision:
    """Give the decision with arguments of its own, or say why it does not fit the question."""
    fitting = (Approved, Denied) if question.gate == "run" else (Released, Withheld)
    if not isinstance(decision, fitting):
        words = " or ".join(kind.__name__ for kind in fitting)
        raise ApprovalError(f"The {question.gate} gate takes {words}, not {type(decision).__name__}.")
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
    copied: dict[str, Any] = json.loads(json.dumps(dict(value)))
    return copied


def _check_word(which: str, word: object, words: tuple[str, ...]) -> None:
    if not callable(word) and word not in words:
        raise BadUsage(f"{which}={word!r} is no policy; expected one of {', '.join(words)}.")

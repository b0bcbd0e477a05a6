"""A question of a worker on its way home, and the decision on its way back: both as JSON, which runs nothing.

What a worker sends is untrusted: it is read like an event of a foreign file, and it is decided under a digest that is
made at home. The decision carries back the digest of the worker's own question, and is no answer to any other.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from nbtool.errors import ApprovalError
from nbtool.event_json import dump_event, load_event
from nbtool.events import CallAsked
from nbtool.policy import site_policy
from nbtool.tools.approval import (
    Approved,
    Decision,
    Denied,
    Question,
    Released,
    Resolution,
    Scope,
    Withheld,
    make_digest,
)

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MAX_QUESTION = 16 * 1024 * 1024
"""Maximum characters of a question with its images."""

TOO_LARGE = f"The question is larger than {MAX_QUESTION >> 20} MiB, too large to be asked from a worker."
FROM_WORKER = "A worker of chat.map asks this."
NO_FORM = "What a worker asked for was not shown:"


@dataclass(frozen=True, slots=True)
class _SentQuestion:
    """What a question has and its event has not, with the event as JSON."""

    asked: str
    arguments: dict[str, Any]
    remember_keys: dict[Scope, str]
    person_rule: str


@dataclass(frozen=True, slots=True)
class _SentDecision:
    """A decision about the question with this digest; a field that its kind does not have is empty."""

    digest: str
    kind: Literal["Approved", "Denied", "Released", "Withheld"]
    by: str
    reason: str = ""
    fix: str = ""
    arguments: dict[str, Any] | None = None
    remember: Literal["", "call", "tool"] = ""
    text: str | None = None


def pack_question(question: Question) -> str:
    """Return a question in the form in which it is sent.

    Raises:
        ApprovalError: it is too large, or has no JSON form.
    """
    from pydantic_core import PydanticSerializationError, to_json  # noqa: PLC0415 - only where a worker asks

    rest = (dict(question.arguments), dict(question.remember_keys), question.person_rule)
    try:
        text = to_json(_SentQuestion(dump_event(question.as_event()), *rest)).decode()
    except (PydanticSerializationError, ValueError) as error:
        raise ApprovalError(f"The question cannot be sent home: {error}") from None
    if len(text) > MAX_QUESTION:
        raise ApprovalError(TOO_LARGE)
    return text


def read_question(text: str, asking: str) -> tuple[Question, str]:
    """Return the question as it is asked at home, and its digest on the worker.

    Raises:
        NbtoolError: it is none.
    """
    if len(text) > MAX_QUESTION:
        raise ApprovalError(TOO_LARGE)
    sent: _SentQuestion = _read(_SentQuestion, text)
    event = load_event(sent.asked)
    if not isinstance(event, CallAsked):
        raise ApprovalError("What the worker sent is another event than a question.")
    return _make_question(event, sent, make_digest(asking=asking, text=text)), event.digest


def pack_decision(digest: str, resolution: Resolution) -> str:
    """Return a decision about the worker's question with this digest in the form in which it is sent."""
    from pydantic_core import to_json  # noqa: PLC0415 - only where a worker asks

    decision = resolution.decision
    kind: Any = next(kind for kind in (Approved, Denied, Released, Withheld) if isinstance(decision, kind))
    return to_json(_SentDecision(digest, kind.__name__, resolution.by, **asdict(decision))).decode()


def read_decision(text: str, question: Question) -> Resolution:
    """Return the decision about a question of this worker.

    Raises:
        ApprovalError: it is none, or one about another question.
    """
    sent: _SentDecision = _read(_SentDecision, text)
    if sent.digest != question.digest:
        raise ApprovalError("What came back is the decision about another question.")
    return Resolution(_make_decision(sent), sent.by)


def _make_question(event: CallAsked, sent: _SentQuestion, digest: str) -> Question:
    return Question.from_event(
        event,
        digest=digest,
        arguments=sent.arguments,
        remember_keys=sent.remember_keys,
        notes=(FROM_WORKER, *event.notes),
        person_rule=sent.person_rule or site_policy().rule_of_person,  # the rules of both machines hold
    )


def _make_decision(sent: _SentDecision) -> Decision:
    match sent.kind:
        case "Approved":
            return Approved(sent.arguments, sent.remember)
        case "Denied":
            return Denied(sent.reason, sent.fix)
        case "Released":
            return Released(sent.text)
        case "Withheld":
            return Withheld(sent.reason, sent.fix)


def _read(kind: Any, text: str) -> Any:
    """Read JSON of a closed form.

    Raises:
        ApprovalError: it has another one.
    """
    try:
        return _adapter(kind).validate_json(text, strict=True)
    except (ValueError, RecursionError):  # the former includes what pydantic raises
        raise ApprovalError("What was sent is neither a question nor a decision.") from None


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - only where a worker asks

    return TypeAdapter(kind)

"""What is decided at a gate, and by whom."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol

from nbtool.audience import PERSON
from nbtool.events import CallAsked, ResolvedArgument, resolve_arguments
from nbtool.sign_in import sign_in_page
from nbtool.tools.approval.context import PolicyContext
from nbtool.tools.approval.decisions import Decision, Denied, Scope, Undecided, Withheld
from nbtool.tools.approval.digest import json_copy

Answer = Decision | Undecided
"""What an approver answers."""

RESULT_PREVIEW = "result"
"""The name of a result in the glances of the question about it."""


@dataclass(frozen=True, slots=True)
class Question(CallAsked):
    """May this call run, or may this result be sent to the model?

    It is the event that it was queued, with what is not written of it.

    Args:
        arguments: those that would run.
        remember_keys: the keys under which an approval can be remembered, for the call and for the tool. There is
            none for a call with an object that cannot be watched for changes.
        person_rule: why only a person may approve it, by the administrator's policy.
        context: what the person typed, and which texts from outside the model had read.
    """

    can_remember: bool = field(default=False, metadata=PERSON)
    arguments: Mapping[str, Any] = field(default_factory=dict, metadata=PERSON)
    remember_keys: Mapping[Scope, str] = field(default_factory=dict, metadata=PERSON)
    person_rule: str = field(default="", metadata=PERSON)
    context: PolicyContext = field(default_factory=PolicyContext, repr=False, metadata=PERSON)

    def __post_init__(self) -> None:
        object.__setattr__(self, "can_remember_call", self.can_remember and "call" in self.remember_keys)

    @property
    def resolved(self) -> dict[str, ResolvedArgument]:
        """Each argument as the tool would receive it."""
        return resolve_arguments(json.dumps(dict(self.arguments)), self.described)

    @classmethod
    def from_event(cls, event: CallAsked, **own: Any) -> Question:
        """Return the question of an event; `own` are fields that differ, or that the event has not."""
        return cls(**{**_fields_of(event), **own})

    @property
    def needs_person(self) -> bool:
        """Whether only a person's click, line or command can approve it: the question about a page to sign in at."""
        return bool(sign_in_page(self.schema, is_form=self.is_form))

    def as_event(self) -> CallAsked:
        """Return the event that it was queued, with mappings of its own."""
        return CallAsked(**_fields_of(self.copy()))

    def copy(self) -> Question:
        """Return the question with copies of its arguments and mappings, so that changing them affects nothing else."""
        return replace(
            self,
            arguments=json_copy(self.arguments),
            schema=json_copy(self.schema),
            described=dict(self.described),
            remember_keys=dict(self.remember_keys),
            glances={name: dict(preview) for name, preview in self.glances.items()},
        )

    def denial(self, reason: str, *, fix: str = "") -> Decision:
        """Return the decision that fails closed at this gate."""
        return Denied(reason, fix) if self.gate == "run" else Withheld(reason, fix)


def _fields_of(event: CallAsked) -> dict[str, Any]:
    return {item.name: getattr(event, item.name) for item in fields(CallAsked)}


class Approver(Protocol):
    """Answers questions; a callable with the signature of `ask` works too.

    `Undecided` leaves the decision to others; what is no answer, such as None, denies.
    """

    def ask(self, question: Question) -> Answer | Awaitable[Answer]:
        """Answer one question."""


AskFunction = Callable[[Question], Answer | Awaitable[Answer]]

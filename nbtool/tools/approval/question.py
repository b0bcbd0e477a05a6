"""What is decided at a gate, and by whom."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from nbtool.events import Gate, RepeatedQuestion, ResolvedArgument
from nbtool.messages import Media
from nbtool.sign_in import sign_in_page
from nbtool.tools.approval.context import PolicyContext
from nbtool.tools.approval.decisions import Decision, Denied, Scope, Undecided, Withheld
from nbtool.tools.approval.digest import json_copy

Answer = Decision | Undecided
"""What an approver answers."""

RESULT_PREVIEW = "result"
"""The name of a result in the previews of the question about it."""


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
        previews: the first rows of readable variables; of a result that is a table, under `RESULT_PREVIEW`.
        notes: lines for the person.
        again: why the call is asked about again.
        qualified_name: the tool's name for a person, if it differs, such as `server.tool`.
        is_form: a server asks for the arguments; an approval sends them.
        person_rule: why only a person may approve it, by the administrator's policy.
        recipient: who receives the result, if it is not the model.
        context: what the person typed, and which texts from outside the model had read.
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
    media: tuple[Media, ...] = ()
    sensitive: bool = False
    can_remember: bool = False
    remember_keys: Mapping[Scope, str] = field(default_factory=dict)
    previews: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = ()
    again: RepeatedQuestion | None = None
    qualified_name: str = ""
    is_form: bool = False
    person_rule: str = ""
    recipient: str = ""
    context: PolicyContext = field(default_factory=PolicyContext, repr=False)

    @property
    def display_name(self) -> str:
        """The tool's name for a person."""
        return self.qualified_name or self.tool

    @property
    def needs_person(self) -> bool:
        """Whether only a person's click, line or command can approve it: the question about a page to sign in at."""
        return bool(sign_in_page(self.schema, is_form=self.is_form))

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

    def denial(self, reason: str, *, fix: str = "") -> Decision:
        """Return the decision that fails closed at this gate."""
        return Denied(reason, fix) if self.gate == "run" else Withheld(reason, fix)


class Approver(Protocol):
    """Answers questions; a callable with the signature of `ask` works too.

    `Undecided` leaves the decision to others; what is no answer, such as None, denies.
    """

    def ask(self, question: Question) -> Answer | Awaitable[Answer]:
        """Answer one question."""


AskFunction = Callable[[Question], Answer | Awaitable[Answer]]

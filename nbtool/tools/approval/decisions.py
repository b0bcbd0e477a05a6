"""What a person, a policy or a script answers to a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from nbtool.argument_check import check_arguments
from nbtool.tools.approval.digest import json_copy

Scope = Literal["call", "tool"]


@check_arguments
@dataclass(frozen=True, slots=True)
class Approved:
    """The call may run, with `arguments` in place of its own if set.

    `remember` skips later questions: for this `call` (same tool, same arguments), or for the whole `tool` as it is now.
    `reason` says why, and is shown at the call.
    """

    arguments: Mapping[str, Any] | None = None
    remember: Literal["", "call", "tool"] = ""
    reason: str = ""


@check_arguments
@dataclass(frozen=True, slots=True)
class Denied:
    """The call must not run; the reason is sent to the model, and only the person is told `fix`."""

    reason: str = ""
    fix: str = ""


@check_arguments
@dataclass(frozen=True, slots=True)
class Released:
    """The result may be sent to the model, with `text` in place of its own if set."""

    text: str | None = None


@check_arguments
@dataclass(frozen=True, slots=True)
class Withheld:
    """The result must not reach the model in any form; `reason` and `fix` as in `Denied`."""

    reason: str = ""
    fix: str = ""


Decision = Approved | Denied | Released | Withheld


@dataclass(frozen=True, slots=True)
class Undecided:
    """No decision of this approver: the question stays in the queue, for `chat.approvals.decide`, until its turn ends.

    Whatever else an approver returns that is no decision, such as None, denies the call.
    """


@dataclass(frozen=True, slots=True)
class Review:
    """What a model that reviews calls says of one: it approves it, or hands it on to others; with its reason."""

    is_approval: bool
    reason: str


BY_POLICY = "policy"
"""The `by` of a resolution made by nbtool's own rules, without a person or an approver."""

BY_REVIEWER = "reviewer"
"""The `by` of an approval by a model that reviews calls; it is never remembered."""

BY_REMEMBERED = "remembered"
"""The `by` of a resolution covered by an earlier approval."""

BY_BUTTON = "button"
"""The `by` of a resolution by a click."""

BY_INPUT = "input"
"""The `by` of a resolution by a line of input."""

BY_COMMAND = "%chat approve"
"""The `by` of an approval by a command in a cell."""

BY_PERSON = frozenset((BY_BUTTON, BY_INPUT, BY_COMMAND))
"""The `by` of approvals that a person gives by hand."""


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

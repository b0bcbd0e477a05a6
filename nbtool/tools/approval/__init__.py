"""Approval questions and decisions.

A question is bound to a digest of everything that would happen: the tool, its schema, the arguments, and what each
reference points to. A decision carries the digest back, so it cannot answer any other question. Pending questions are
in the `ApprovalQueue`; buttons, a line of input, a policy or a script's approver can decide them, and the first
decision counts.
"""

from nbtool.events import BY_ERROR, BY_NO_DECISION, BY_NOBODY
from nbtool.tools.approval.context import OutsideText, PolicyContext
from nbtool.tools.approval.decisions import (
    BY_BUTTON,
    BY_COMMAND,
    BY_INPUT,
    BY_PERSON,
    BY_POLICY,
    BY_REMEMBERED,
    BY_REVIEWER,
    Approved,
    Decision,
    Denied,
    Released,
    Resolution,
    Review,
    Scope,
    Undecided,
    Withheld,
)
from nbtool.tools.approval.digest import canonical_json, make_digest
from nbtool.tools.approval.outside_rule import ask_after_outside_text
from nbtool.tools.approval.policy import Policy, ResultMode, ResultPolicy, RunMode, RunPolicy
from nbtool.tools.approval.question import Answer, Approver, AskFunction, Question
from nbtool.tools.approval.queue import NEEDS_PERSON, ApprovalQueue, PendingQuestion, QueueChange
from nbtool.tools.approval.remembered_approvals import RememberedApproval

__all__ = [
    "BY_BUTTON",
    "BY_COMMAND",
    "BY_ERROR",
    "BY_INPUT",
    "BY_NOBODY",
    "BY_NO_DECISION",
    "BY_PERSON",
    "BY_POLICY",
    "BY_REMEMBERED",
    "BY_REVIEWER",
    "NEEDS_PERSON",
    "Answer",
    "ApprovalQueue",
    "Approved",
    "Approver",
    "AskFunction",
    "Decision",
    "Denied",
    "OutsideText",
    "PendingQuestion",
    "Policy",
    "PolicyContext",
    "Question",
    "QueueChange",
    "Released",
    "RememberedApproval",
    "Resolution",
    "ResultMode",
    "ResultPolicy",
    "Review",
    "RunMode",
    "RunPolicy",
    "Scope",
    "Undecided",
    "Withheld",
    "ask_after_outside_text",
    "canonical_json",
    "make_digest",
]

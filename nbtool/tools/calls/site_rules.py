"""What the administrator's policy requires of a call: who decides about it, and what of its outcome may be sent."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from nbtool.policy import site_policy
from nbtool.tools.approval import Answer, Approved, Approver, AskFunction, Question, Released
from nbtool.tools.tool import Tool
from nbtool.tools.values.model_text import format_error
from nbtool.tools.values.type_names import declared_name

PERSON_FIX = "Decide on its card, by a line of input, or with `%chat approve`."

ERROR_TEXT = "{name} was raised. Its text is not sent: the administrator's policy allows no values to leave."


def error_text(error: BaseException | None) -> str:
    """Return the text of an error for the model: its type only, if a policy allows no values to leave."""
    if site_policy().values_may_leave:
        return format_error(error) if error else ""
    return ERROR_TEXT.format(name=declared_name(type(error)))


@lru_cache(maxsize=1_024)
def with_site_rules(tool: Tool) -> Tool:
    """Return a tool that asks before every call if a policy says so, else the tool itself."""
    if not rule_to_ask(tool) or tool.policy.sensitive:
        return tool
    return replace(tool, policy=replace(tool.policy, sensitive=True))


def rule_to_refuse(tool: Tool) -> str:
    """Return why no call of a tool runs, under whatever name it is offered; empty if no policy forbids it."""
    return site_policy().rule_to_refuse(*_names_of(tool))


def rule_to_ask(tool: Tool) -> str:
    """Return why a tool always asks, under whatever name it is offered; empty if no policy says so."""
    return site_policy().rule_to_ask(*_names_of(tool))


def _names_of(tool: Tool) -> tuple[str, ...]:
    """Return the names that a policy may call a tool by."""
    return (tool.name, tool.qualified_name, tool.origin, tool.origin.rpartition(".")[2])


def person_rule(tool: Tool) -> str:
    """Return why only a person may approve a call of a tool; empty if an approver in Python may too."""
    return rule_to_ask(tool) or site_policy().rule_of_person


def refuse_automatic(question: Question, decision: Answer, approver: Approver | AskFunction) -> Answer:
    """Return a decision, or a denial in place of an approval that no person gave though a policy requires it."""
    if not question.person_rule or not isinstance(decision, Approved | Released) or asks_person(approver):
        return decision
    return question.denial(question.person_rule, fix=PERSON_FIX)


def asks_person(approver: object) -> bool:
    """Whether an approver of nbtool's own asks a person; no other class can say so of itself."""
    return type(approver).__module__.startswith("nbtool.") and bool(getattr(approver, "asks_person", False))

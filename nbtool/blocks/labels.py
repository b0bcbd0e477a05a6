"""The labels and symbols for a turn that all renderings share."""

from __future__ import annotations

import re
import sys
from decimal import ROUND_HALF_UP, Decimal

from nbtool.blocks.argument_lines import omitted_arguments, short_arguments
from nbtool.blocks.display_limits import NOTICE_LIMIT, omitted_marker
from nbtool.blocks.protocol import CallBlock, CallState, DecisionData, Head, TablePreview, UsageData
from nbtool.blocks.sanitize import one_line
from nbtool.events import EndReason, Gate
from nbtool.text import count_of, shorten

CALL_STATE_LABELS: dict[CallState, tuple[str, str]] = {
    "writing": ("…", "being written"),
    "ready": ("○", "not started yet"),
    "waiting": ("◆", "waiting for a decision"),
    "running": ("●", "running"),
    "ok": ("✓", "done"),
    "error": ("✕", "failed"),
    "denied": ("⊘", "denied"),
    "withheld": ("⊘", "result withheld"),
    "not_found": ("✕", "no such tool"),
    "invalid": ("✕", "invalid arguments"),
    "timed_out": ("✕", "timed out"),
    "cancelled": ("■", "cancelled"),
    "stopped": ("■", "stopped by you"),
    "not_run": ("○", "not run"),
    "unknown": ("?", "outcome unknown"),
}
"""A symbol and a word for every state of a call; the state is never shown by color alone."""

TURN_STATUS_LABELS = {
    "running": "The turn is not finished.",
    "waiting": "The turn waits for a decision.",
    "completed": "",
    "cancelled": "Stopped before it was finished.",
    "error": "The turn failed.",
    "timeout": "The turn ran out of time.",
    "parked": "Parked: a call waits for a decision (see %chat approvals).",
}
"""Shown below a turn that is not completed."""

TURN_STATUS_WORDS = {"cancelled": "stopped", "timeout": "timed out"}
"""The words for a turn's status in a list, where they differ from the value of `Turn.status`."""

ADDED = "You added: {text}"
"""What the person added while the turn ran."""

RESULT_WAITS = "result waits for a decision"
"""The state of a call that has run, and whose result needs a decision."""

END_REASONS: dict[EndReason, str] = {
    "length": "cut off at the length limit",
    "refused": "refused by the model",
    "filtered": "stopped by the content filter",
    "broken_off": "broken off by the provider",
    "thinking_only": "thinking, but no answer",
    "provider_action": "stopped for an action that the provider asked for",
    "empty": "no final reply",
    "too_many_calls": "stopped at its calls",
    "rounds": "limit on rounds reached",
    "calls": "limit on tool calls reached",
    "tokens": "limit on tokens reached",
    "cost": "limit on cost reached",
    "seconds": "limit on seconds reached",
    "repetition": "stopped for repeating itself",
    "interrupted": "the kernel ended first",
}
"""Why a turn has no final answer, shortened for its footer."""

DECISION_SOURCES = {
    "button": "",
    "input": "",
    "expired": ": nobody answered in time",
    "policy": " without asking",
    "nobody": " without asking",
    "error": ": the approver failed",
    "remembered": " as remembered",
}
"""Shown after a verdict, by decision source; any other source is shown by name."""

REMEMBERED_SCOPES = {"call": ", and these arguments from now on", "tool": ", and the tool from now on"}
"""Shown after an approval that was to be remembered."""

REMEMBER_CHOICES = (
    ("", "Ask every time"),
    ("call", "Approve these arguments from now on"),
    ("tool", "Approve every call of {tool}, whatever its arguments"),
)
"""What an approval can hold for, the narrowest first: in this order a person chooses."""

REMEMBER_LABELS = {"": "", "call": " and remember these arguments", "tool": " every call"}
"""Follows *Approve* on the button, by what the approval will hold for."""

REMEMBER_TOOL_WARNING = (
    "This covers every later call of {tool}. A text that the model reads can then choose the arguments,"
    " and nobody is asked."
)
"""Shown before an approval is remembered for a whole tool."""

REMEMBER_CALL_INSTEAD = " Approving these arguments only is safer."
"""Follows that warning where an approval can be remembered for the arguments."""

REASK_REASONS = {
    "changed": "it had changed since it was shown",
    "unwatched": "it may have changed since it was shown",
    "invalid": "the edited arguments did not fit",
}
"""Why a decision was discarded, and approval was requested again."""

LONG_LINE = NOTICE_LIMIT + 64
"""Characters of a reason or a notice on one line, including a truncation marker."""

COST_UNKNOWN = "no price known"
"""Shown in place of a cost; the command says how to give the price of the model."""

TOOLS_NOT_PRICED = " without the provider's tools"
"""Follows a computed cost that lacks what the provider charges for searches and other tools that it ran."""

SENTENCE_END = re.compile(r"[.!?](?= )")

MIN_WAITED = 0.05
"""Seconds of waiting for the person from which on they are counted apart."""

TRUNCATED = "cut off here"
TRACEBACK = "Traceback: only you see it"
EDITED = "edited by you"
EDITED_ARGUMENTS = "Arguments, edited by you"


def call_line(block: CallBlock) -> str:
    """Describe a call in one line: symbol, name and arguments."""
    mark = omitted_marker(omitted_arguments(block["arguments"]) + block["more"].get("arguments", 0))
    called = f"{one_line(block['name'], 64)}({short_arguments(block['arguments'])})"
    return f"{CALL_STATE_LABELS[block['state']][0]} {called}{f' [{mark}]' if mark else ''}"


def call_facts(block: CallBlock) -> str:
    """Describe briefly how a call went: state, seconds, and decisions."""
    state_label = state_text(block)
    is_explained = block["state"] == "ok" or any(decided["verdict"] == block["state"] for decided in block["decisions"])
    facts = [] if is_explained else [state_label]
    if block["seconds"] is not None and block["started"] is not None:
        facts.append(format_seconds(block["seconds"]))
    effective = [decided for decided in block["decisions"] if "again" not in decided]
    facts += [_decision_fact(decision_data, is_result_asked=_waits_for_result(block)) for decision_data in effective]
    facts += (
        [EDITED]
        if "asked_arguments" in block and not any(decision_data["edited"] for decision_data in effective)
        else []
    )
    return " · ".join(facts)


def state_text(block: CallBlock) -> str:
    """Return the word for a call's state; for a call that waits, also what the decision is about."""
    return RESULT_WAITS if _waits_for_result(block) else CALL_STATE_LABELS[block["state"]][1]


def _waits_for_result(block: CallBlock) -> bool:
    question = block["question"]
    return block["state"] == "waiting" and question is not None and question["gate"] == "result"


def _decision_fact(decision: DecisionData, *, is_result_asked: bool) -> str:
    """Describe a decision briefly, and what it was about where another one is pending."""
    text = decision_text(decision["verdict"], decision["by"], edited=decision["edited"], gate=decision["gate"])
    text += _scope_text(decision)
    return f"call {text}" if is_result_asked and decision["gate"] == "run" else text


def decision_text(verdict: str, by: str, *, edited: bool = False, gate: Gate = "run") -> str:
    """Describe a decision briefly: the verdict, and its source unless it was a click or an answer here."""
    who = DECISION_SOURCES.get(by, f" by {one_line(by, 40)}")
    what = f"result {verdict}" if gate == "result" else verdict
    return f"{what}{' with your edit' if edited else ''}{who}"


def decision_line(decision: DecisionData) -> str:
    """Describe one decision in full."""
    what = "The call was" if decision["gate"] == "run" else "The result was"
    words = decision_text(decision["verdict"], decision["by"], edited=decision["edited"])
    if not_counted := decision.get("again"):
        problem = f": {long_line(not_counted['problem'])}" if not_counted["problem"] else ""
        return f"{what} {words}, and asked about again, since {REASK_REASONS[not_counted['reason']]}{problem}"
    reason = f": {long_line(decision['reason'])}" if decision["reason"] else ""
    return f"{what} {words}{_scope_text(decision)}{reason}"


def _scope_text(decision: DecisionData) -> str:
    return REMEMBERED_SCOPES.get(decision.get("remember", ""), "")


def reason_line(block: CallBlock) -> str:
    """Return the reason of an outcome, unless a decision or the result contains it."""
    shown_texts = {block["result"], *(decision["reason"] for decision in block["decisions"])}
    return "" if block["reason"] in shown_texts else long_line(block["reason"])


def unread_reason(block: CallBlock) -> str:
    """Return what the result does not contain of the reason of an outcome; for forms that do not list the decisions.

    The result of a denied call ends with the reason for the model, after which a person reads what can be done.
    """
    reason, result = block["reason"], block["result"].rstrip()
    if reason in result:
        return ""
    ends = (match.end() for match in SENTENCE_END.finditer(reason))
    read = max((end for end in ends if result.endswith(reason[:end])), default=0)
    return long_line(reason[read:].lstrip())


def long_line(text: str) -> str:
    """Return a text as one visible line; if truncated, with the number of omitted characters."""
    return shorten(one_line(text, sys.maxsize // 8), LONG_LINE)


def call_texts(block: CallBlock) -> dict[str, str]:
    """Return what a call's block says in words, besides its state: see `CallBlock`."""
    return {"line": short_arguments(block["arguments"]), "facts": call_facts(block)}


def head_texts(head: Head) -> dict[str, str]:
    """Return what a turn's head says in words: see `Head`."""
    why = f"model from {one_line(head['why'], 80)}" if head.get("why") else ""
    details = (count_of(head["round"], "round") if head["round"] else "", count_of(head["calls"], "call"), why)
    return {
        "footer": _join(*_ending(head), *_spent(head["usage"]), _duration(head)),
        "details": _join(*details),
        "spent": ", ".join(filter(None, _spent(head["usage"]))),
        "end": status_line(head),
    }


def footer_line(head: Head) -> str:
    """Describe a turn in one line of text: model, recording, rounds, calls, tokens, cost, seconds."""
    rounds = count_of(head["round"], "round") if head["round"] > 1 else ""
    calls = count_of(head["calls"], "call") if head["calls"] else ""
    return _join(*_ending(head), rounds, calls, *_spent(head["usage"]), _duration(head))


def _ending(head: Head) -> tuple[str, ...]:
    """Return the model, why it gave no final answer, and the recording."""
    reason = END_REASONS[head["end_reason"]] if "end_reason" in head else ""
    replayed = f"replayed from {one_line(head['replayed'], 40)}" if head.get("replayed") else ""
    return one_line(head["model"], 80), reason, replayed


def _spent(usage: UsageData) -> tuple[str, str]:
    tokens = usage["input_tokens"] + usage["output_tokens"]
    return count_of(tokens, "token") if tokens else "", format_cost(usage)


def _duration(head: Head) -> str:
    return turn_seconds(head["seconds"], head.get("waited", 0.0)) if head["seconds"] is not None else ""


def _join(*facts: str) -> str:
    return " · ".join(fact for fact in facts if fact)


def format_cost(usage: UsageData) -> str:
    """Format a cost in US dollars; an estimated, incomplete or unknown one is marked."""
    if usage["cost"] is None:
        return COST_UNKNOWN if usage.get("is_cost_unknown") else ""
    estimate = "about " if usage.get("is_cost_estimated") else ""
    return f"{estimate}${usage['cost']:.4f}{TOOLS_NOT_PRICED if usage.get('lacks_tool_cost') else ''}"


def status_line(head: Head) -> str:
    """Describe why a turn is not completed; empty for a completed one."""
    end = TURN_STATUS_LABELS[head["status"]]
    return end and (head["error"] or end)


def with_marker(text: str, omitted: int) -> str:
    """Append a truncation marker on its own line."""
    return f"{text}\n{omitted_marker(omitted)}" if omitted else text


def format_seconds(value: float) -> str:
    """Format a duration, rounded as `formatSeconds` of the page rounds it."""
    whole = int(value + 0.05)
    if whole >= 60:
        return f"{whole // 60} min {whole % 60} s"
    return f"{_round(value, '0.1')} s" if value >= 0.05 else f"{_round(value * 1000, '1')} ms"


def _round(value: float, step: str) -> Decimal:
    """Round a number as JavaScript's `toFixed` does: exactly, and a half upwards."""
    return Decimal(value).quantize(Decimal(step), ROUND_HALF_UP)


def turn_seconds(seconds: float, waited: float) -> str:
    """Format the duration of a turn; what it only waited for the person is counted apart."""
    own = format_seconds(max(0.0, seconds - waited))
    return f"{own} (+ {format_seconds(waited)} waiting for you)" if waited >= MIN_WAITED else own


def table_title(preview: TablePreview) -> str:
    """Return the title of a result's table with its number of rows; the same as `tableTitle` of ReferenceCard.tsx."""
    rows, more = len(preview["rows"]), preview.get("more_rows", 0)
    total = count_of(rows + more, "row")
    return f"The result, {rows:,} of {total}" if more else f"The result, {total}"

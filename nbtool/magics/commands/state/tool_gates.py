"""The gates of a tool in words, as `%chat tools` lists them."""

from __future__ import annotations

from nbtool.blocks.sanitize import one_line
from nbtool.tools.approval import ResultMode, RunMode
from nbtool.tools.calls.site_rules import rule_to_ask, rule_to_refuse
from nbtool.tools.tool import Tool

DECIDED_BY_TOOL = "by its arguments"
"""When a tool needs approval whose policy is a function of the arguments."""

NEVER_RUNS = "never runs, by the administrator's policy"
"""When a tool runs that the administrator's policy forbids."""

RUN_MODES: dict[RunMode, str] = {
    "auto": "runs without asking",
    "ask_first": "asks before its first call in a chat",
    "ask_once": "asks once for the same arguments",
    "ask_always": "asks every time",
}
"""When a tool needs approval, in words."""

RESULT_MODES: dict[ResultMode, str] = {
    "never": "",
    "on_error": "its errors ask before they are sent",
    "always": "its results ask before they are sent",
    "reference": "its results are sent by reference only",
}
"""What becomes of a tool's results, in words; empty if they are sent."""

RESULTS_DECIDED_BY_TOOL = "the tool decides when its results ask"
"""What becomes of the results of a tool whose policy for them is a function."""


def describe_gates(tool: Tool) -> str:
    """Return when a tool needs approval, what becomes of its results, and its description."""
    policy = tool.policy
    if rule_to_refuse(tool):
        return f"{NEVER_RUNS}; {one_line(tool.description, 80)}".removesuffix("; ")
    if rule_to_ask(tool):
        mode = f"{RUN_MODES['ask_always']}, by the administrator's policy"
    elif callable(policy.run):
        mode = DECIDED_BY_TOOL
    else:
        mode = RUN_MODES["ask_always" if policy.sensitive else policy.run]
    results = RESULTS_DECIDED_BY_TOOL if callable(policy.result) else RESULT_MODES[policy.result]
    return "; ".join(filter(None, (mode, results, one_line(tool.description, 80))))

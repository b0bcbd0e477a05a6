"""Tools that a system text tells of, for the model that takes none: read from the prompt, called in its words.

The request becomes one with native tools, which the planner reads as any other, and its calls are written as the
system text showed: a fence of the word that stands in the example, one JSON object in it.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from nbtool.practice.plan import Call, Plan
from nbtool.practice.request import message_text

TOOL_LIST_TAGS = ("<tools>\n", "\n</tools>")
"""What stands before and after the tools, a line of JSON each."""
FENCE = re.compile(r"\n```(call-[\w-]{1,100}|tool_call)\n")
"""The fence of the example below them."""
RESULT = re.compile(r'<tool_result call="\d+" name="[^"\n]*"[^<>\n]*>\n((?:[^<]|<(?!/?tool_result))*?)\n</tool_result>')
RESULTS_INTRODUCTION = re.compile(r"\AResults of your calls, as data:\n")
NO_CALL = "Answer now, in plain words, and call no tool."


@dataclass(frozen=True, slots=True)
class PromptedRequest:
    """A request as if its tools were native; `fence` is the word that opens a call, empty where none are told of."""

    body: Mapping[str, Any]
    fence: str = ""

    def render_plan(self, plan: Plan) -> Plan:
        """Give a reply as this request wants it: with its calls in the text, where its tools stand in the text."""
        if not self.fence or not plan.calls:
            return plan
        return replace(plan, text="\n".join([plan.text, *map(self._render_call, plan.calls)]).strip(), calls=())

    def _render_call(self, call: Call) -> str:
        return f'```{self.fence}\n{{"name": {json.dumps(call.name)}, "arguments": {call.arguments}}}\n```'


def parse_prompted(body: Mapping[str, Any]) -> PromptedRequest:
    """Read the tools, the calls and the results that stand in the texts of a request."""
    system = "\n".join(message_text(entry) for entry in body["messages"] if entry["role"] in ("system", "developer"))
    lines, fence = _read_tool_list(system)
    if body.get("tools") or not fence:
        return PromptedRequest(body)
    messages: list[dict[str, Any]] = []
    for message in body["messages"]:
        messages += _native(message, messages, fence)
    tools = [{"function": json.loads(line)} for line in lines]
    is_last = message_text(messages[-1]).endswith(NO_CALL)
    return PromptedRequest(
        {**body, "messages": messages, "tools": tools, "tool_choice": "none" if is_last else "auto"}, fence
    )


def _read_tool_list(system: str) -> tuple[list[str], str]:
    """Find the tools that a system text tells of, and the fence of its example; empty where it tells of none."""
    begin = system.find(TOOL_LIST_TAGS[0])
    end = system.find(TOOL_LIST_TAGS[1], begin) if begin >= 0 else -1
    fence = FENCE.search(system, end) if end >= 0 else None
    return (system[begin + len(TOOL_LIST_TAGS[0]) : end].splitlines(), fence[1]) if fence else ([], "")


def _native(message: dict[str, Any], before: list[dict[str, Any]], fence: str) -> list[dict[str, Any]]:
    text = message_text(message)
    if message["role"] == "assistant":
        block = re.compile(rf"```{re.escape(fence)}\n(.*?)\n```", re.DOTALL)
        calls = [_call(f"call_{len(before)}_{index}", call_text) for index, call_text in enumerate(block.findall(text))]
        return [{"role": "assistant", "content": block.sub("", text), "tool_calls": calls}] if calls else [message]
    if message["role"] == "user" and RESULTS_INTRODUCTION.match(text):
        calls = before[-1].get("tool_calls") or [] if before else []
        results = [
            {"role": "tool", "tool_call_id": call["id"], "content": html.unescape(result)}
            for call, result in zip(calls, RESULT.findall(text), strict=False)
        ]
        text_left = RESULT.sub("", RESULTS_INTRODUCTION.sub("", text)).strip()
        return [*results, {"role": "user", "content": text_left}] if text_left else results
    return [message]


def _call(call_id: str, text: str) -> dict[str, Any]:
    parsed = json.loads(text)
    function = {"name": parsed["name"], "arguments": json.dumps(parsed["arguments"], ensure_ascii=False)}
    return {"id": call_id, "type": "function", "function": function}

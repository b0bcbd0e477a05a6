"""Tools described in a system text, for the model without native tools: parsed from the prompt, called as text.

The request is converted to one with native tools, which is planned like any other, and its calls are written in the
format of the example: a fence with the info string of the example and one JSON object.
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
"""The delimiters of the tool list, which has one line of JSON per tool."""
FENCE = re.compile(r"\n```(call-[\w-]{1,100}|tool_call)\n")
"""The fence of the example below the list."""
RESULT = re.compile(r'<tool_result call="\d+" name="[^"\n]*"[^<>\n]*>\n((?:[^<]|<(?!/?tool_result))*?)\n</tool_result>')
RESULTS_INTRODUCTION = re.compile(r"\AResults of your calls, as data:\n")
NO_CALL = "Answer now, in plain words, and call no tool."


@dataclass(frozen=True, slots=True)
class PromptedRequest:
    """A request converted to native tools; `fence` is the info string of a call, empty without tools."""

    body: Mapping[str, Any]
    fence: str = ""

    def render_plan(self, plan: Plan) -> Plan:
        """Return a reply with its calls in the text, if the tools are in the text."""
        if not self.fence or not plan.calls:
            return plan
        return replace(plan, text="\n".join([plan.text, *map(self._render_call, plan.calls)]).strip(), calls=())

    def _render_call(self, call: Call) -> str:
        return f'```{self.fence}\n{{"name": {json.dumps(call.name)}, "arguments": {call.arguments}}}\n```'


def parse_prompted(body: Mapping[str, Any]) -> PromptedRequest:
    """Parse the tools, the calls and the results in the texts of a request."""
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
    """Return the tools that a system text describes, and the fence of its example; empty if it describes none."""
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

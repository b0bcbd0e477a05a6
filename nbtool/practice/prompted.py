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
from nbtool.practice.request import text_of

LIST = ("<tools>\n", "\n</tools>")
"""What stands before and after the tools, a line of JSON each."""
FENCE = re.compile(r"\n```(call-[\w-]{1,100}|tool_call)\n")
"""The fence of the example below them."""
RESULT = re.compile(r'<tool_result call="\d+" name="[^"\n]*"[^<>\n]*>\n((?:[^<]|<(?!/?tool_result))*?)\n</tool_result>')
INTRODUCED = re.compile(r"\AResults of your calls, as data:\n")
NO_CALL = "Answer now, in plain words, and call no tool."


@dataclass(frozen=True, slots=True)
class Told:
    """A request as if its tools were native; `fence` is the word that opens a call, empty where none are told of."""

    body: Mapping[str, Any]
    fence: str = ""

    def written(self, plan: Plan) -> Plan:
        """Give a reply as this request wants it: with its calls in the text, where its tools stand in the text."""
        if not self.fence or not plan.calls:
            return plan
        return replace(plan, text="\n".join([plan.text, *map(self._written, plan.calls)]).strip(), calls=())

    def _written(self, call: Call) -> str:
        return f'```{self.fence}\n{{"name": {json.dumps(call.name)}, "arguments": {call.arguments}}}\n```'


def told(body: Mapping[str, Any]) -> Told:
    """Read the tools, the calls and the results that stand in the texts of a request."""
    system = "\n".join(text_of(one) for one in body["messages"] if one["role"] in ("system", "developer"))
    lines, fence = _listed(system)
    if body.get("tools") or not fence:
        return Told(body)
    messages: list[dict[str, Any]] = []
    for message in body["messages"]:
        messages += _native(message, messages, fence)
    tools = [{"function": json.loads(line)} for line in lines]
    is_last = text_of(messages[-1]).endswith(NO_CALL)
    return Told({**body, "messages": messages, "tools": tools, "tool_choice": "none" if is_last else "auto"}, fence)


def _listed(system: str) -> tuple[list[str], str]:
    """Find the tools that a system text tells of, and the fence of its example; empty where it tells of none."""
    begin = system.find(LIST[0])
    end = system.find(LIST[1], begin) if begin >= 0 else -1
    fence = FENCE.search(system, end) if end >= 0 else None
    return (system[begin + len(LIST[0]) : end].splitlines(), fence[1]) if fence else ([], "")


def _native(message: dict[str, Any], before: list[dict[str, Any]], fence: str) -> list[dict[str, Any]]:
    text = text_of(message)
    if message["role"] == "assistant":
        block = re.compile(rf"```{re.escape(fence)}\n(.*?)\n```", re.DOTALL)
        calls = [_call(f"call_{len(before)}_{at}", written) for at, written in enumerate(block.findall(text))]
        return [{"role": "assistant", "content": block.sub("", text), "tool_calls": calls}] if calls else [message]
    if message["role"] == "user" and INTRODUCED.match(text):
        calls = before[-1].get("tool_calls") or [] if before else []
        results = [
            {"role": "tool", "tool_call_id": call["id"], "content": html.unescape(result)}
            for call, result in zip(calls, RESULT.findall(text), strict=False)
        ]
        said = RESULT.sub("", INTRODUCED.sub("", text)).strip()
        return [*results, {"role": "user", "content": said}] if said else results
    return [message]


def _call(call_id: str, written: str) -> dict[str, Any]:
    said = json.loads(written)
    function = {"name": said["name"], "arguments": json.dumps(said["arguments"], ensure_ascii=False)}
    return {"id": call_id, "type": "function", "function": function}

"""What each provider's documentation demands of a request, said as strictly as it can be read.

Each function takes the body of one request and raises AssertionError with one line that names the place. Real
servers forgive more; a body that passes here offends none of them. The rules come from
https://platform.openai.com/docs/api-reference/chat/create,
https://platform.openai.com/docs/api-reference/responses/create, https://platform.openai.com/docs/guides/reasoning,
https://docs.anthropic.com/en/api/messages and
https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use,
https://ai.google.dev/api/generate-content and https://ai.google.dev/gemini-api/docs/thought-signatures.
"""

from __future__ import annotations

import json
import re
from typing import Any

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ANTHROPIC_ID = re.compile(r"[a-zA-Z0-9_-]+")
MAX_CACHE_MARKS = 4

Body = dict[str, Any]


def check_chat(body: Body) -> None:
    """Check a request of Chat Completions."""
    messages = body.get("messages")
    _require(isinstance(messages, list) and messages, "messages: is empty")
    _encodable(body)
    _tool_names([tool["function"]["name"] for tool in body.get("tools", [])])
    _chat_choice(body)
    waiting: list[str] = []  # calls of the last assistant message that have no answer yet
    for at, message in enumerate(messages):
        role = message.get("role")
        if role == "tool":
            _require(
                message.get("tool_call_id") in waiting, f"messages[{at}]: answers no call that waits directly before"
            )
            _require(isinstance(message.get("content"), str | list), f"messages[{at}]: a tool message has no content")
            waiting.remove(message["tool_call_id"])
            continue
        _require(not waiting, f"messages[{at}]: comes before the answer to {waiting}")
        if role == "assistant":
            waiting = _chat_calls(at, message)
        else:
            _require(role in ("system", "developer", "user"), f"messages[{at}]: has the role {role!r}")
            _require(message.get("content"), f"messages[{at}]: is empty")
    _require(not waiting, f"messages: end before the answer to {waiting}")


def _chat_choice(body: Body) -> None:
    choice = body.get("tool_choice")
    _require(choice is None or body.get("tools"), "tool_choice: stands without tools")
    _require("tools" not in body or body["tools"], "tools: is empty")
    _require(not body.get("stream_options") or body.get("stream"), "stream_options: stands without stream")


def _chat_calls(at: int, message: Body) -> list[str]:
    calls = message.get("tool_calls", [])
    _require("tool_calls" not in message or calls, f"messages[{at}].tool_calls: is empty")
    _require(calls or message.get("content"), f"messages[{at}]: has neither content nor calls")
    _require(message.get("content", "-") not in (None, ""), f"messages[{at}].content: is null or empty")
    for call in calls:
        _require(call.get("type") in ("function", "custom"), f"messages[{at}]: a call has no type")
        if function := call.get("function"):
            name = function.get("name", "")
            _require(NAME.fullmatch(name), f"messages[{at}]: a call has the name {name!r}")
            _require(
                _is_object(function.get("arguments")), f"messages[{at}]: the arguments of a call are no JSON object"
            )
    ids = [call.get("id") for call in calls]
    _require(all(ids) and len(set(ids)) == len(ids), f"messages[{at}]: its calls have no ids of their own: {ids}")
    return ids


def check_responses(body: Body) -> None:
    """Check a request of Responses that asks nothing of the server's memory."""
    items = body.get("input")
    _require(isinstance(items, list) and items, "input: is empty")
    _encodable(body)
    _require(body.get("store") is False, "store: is not false")
    _require("previous_response_id" not in body, "previous_response_id: needs a server that remembers")
    tools = [tool for tool in body.get("tools", []) if tool.get("type") == "function"]
    _tool_names([tool["name"] for tool in tools])
    for tool in tools:
        _require(tool.get("parameters", {}).get("type") == "object", f"tools: {tool['name']} takes no object")
        _require(tool.get("strict") is False, f"tools: {tool['name']} is strict by default")
    _require("tool_choice" not in body or body.get("tools"), "tool_choice: stands without tools")
    for at, item in enumerate(items):
        _responses_item(f"input[{at}]", item)
    _responses_reasoning(items)
    _responses_pairs(items)


def _responses_item(place: str, item: Body) -> None:
    _require(item.get("type") or item.get("role"), f"{place}: is neither an item nor a message")
    empty = [name for name, value in item.items() if value is None]
    _require(not empty, f"{place}: {empty} are null")
    if role := item.get("role"):
        content = item.get("content")
        _require(role in ("user", "assistant", "system", "developer"), f"{place}: has the role {role!r}")
        _require(content, f"{place}: is empty")
        wanted = ("output_text", "refusal") if role == "assistant" else ("input_text", "input_image", "input_file")
        for part in content if isinstance(content, list) else []:
            _require(part.get("type") in wanted, f"{place}: a part of {role} is of type {part.get('type')!r}")
    if item.get("type") == "function_call":
        _require(NAME.fullmatch(item.get("name", "")), f"{place}: has the name {item.get('name')!r}")
        _require(_is_object(item.get("arguments")), f"{place}: its arguments are no JSON object")
        _require(0 < len(item.get("call_id", "")) <= 64, f"{place}: its call_id has no length from 1 to 64")


def _responses_reasoning(items: list[Body]) -> None:
    """Reasoning stands directly before what it led to, and carries itself."""
    for at, item in enumerate(items):
        if item.get("type") != "reasoning":
            continue
        _require(isinstance(item.get("summary"), list), f"input[{at}]: reasoning has no summary")
        carried = item.get("encrypted_content") or item.get("content")
        _require(carried, f"input[{at}]: reasoning is only a reference")
        following = next((later for later in items[at + 1 :] if later.get("type") != "reasoning"), {})
        led_to = following.get("role") == "assistant" or ("role" not in following and "type" in following)
        _require(
            led_to and not following["type"].endswith("_output") if "type" in following else led_to,
            f"input[{at}]: reasoning is not followed by what it led to",
        )


def _responses_pairs(items: list[Body]) -> None:
    """Every call has one output of its own kind, before anybody speaks again."""
    outputs = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
    waiting: dict[str, str] = {}
    known: set[str] = set()
    for at, item in enumerate(items):
        kind, call_id = item.get("type"), item.get("call_id", "")
        if kind in outputs:
            _require(call_id not in known, f"input[{at}]: the call_id {call_id!r} was used before")
            waiting[call_id] = outputs[kind]
            known.add(call_id)
        elif kind in outputs.values():
            _require(waiting.pop(call_id, None) == kind, f"input[{at}]: answers no call that waits for it")
            _require(isinstance(item.get("output"), str | list), f"input[{at}]: has no output")
        elif item.get("role") == "user":
            _require(not waiting, f"input[{at}]: comes before the output of {sorted(waiting)}")
    _require(not waiting, f"input: ends before the output of {sorted(waiting)}")


def check_anthropic(body: Body) -> None:
    """Check a request of Anthropic Messages."""
    messages = body.get("messages")
    _require(isinstance(messages, list) and messages, "messages: is empty")
    _encodable(body)
    _require(isinstance(body.get("max_tokens"), int) and body["max_tokens"] > 0, "max_tokens: is missing")
    _require(messages[0].get("role") == "user", "messages[0]: is not the user's")
    tools = [tool for tool in body.get("tools", []) if "input_schema" in tool]
    _tool_names([tool["name"] for tool in tools])
    for tool in tools:
        _require(tool["input_schema"].get("type") == "object", f"tools: {tool['name']} takes no object")
    _require("tool_choice" not in body or body.get("tools"), "tool_choice: stands without tools")
    _anthropic_blocks("system", body.get("system", []) if isinstance(body.get("system"), list) else [])
    waiting: list[str] = []
    known: set[str] = set()
    for at, message in enumerate(messages):
        place, content = f"messages[{at}]", message.get("content")
        _require(message.get("role") == ("assistant" if at % 2 else "user"), f"{place}: breaks the alternation")
        _require(isinstance(content, list) and content, f"{place}: is empty")
        _anthropic_blocks(place, content)
        if message["role"] == "user":
            _anthropic_results(place, content, waiting)
            waiting = []
        else:
            _require(content[-1]["type"] not in ("thinking", "redacted_thinking"), f"{place}: ends in thinking")
            waiting = _anthropic_calls(place, content, known)
            _require(not waiting or body.get("tools"), f"{place}: calls a tool, and the request defines none")
    _require(not waiting, f"messages: end before the results of {waiting}")
    marks = len(re.findall(r'"cache_control"', json.dumps(body)))
    _require(marks <= MAX_CACHE_MARKS, f"cache_control: stands {marks} times")


def _anthropic_blocks(place: str, blocks: list[Body]) -> None:
    for block in blocks:
        kind = block.get("type")
        _require(kind, f"{place}: a block has no type")
        if kind == "text":
            _require(block.get("text", "").strip(), f"{place}: a text is empty")
        if kind == "thinking":
            _require(isinstance(block.get("thinking"), str), f"{place}: thinking has no text")
            _require(block.get("signature"), f"{place}: thinking is not signed")
        if kind == "redacted_thinking":
            _require(block.get("data"), f"{place}: redacted thinking has no data")
        if kind in ("thinking", "redacted_thinking"):
            _require("cache_control" not in block, f"{place}: thinking bears a cache mark")
        if kind == "tool_result" and isinstance(block.get("content"), list):
            _anthropic_blocks(f"{place}.tool_result", block["content"])


def _anthropic_results(place: str, content: list[Body], waiting: list[str]) -> None:
    given = [block.get("tool_use_id") for block in content if block["type"] == "tool_result"]
    head = [block["type"] for block in content[: len(given)]]
    _require(set(head) <= {"tool_result"}, f"{place}: something stands before the results")
    _require(sorted(given) == sorted(waiting), f"{place}: has results for {given}, and {waiting} wait")


def _anthropic_calls(place: str, content: list[Body], known: set[str]) -> list[str]:
    calls = [block for block in content if block["type"] == "tool_use"]
    for call in calls:
        call_id = call.get("id", "")
        _require(ANTHROPIC_ID.fullmatch(call_id), f"{place}: a call has the id {call_id!r}")
        _require(call_id not in known, f"{place}: the id {call_id!r} was used before")
        _require(NAME.fullmatch(call.get("name", "")), f"{place}: a call has the name {call.get('name')!r}")
        _require(isinstance(call.get("input"), dict), f"{place}: the input of a call is no object")
        known.add(call_id)
    return [call["id"] for call in calls]


def check_gemini(body: Body) -> None:
    """Check a request of generateContent to a model that demands its signatures back."""
    contents = body.get("contents")
    _require(isinstance(contents, list) and contents, "contents: is empty")
    _encodable(body)
    _require(not {"model", "stream", "messages"} & body.keys(), "body: holds a field of another dialect")
    _require(contents[0].get("role") == "user", "contents[0]: is not the user's")
    declared = [spec for tool in body.get("tools", []) for spec in tool.get("functionDeclarations", [])]
    _tool_names([spec["name"] for spec in declared])
    for spec in declared:
        schema = spec.get("parametersJsonSchema", {"type": "object"})
        _require(schema.get("type") == "object", f"tools: {spec['name']} takes no object")
    _require("toolConfig" not in body or body.get("tools"), "toolConfig: stands without tools")
    for part in body.get("systemInstruction", {"parts": [{"text": "-"}]})["parts"]:
        _require(part.get("text", "").strip(), "systemInstruction: a text is empty")
    waiting: list[Body] = []
    for at, content in enumerate(contents):
        place, parts = f"contents[{at}]", content.get("parts")
        _require(content.get("role") == ("model" if at % 2 else "user"), f"{place}: breaks the alternation")
        _require(isinstance(parts, list) and parts, f"{place}: is empty")
        for part in parts:
            _gemini_part(place, part)
        given = [part["functionResponse"] for part in parts if "functionResponse" in part]
        _require(
            [(one["name"], one.get("id")) for one in given] == [(one["name"], one.get("id")) for one in waiting],
            f"{place}: answers {given}, and {waiting} wait",
        )
        waiting = [part["functionCall"] for part in parts if "functionCall" in part]
        first = next((part for part in parts if "functionCall" in part), {"thoughtSignature": "-"})
        _require(first.get("thoughtSignature"), f"{place}: its first call is not signed")
    _require(not waiting, f"contents: end before the outcomes of {waiting}")


def _gemini_part(place: str, part: Body) -> None:
    kinds = [name for name in part if name not in ("thought", "thoughtSignature")]
    _require(len(kinds) == 1, f"{place}: a part holds {kinds}")
    if "text" in part:
        _require(part["text"] or part.get("thoughtSignature"), f"{place}: a text is empty")
    if "functionCall" in part:
        call = part["functionCall"]
        _require(set(call) <= {"name", "args", "id"}, f"{place}: a call holds {sorted(call)}")
        _require(isinstance(call.get("args"), dict), f"{place}: the arguments of a call are no object")
        _require(call.get("name"), f"{place}: a call has no name")
        _require(call.get("id", "-"), f"{place}: a call has an empty id")
    if "functionResponse" in part:
        response = part["functionResponse"]
        _require(isinstance(response.get("response"), dict), f"{place}: an outcome is no object")


def _tool_names(names: list[str]) -> None:
    for name in names:
        _require(NAME.fullmatch(name), f"tools: the name {name!r} does not fit")
    _require(len(set(names)) == len(names), f"tools: a name stands twice in {names}")


def _encodable(body: Body) -> None:
    """A body is JSON and UTF-8: no NaN, no lone surrogate, nothing that is not a plain value."""
    try:
        json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError) as error:
        raise AssertionError(f"body: cannot be sent: {error}") from None


def _is_object(arguments: Any) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (TypeError, ValueError):
        return False


def _require(holds: object, complaint: str) -> None:
    if not holds:
        raise AssertionError(complaint)

"""Make a server's answers such that one malformed part does not cost the whole answer.

The package `mcp` refuses an answer as a whole, although a call has run, or a hundred tools are listed beside one that
is wrong. So an answer is reduced, part by part, to what the package needs. What the server sent is in the metadata of
the answer, where the catalog reads it: the entries of a list, and structured content.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from nbtool.tools.mcp.catalog.entries import LISTED
from nbtool.tools.mcp.catalog.result_content import STRUCTURED

TASK = "nbtool/task"
"""Where in the metadata of an answer the task is that a call has become by the protocol of 2025-11-25."""

UNKNOWN_CONTENT = "[Content in a form that is not of MCP] {content}"

LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
"""The field with the entries of a list, by method."""

_CONTENT = {"text": ("text",), "image": ("data", "mimeType"), "audio": ("data", "mimeType"), "resource_link": ("uri",)}
"""The fields that content of a type needs, all of them texts."""

_TEXT_FIELDS = ("text", "data", "mimeType", "uri", "name", "title", "description")

_OF_CACHE = {"resultType": "complete", "cacheScope": "private", "ttlMs": 0}
"""Fields that the newest protocol requires, and that nobody here reads."""

Json = dict[str, Any]


def repair_answer(method: str, result: Json) -> Json:
    """Return the answer to a request of a method, in a form that the package accepts."""
    if key := LISTS.get(method):
        return _repair_listing(key, result)
    repair = _REPAIRS.get(method)
    return repair(result) if repair and not _is_unfinished(result) else result


def _is_unfinished(result: Json) -> bool:
    """Whether a server needs input first, or answers a call later, by a task."""
    return result.get("resultType") in ("input_required", "task") or "inputRequests" in result


def _repair_listing(key: str, result: Json) -> Json:
    given, cursor = result.get(key), result.get("nextCursor")
    entries = _listed_tools(given) if key == "tools" and isinstance(given, list) else []
    following = {"nextCursor": cursor} if isinstance(cursor, str) else {}
    return {**_OF_CACHE, key: entries, **following, "_meta": {LISTED: given}}


def _listed_tools(given: Iterable[Any]) -> list[Json]:
    """Return the tools for the package, which reads of them where arguments stand in headers."""
    named = {tool["name"]: tool for tool in given if isinstance(tool, dict) and isinstance(tool.get("name"), str)}
    return [{"name": name, "inputSchema": _header_schema(tool.get("inputSchema"))} for name, tool in named.items()]


def _header_schema(schema: Any) -> Json:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    known = properties if isinstance(properties, dict) else {}
    return {
        "type": "object",
        "properties": {name: record for name, record in known.items() if isinstance(record, dict)},
    }


def _repair_call(result: Json) -> Json:
    given = result.get("content")
    blocks = given if isinstance(given, list) else [] if given is None else [given]
    structured = {STRUCTURED: result["structuredContent"]} if "structuredContent" in result else {}
    if given is None and isinstance(result.get("task"), dict):
        structured = {TASK: result["task"]}
    content = [repair_block(block) for block in blocks]
    return {"resultType": "complete", "content": content, "isError": bool(result.get("isError")), "_meta": structured}


def repair_block(block: Any) -> Json:
    """Return one block of content with the fields that are used; what is none becomes a text of what came."""
    if isinstance(block, str):
        return {"type": "text", "text": block}
    if isinstance(block, dict):
        kind = block.get("type")
        resource = block.get("resource") if kind == "resource" else None
        if isinstance(resource, dict) and (contents := _resource_contents(resource)):
            return {"type": "resource", "resource": contents}
        if isinstance(kind, str) and kind in _CONTENT and _has_texts(block, _CONTENT[kind]):
            fallback = {"name": block["uri"]} if kind == "resource_link" else {}
            return {"type": kind, **fallback, **_texts_of(block, _TEXT_FIELDS)}
    return {"type": "text", "text": UNKNOWN_CONTENT.format(content=json.dumps(block, ensure_ascii=False))}


def _has_texts(given: Json, keys: Iterable[str]) -> bool:
    return all(isinstance(given.get(key), str) for key in keys)


def _texts_of(given: Json, keys: Iterable[str]) -> Json:
    return {key: given[key] for key in keys if isinstance(given.get(key), str)}


def _resource_contents(given: Json) -> Json | None:
    """Return the contents of a resource; None if there are none."""
    if not (_has_texts(given, ("text",)) or _has_texts(given, ("blob",))):
        return None
    key = "text" if _has_texts(given, ("text",)) else "blob"
    return {"uri": "", **_texts_of(given, ("uri", "mimeType", key))}


def _repair_resource(result: Json) -> Json:
    given = result.get("contents")
    contents = [
        (isinstance(item, dict) and _resource_contents(item)) or {"uri": "", "text": repair_block(item)["text"]}
        for item in (given if isinstance(given, list) else [])
    ]
    return {**_OF_CACHE, "contents": contents}


def _repair_prompt(result: Json) -> Json:
    given = result.get("messages")
    messages = []
    for message in given if isinstance(given, list) else []:
        is_message = isinstance(message, dict) and "content" in message
        content, role = (message["content"], message.get("role")) if is_message else (message, "")
        for block in content if isinstance(content, list) else [content]:
            messages.append({"role": role if role in ("user", "assistant") else "user", "content": repair_block(block)})
    return {"resultType": "complete", "messages": messages}


def _repair_start(result: Json) -> Json:
    """Return the answer to the first request, with what a server says of itself if it is of the right kind."""
    repaired = dict(result)
    about = result.get("serverInfo")
    if about is not None or "protocolVersion" in result:
        texts = _texts_of(about, ("name", "version")) if isinstance(about, dict) else {}
        repaired["serverInfo"] = {"name": "", "version": "", **texts}
    offered = result.get("capabilities")
    capabilities = offered if isinstance(offered, dict) else {}
    repaired["capabilities"] = {
        name: _flags(capability)
        for name, capability in capabilities.items()
        if capability or isinstance(capability, dict)
    }
    if not isinstance(result.get("instructions", ""), str):
        del repaired["instructions"]
    return repaired


def _flags(given: Any) -> Json:
    return (
        {name: item for name, item in given.items() if isinstance(item, bool | dict)} if isinstance(given, dict) else {}
    )


_REPAIRS: dict[str, Callable[[Json], Json]] = {
    "tools/call": _repair_call,
    "tasks/result": _repair_call,
    "prompts/get": _repair_prompt,
    "resources/read": _repair_resource,
    "initialize": _repair_start,
    "server/discover": _repair_start,
}

"""Tools that ran at the provider, and the sources of a message, in the items of a Responses reply.

See https://platform.openai.com/docs/api-reference/responses/object.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbtool.call_arguments import parse_arguments
from nbtool.events import StreamNotice
from nbtool.messages import Citation, Link, ProviderCall
from nbtool.text import shorten
from nbtool.wire.dialects.provider_parts import cited_passage, input_text, unknown_part
from nbtool.wire.dialects.responses.output_items import is_at_provider, is_x_search

Item = dict[str, Any]

MAX_LABEL, MAX_ERROR = 80, 300
"""Maximum characters of a server's name and of its error in a notice."""


def provider_parts(item: Item) -> Sequence[ProviderCall | Citation]:
    """Return what an item of the reply says about tools of the provider; empty for all other items."""
    kind = _text(item, "type")
    if kind == "message":
        return [citation for part in _objects(item, "content") for citation in _citations(part)]
    if is_x_search(item):
        return [ProviderCall("x_search", _x_query(item))]
    if kind in _CALLS:
        return [call for call in [_CALLS[kind](item)] if call]
    unknown = None if kind in _OTHERS else unknown_part(kind, item)
    return [unknown] if unknown else []


def _citations(part: Item) -> list[Citation]:
    """Return the annotations of a text; those of files have a name and no address."""
    citations: list[Citation] = []
    text = _text(part, "text")
    for annotation in _objects(part, "annotations"):
        url = _text(annotation, "url")
        title = _text(annotation, "title") or _text(annotation, "filename")
        if not title and _text(annotation, "type") == "file_citation":  # a `file_path` is a result, and no source
            title = _text(annotation, "file_id")
        if url or title:
            citations.append(Citation(Link(url, title), _passage(text, annotation)))
    return citations


def _passage(text: str, annotation: Item) -> str:
    """Return the passage that an annotation is for."""
    start, end = annotation.get("start_index"), annotation.get("end_index")
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(text)):
        return ""
    return cited_passage(text, start, end)


def _search(item: Item) -> ProviderCall:
    action = item.get("action")
    action = action if isinstance(action, dict) else {}
    queries = [query for query in _list(action, "queries") if isinstance(query, str)]
    text = "\n".join(queries) or _text(action, "query") or _text(action, "pattern") or _text(action, "url")
    sources = _objects(action, "sources")
    links = tuple(Link(url, _text(source, "title")) for source in sources if (url := _text(source, "url")))
    return ProviderCall("web_search", text, links=links)


def _x_query(item: Item) -> str:
    """Return the query of a search of X, or its whole input if that is no JSON object with one."""
    text = _text(item, "input")
    arguments, _ = parse_arguments(text)
    return _text(arguments or {}, "query") or text


def _file_search(item: Item) -> ProviderCall:
    queries = [query for query in _list(item, "queries") if isinstance(query, str)]
    names = [name for result in _objects(item, "results") if (name := _text(result, "filename"))]
    return ProviderCall("file_search", "\n".join(queries), links=tuple(Link("", name) for name in names))


def _code(item: Item) -> ProviderCall:
    outputs = [_text(output, "logs") or _text(output, "url") for output in _objects(item, "outputs")]
    return ProviderCall("code_interpreter", _text(item, "code"), "\n".join(filter(None, outputs)))


def _mcp(item: Item) -> ProviderCall:
    name = ".".join(filter(None, (_text(item, "server_label"), _text(item, "name"))))
    output = "\n".join(filter(None, (_text(item, "output"), error_text(item.get("error")))))
    return ProviderCall(name or "mcp", _text(item, "arguments"), output)


def error_text(error: Any) -> str:
    """Return the error of a tool of the provider: a text, or an object with a code, a message and contents."""
    if not isinstance(error, dict):
        return error if isinstance(error, str) else ""
    content = error.get("content")
    texts = [_text(part, "text") for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    message = _text(error, "message") or "\n".join(filter(None, texts)) or _text(error, "type")
    return f"{message} (code {error['code']})" if isinstance(error.get("code"), int | str) else message


def item_notice(item: Item) -> StreamNotice | None:
    """Return the failure of a server of tools at the provider, of which a reply holds nothing else."""
    if item.get("type") != "mcp_list_tools" or not (error := error_text(item.get("error"))):
        return None
    server, reason = shorten(_text(item, "server_label"), MAX_LABEL), shorten(error, MAX_ERROR)
    return StreamNotice(f"The MCP server {server!r} at the provider gave no tools: {reason}", "warning")


def _tool_search(item: Item) -> ProviderCall | None:
    return ProviderCall("tool_search", input_or_text(item.get("arguments"))) if is_at_provider(item) else None


def input_or_text(arguments: Any) -> str:
    """Return arguments as text."""
    return arguments if isinstance(arguments, str) else input_text(arguments)


def _image(item: Item) -> ProviderCall | None:
    prompt = _text(item, "revised_prompt") or _text(item, "prompt")
    return ProviderCall("image_generation", prompt) if prompt else None


def _shell(item: Item) -> ProviderCall | None:
    if not is_at_provider(item):
        return None  # the client would run it
    action = item.get("action")
    commands = _list(action, "commands") if isinstance(action, dict) else []
    return ProviderCall("shell", "\n".join(map(str, commands)))


def _shell_output(item: Item) -> ProviderCall:
    texts = [_text(output, name) for output in _objects(item, "output") for name in ("stdout", "stderr")]
    return ProviderCall("shell", output="\n".join(filter(None, texts)) or _text(item, "output"))


def _program(item: Item) -> ProviderCall:
    output = item.get("output") or item.get("result")
    return ProviderCall("program", _text(item, "code"), output if isinstance(output, str) else "")


_CALLS: dict[str, Callable[[Item], ProviderCall | None]] = {
    "web_search_call": _search,
    "file_search_call": _file_search,
    "code_interpreter_call": _code,
    "mcp_call": _mcp,
    "tool_search_call": _tool_search,
    "image_generation_call": _image,
    "shell_call": _shell,
    "shell_call_output": _shell_output,
    "program": _program,
    "program_output": _program,
}
"""The items of tools that the provider ran."""

_OTHERS = frozenset({
    "", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
    "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "computer_call", "computer_call_output",
    "local_shell_call", "local_shell_call_output", "apply_patch_call", "apply_patch_call_output",
    "tool_search_output", "additional_tools", "item_reference",
})  # fmt: skip
"""The items that are read elsewhere, or that list tools; all others are shown as they are."""


def _list(value: Item, name: str) -> list[Any]:
    items = value.get(name)
    return items if isinstance(items, list) else []


def _objects(value: Item, name: str) -> list[Item]:
    return [item for item in _list(value, name) if isinstance(item, dict)]


def _text(value: Item, name: str) -> str:
    text = value.get(name)
    return text if isinstance(text, str) else ""

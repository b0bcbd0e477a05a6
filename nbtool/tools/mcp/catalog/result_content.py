"""Convert a server's result to a Python value: data, text and media, without duplicates.

A result is checked against the schema that its server announced; the call has run, so that nothing is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from nbtool.errors import ToolFailed
from nbtool.messages import Media
from nbtool.text import leaves
from nbtool.tools.mcp.catalog.resources import RemoteResource, as_media, as_resource, resource_value

if TYPE_CHECKING:
    from mcp.types import CallToolResult, ContentBlock

from nbtool.json_schema import UnfitSchema, normalize
from nbtool.text import shorten
from nbtool.tools.schema.json_schema import drop_keyword
from nbtool.tools.values.sanitize import single_line

MAX_PROBLEM = 300
"""Maximum number of characters of what is wrong with a result."""


def mismatch(data: Any, schema: dict[str, Any]) -> str:
    """Return why structured content is not what a schema announces, in one line; empty if it is, or nobody can tell.

    Patterns are not checked, since one can take for ever, nor what refers to other documents.
    """
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # noqa: PLC0415 - loaded with the first server
    from jsonschema.exceptions import best_match  # type: ignore[import-untyped]  # noqa: PLC0415 - the same

    if data is None:
        return "it has no structured content"
    try:
        checked = normalize(drop_keyword(drop_keyword(schema, "pattern"), "patternProperties"), renames=False).schema
        error = best_match(Draft202012Validator(checked).iter_errors(data))
    except (UnfitSchema, RecursionError):
        return ""
    if error is None:
        return ""
    where = "".join(f"[{step!r}]" for step in error.absolute_path)
    return shorten(single_line(f"{where}: {error.message}".removeprefix(": ")), MAX_PROBLEM)


STRUCTURED = "nbtool/structured"
"""The key of the structured content of a result, as the server sent it, in the metadata of the result."""

MISMATCH = "[nbtool: The tool ran. Its result is not what the server announced: {problem}.]"

_WORD = re.compile(r"\w+")
_ESCAPE = re.compile(r"\\.")


def result_value(result: CallToolResult, server: str, output_schema: dict[str, Any] | None = None) -> Any:
    """Return a tool's result; a single item as itself, several as a list.

    Content that is in both the text and the structured content is returned once, in the form with more information:
    data rather than the same as text, and a text rather than an object with only that text; if neither covers the
    other, both are returned. Structured content that repeats an image or a sound is omitted. A link to a resource is an
    object, which can be read; it is not fetched. A result that is not what the server announced is returned with a
    line that says so.

    Raises:
        ToolFailed: the server reports that the call failed, with its own message.
    """
    data = (result.meta or {}).get(STRUCTURED, result.structured_content)
    value = _merged_content(result, data, server)
    if result.is_error:
        raise ToolFailed(_as_text(value) or "The tool failed without a message.")
    if output_schema is None or not (problem := mismatch(data, output_schema)):
        return value
    note = MISMATCH.format(problem=problem)
    if value is None or isinstance(value, str):
        return f"{value or ''}\n\n{note}".lstrip()
    has_parts = isinstance(value, list) and value is not unwrap_result(data)
    return [*value, note] if has_parts else [value, note]


def _as_text(value: Any) -> str:
    """Return a failure's content as text."""
    parts = value if isinstance(value, list) else [] if value is None else [value]
    texts = [json.dumps(part, ensure_ascii=False) if isinstance(part, dict | list) else str(part) for part in parts]
    return "\n".join(texts).strip()


def _merged_content(result: CallToolResult, data: Any, server: str) -> Any:
    parts: list[Any] = [block_value(block, server) for block in result.content]
    texts = [part for part in parts if isinstance(part, str)]
    media = [part for part in parts if isinstance(part, Media)]
    links = [part for part in parts if isinstance(part, RemoteResource)]
    if data is None or (media and _is_repeated(data, result.content)):
        value = parts if media or links else ["\n".join(texts)] if texts else []
    elif media:
        value = [*parts, unwrap_result(data)] if _merge_texts(texts, data) != "text" else parts
    else:
        merged = {
            "data": [unwrap_result(data)],
            "text": ["\n".join(texts)],
            "both": ["\n".join(texts), unwrap_result(data)],
        }[_merge_texts(texts, data)]
        value = [*merged, *links]
    return value[0] if len(value) == 1 else value or None


def unwrap_result(data: Any) -> Any:
    """Return structured content without the wrapper object that SDKs add to other values."""
    return data["result"] if isinstance(data, dict) and list(data) == ["result"] else data


def _merge_texts(texts: list[str], data: Any) -> Literal["data", "text", "both"]:
    """Return which of the two covers the other."""
    text, parsed = "\n".join(texts).strip(), unwrap_result(data)
    if not text or _is_json_of(text, data, parsed) or [_json(single_text) for single_text in texts] == parsed:
        return "data"
    values = list(leaves(parsed))
    if isinstance(parsed, dict) and all(isinstance(value, str) and value.strip() == text for value in values):
        return "text"
    words = _word_set(text)
    if words <= _word_set(_ESCAPE.sub(" ", json.dumps(parsed, ensure_ascii=False))):
        return "data"
    return "text" if all(_word_set(str(value)) <= words for value in values) else "both"


def _word_set(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _is_json_of(text: str, *values: Any) -> bool:
    parsed = _json(text)
    return any(parsed == value or text == str(value) for value in values)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _is_repeated(data: Any, content: Sequence[ContentBlock]) -> bool:
    """Whether structured content contains the bytes of an image or a sound beside it."""
    values = {value for value in leaves(data) if isinstance(value, str)}
    return any(getattr(block, "data", None) in values for block in content)


def block_value(block: ContentBlock, server: str) -> str | Media | RemoteResource:
    """Return one content block of a server; a link is not fetched."""
    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            return as_media(block.data, block.mime_type, "")
        case "resource_link":
            return as_resource(server, block.model_dump(by_alias=True, mode="json"))
        case "resource":  # pragma: no branch - the protocol has no other block
            return resource_value(block.resource)

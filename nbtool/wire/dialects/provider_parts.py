"""What the dialects have in common for the parts of a reply that tools of the provider made, and for citations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nbtool.messages import ProviderCall
from nbtool.text import left_out, shorten

MAX_UNKNOWN = 4_000
"""Maximum length of the contents of a part of unknown kind, in characters."""

_NO_CONTENT = frozenset({"type", "id", "call_id", "status", "index", "caller", "container_id", "fingerprint"})

MAX_PASSAGE = 500
"""Maximum length of the passage of a citation, in characters: each of thousands may name the whole text."""


def cited_passage(text: str, start: int = 0, end: int | None = None) -> str:
    """Return the passage of a text that a citation is for, truncated with a note."""
    length = (len(text) if end is None else end) - start
    excerpt = text[start : start + min(length, MAX_PASSAGE)]
    return f"{excerpt}[{left_out(length - MAX_PASSAGE)}]" if length > MAX_PASSAGE else excerpt


def input_text(values: Any) -> str:
    """Return the query, the address or the code that a tool got if it is all of its input, else its input as JSON."""
    if not isinstance(values, dict):
        return ""
    texts = [value for value in values.values() if isinstance(value, str) and value]
    only = next((values[name] for name in ("query", "url", "code", "command") if values.get(name)), None)
    if isinstance(only, str) and len(texts) == 1:
        return only
    return json.dumps(values, ensure_ascii=False) if values else ""


def unknown_part(kind: str, part: Mapping[str, Any]) -> ProviderCall | None:
    """Return a part of a reply of unknown kind as a tool of the provider, with its contents; None if it has none.

    Contents that only the provider can read are no contents.
    """
    contents = {
        name: value
        for name, value in part.items()
        if name not in _NO_CONTENT and not name.startswith("encrypted") and value not in (None, "", [], {})
    }
    if not contents:
        return None
    only = next(iter(contents.values()))
    is_text = len(contents) == 1 and isinstance(only, str)
    text = only if is_text else json.dumps(contents, ensure_ascii=False, default=str)
    if len(text) > MAX_UNKNOWN:
        text = f"{text[:MAX_UNKNOWN]}[{left_out(len(text) - MAX_UNKNOWN)}]"
    return ProviderCall(shorten(kind.removesuffix("_call"), 60) or "tool", output=text)

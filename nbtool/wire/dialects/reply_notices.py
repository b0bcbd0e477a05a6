"""What a provider says about a reply beside its content: moderation, and what it changed in the request."""

from __future__ import annotations

from collections import Counter
from typing import Any

from nbtool.events import StreamNotice
from nbtool.text import clean_text, count_of, shorten

MAX_NAMES, MAX_NAME = 10, 80
"""Maximum number of categories or reasons in a notice, and characters of each."""

_SUBJECTS = {"input": "prompt", "output": "reply"}


def moderation_notices(moderation: Any) -> list[StreamNotice]:
    """Return what the moderation that was asked for found in the prompt and in the reply (OpenAI)."""
    notices = []
    for field, subject in _SUBJECTS.items():
        found = moderation.get(field) if isinstance(moderation, dict) else None
        results = found.get("results", [found]) if isinstance(found, dict) else []
        for result in results if isinstance(results, list) else ():
            if isinstance(result, dict) and (text := _moderation_text(result, subject)):
                notices.append(StreamNotice(text, "warning"))
    return notices


def _moderation_text(result: dict[str, Any], subject: str) -> str:
    if result.get("flagged") is True:
        categories = result.get("categories")
        names = [name for name, value in categories.items() if value is True] if isinstance(categories, dict) else []
        return f"The provider's moderation flagged the {subject}: {_listed(names) or 'no category given'}."
    if result.get("type") == "error":
        reason = shorten(clean_text(str(result.get("message") or result.get("code"))), MAX_NAME)
        return f"The provider could not moderate the {subject}: {reason}."
    return ""


def removal_notices(changes: Any) -> list[StreamNotice]:
    """Return a notice if the provider removed parts of the request before its model read it."""
    removed = [change for change in changes if isinstance(change, dict)] if isinstance(changes, list) else []
    removed = [change for change in removed if not str(change.get("type")).endswith("_allowed")]
    if not removed:
        return []
    count = count_of(len(removed), "part")
    reasons = Counter(str(change.get("reason") or "no reason given") for change in removed)
    return [StreamNotice(f"The provider left {count} of the earlier reasoning out of the request: {_listed(reasons)}.")]


def _listed(names: Any) -> str:
    given = list(names)
    shown = [shorten(clean_text(str(name)), MAX_NAME) for name in given[:MAX_NAMES]]
    return ", ".join(shown) + (f" and {len(given) - MAX_NAMES} more" if len(given) > MAX_NAMES else "")

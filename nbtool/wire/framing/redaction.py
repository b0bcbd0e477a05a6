"""Redact keys in provider texts before they are shown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from nbtool.text import clean_text, left_out, shorten

if TYPE_CHECKING:
    from pydantic import SecretStr

MAX_EXCERPT_CHARS = 200
"""Maximum length of the excerpt of a response body in an error, in characters."""

HIDDEN = "•••"

_MIN_SECRET = 6
"""A shorter key is a placeholder for a local server; redacting it would garble the text."""

_SECRET_PATTERNS = re.compile(
    r"""
    \b(?:sk|pk|rk|gsk|xai|csk|pplx|hf|nvapi|fw|tgp|r8)[-_][A-Za-z0-9_\-*]{6,}   # prefixes of providers
    | \bAIza[A-Za-z0-9_\-]{10,}                                                     # Google
    | \beyJ[A-Za-z0-9_\-]{10,}(?:\.[A-Za-z0-9_\-]*){1,2}                            # JSON web tokens
    | (?<=[Bb]earer\ )[^\s"',;]{6,}
    | (?<=[?&]key=)[^\s&"']+ | (?<=api[-_]key[=:])[^\s&"']+
    | (?<=://)[^\s/@:]+:[^\s/@]+(?=@)                                               # user and password in an address
    """,
    re.VERBOSE,
)

_IS_PAGE = re.compile(r"<(!doctype|html|head|body|center|h1|title|div|p)\b", re.IGNORECASE)


def redact(text: str, keys: Iterable[SecretStr | None] = ()) -> str:
    """Replace `keys`, and everything that looks like a key, by dots."""
    for key in keys:
        secret = key.get_secret_value() if key else ""
        if len(secret) >= _MIN_SECRET:
            text = text.replace(secret, HIDDEN)
    return _SECRET_PATTERNS.sub(HIDDEN, text)


def excerpt(body: bytes | str, keys: Iterable[SecretStr | None] = (), limit: int = MAX_EXCERPT_CHARS) -> str:
    """Return the start of a response body as one redacted line, with the number of omitted characters."""
    text = body[: limit * 40].decode("utf-8", "replace") if isinstance(body, bytes) else body[: limit * 40]
    if _IS_PAGE.search(text):
        text = re.sub(r"<(script|style)\b.*?(</\1>|$)", " ", text, flags=re.DOTALL | re.IGNORECASE)
        text = re.sub(r"<[^>]*>?", " ", text)
    line = redact(clean_text(" ".join(re.sub(r"[\x00-\x1f\x7f]", " ", text).split())), keys)
    unread = max(0, len(body) - limit * 40)
    if unread and line:
        return f"{line[:limit]}[{left_out(max(0, len(line) - limit) + unread)}]"
    return shorten(line, limit)

"""Redact keys in provider texts before they are shown."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote, quote_plus

from nbtool.errors import WireError
from nbtool.text import clean_text, left_out, shorten

if TYPE_CHECKING:
    from pydantic import SecretStr

Failure = TypeVar("Failure", bound=WireError)

MAX_EXCERPT_CHARS = 200
"""Maximum length of the excerpt of a response body in an error, in characters."""

MAX_ERROR_TEXT = 1_000
"""Characters before a cut in which the start of a key is looked for; longer than any text of a provider in an error."""

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
    | (?<=://)(?!NAME:PASSWORD@)[^\s/@:]+:[^\s/@]+(?=@)                            # user and password in an address
    """,
    re.VERBOSE,
)

_ESCAPED = re.compile(r"[\"'/\\]")
_CUT = "[… "
"""What precedes the number of omitted characters."""

_IS_PAGE = re.compile(r"<(!doctype|html|head|body|center|h1|title|div|p)\b", re.IGNORECASE)


def redact(text: str, keys: Iterable[SecretStr | None] = ()) -> str:
    """Replace `keys`, in every spelling, and everything that looks like a key, by dots."""
    return _redact(text, _spellings(keys))


def redact_error(error: Failure, keys: Iterable[SecretStr | None]) -> Failure:
    """Return the error with `keys` redacted in all of its texts, also a key of which only the start was kept."""
    spellings = _spellings(keys)
    copy = error.changed()
    for name, value in vars(error).items():
        if isinstance(value, str):
            *starts, end = value.split(_CUT)
            text = _CUT.join([*(_without_start(one, spellings) for one in starts), end])
            setattr(copy, name, _redact(text, spellings))
    copy.args = (copy.message,)
    return copy


def _redact(text: str, spellings: Iterable[str]) -> str:
    for spelling in spellings:
        text = re.sub(_pattern(spelling), HIDDEN, text) if _ESCAPED.search(spelling) else text.replace(spelling, HIDDEN)
    return _SECRET_PATTERNS.sub(HIDDEN, text)


def _pattern(spelling: str) -> str:
    """Return the pattern of a spelling with any number of backslashes before the characters that JSON escapes."""
    first, *others = list(re.sub(r"\\+", r"\\", spelling))
    escaped = (r"\\++" if one == "\\" else rf"\\*+{one}" if one in "\"'/" else re.escape(one) for one in others)
    return re.escape(first) + "".join(escaped)


def _without_start(text: str, spellings: Iterable[str]) -> str:
    """Return a text that was cut without the start of a key at its end; backslashes do not count."""
    plain = text.replace("\\", "")[-MAX_ERROR_TEXT:]
    for spelling in spellings:
        start = spelling.replace("\\", "")
        for length in range(min(len(start), len(plain)), _MIN_SECRET - 1, -1):
            if plain.endswith(start[:length]):
                return text[: _position_before(text, length)] + HIDDEN
    return text


def _position_before(text: str, count: int) -> int:
    """Return the position of the last `count` characters that are no backslashes."""
    at = len(text)
    while count:
        at -= 1
        count -= text[at] != "\\"
    return at


def _spellings(keys: Iterable[SecretStr | None]) -> list[str]:
    """Return how texts spell the keys, the longest first: as in an address, in HTML, in base64, and in excerpts."""
    spellings: set[str] = set()
    for key in keys:
        secret = key.get_secret_value() if key else ""
        if len(secret) >= _MIN_SECRET:
            in_urls = (quote(secret), quote(secret, safe=""), quote_plus(secret))
            in_page = (html.escape(secret), html.escape(secret, quote=False))
            spellings |= {secret, *in_urls, *in_page, base64.b64encode(secret.encode()).decode().rstrip("=")}
    spellings |= {_without_tags(one) for one in spellings}
    spellings |= {" ".join(one.split()) for one in spellings}
    return sorted((one for one in spellings if len(one) >= _MIN_SECRET), key=len, reverse=True)


def _without_tags(text: str) -> str:
    return re.sub(r"<[^>]*>?", " ", text)


def excerpt(body: bytes | str, keys: Iterable[SecretStr | None] = (), limit: int = MAX_EXCERPT_CHARS) -> str:
    """Return the start of a response body as one redacted line, with the number of omitted characters."""
    text = body[: limit * 40].decode("utf-8", "replace") if isinstance(body, bytes) else body[: limit * 40]
    if _IS_PAGE.search(text):
        text = re.sub(r"<(script|style)\b.*?(</\1>|$)", " ", text, flags=re.DOTALL | re.IGNORECASE)
        text = _without_tags(text)
    line = redact(clean_text(" ".join(re.sub(r"[\x00-\x1f\x7f]", " ", text).split())), keys)
    unread = max(0, len(body) - limit * 40)
    if unread and line:
        return f"{line[:limit]}[{left_out(max(0, len(line) - limit) + unread)}]"
    return shorten(line, limit)

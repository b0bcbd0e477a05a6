"""The secrets that endpoints of this process have used: they are taken out of all content that is written or sent.

A tool may return the key of the chat that calls it, or of another one, so they are known to the whole process. Content
is searched for them many times in each round: each spelling costs one search for a part of it that is always literal.
Errors of servers, which are short, are decoded instead (`encoded_text`), which takes 10 to 1,000 times as long.
"""

from __future__ import annotations

import base64
import html
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

from nbtool.wire.framing.redaction import HIDDEN

if TYPE_CHECKING:
    from nbtool.secret import Secret

MAX_SECRETS = 256
"""Maximum number of secrets that are known, the last ones that were used."""

MIN_SECRET = 6
"""A shorter value is a placeholder."""

MIN_WORDS = 16
"""A shorter value of letters only is a word, such as the placeholder `ollama`: no content could contain it."""

MAX_WRAPPERS = 8
"""Maximum nesting of endpoints that is searched."""

_known: OrderedDict[str, Secret] = OrderedDict()
_lock = Lock()


def remember_secrets(endpoint: object) -> None:
    """Add the keys, headers and query of an endpoint, and of those that it wraps, to the known secrets."""
    for secret in secrets_of(endpoint):
        value = secret.get_secret_value()
        if value in _known or len(value) < MIN_SECRET or _is_word(value):
            continue
        with _lock:
            _known[value] = secret
            if len(_known) > MAX_SECRETS:
                _known.popitem(last=False)


def secrets_version() -> int:
    """Return a number that is another one once other secrets are known, and 0 if none is."""
    return hash(tuple(_known)) if _known else 0


def secret_hider() -> Callable[[str], str] | None:
    """Return `hide_secrets`, or None while no secret is known."""
    return hide_secrets if _known else None


def hide_secrets(text: str) -> str:
    """Return a text without the known secrets, as they are, escaped, or in base64."""
    if not _known or len(text) < MIN_SECRET:
        return text
    for literal, spelling, pattern in _searches(tuple(_known)):
        if literal in text:
            text = pattern.sub(HIDDEN, text) if pattern else text.replace(spelling, HIDDEN)
    return text


def secrets_of(endpoint: object) -> list[Secret]:
    """Return the keys, headers and query of an endpoint, and of those that it wraps."""
    return [secret for item in _wrapped(endpoint, MAX_WRAPPERS) for secret in _own_secrets(item) if secret]


def _wrapped(endpoint: object, depth: int) -> Iterator[object]:
    yield endpoint
    for name in ("native", *(getattr(type(endpoint), "__slots__", ())), *getattr(endpoint, "__dict__", ())):
        inner = getattr(endpoint, name, None)
        kind: type = type(inner)
        if depth and _can_stream(kind) and inner is not endpoint:
            yield from _wrapped(inner, depth - 1)


@lru_cache(maxsize=256)
def _can_stream(kind: type) -> bool:
    return hasattr(kind, "stream")


def _own_secrets(endpoint: object) -> Iterable[Any]:
    return getattr(endpoint, "secrets", None) or ()


def _is_word(value: str) -> bool:
    return len(value) < MIN_WORDS and value.replace("-", "").replace("_", "").replace(" ", "").isalpha()


@lru_cache(maxsize=8)
def _searches(secrets: tuple[str, ...]) -> tuple[tuple[str, str, re.Pattern[str] | None], ...]:
    """Return the spellings of the secrets, the longest first, each with its longest literal part."""
    spellings = {spelling for secret in secrets for spelling in _spellings(secret) if len(spelling) >= MIN_SECRET}
    return tuple(_search(item) for item in sorted(spellings, key=len, reverse=True))


def _search(spelling: str) -> tuple[str, str, re.Pattern[str] | None]:
    literal = max(_ESCAPED.split(spelling), key=len)
    return literal, spelling, re.compile(_pattern(spelling)) if _ESCAPED.search(spelling) else None


_ESCAPED = re.compile(r"[\"'/\\]+")
"""The characters before which JSON and Python write backslashes, any number of them if quoted repeatedly."""


def _pattern(spelling: str) -> str:
    first, *others = list(re.sub(r"\\+", r"\\", spelling))
    escaped = (
        r"\\++" if other == "\\" else rf"\\*+{other}" if other in "\"'/" else re.escape(other) for other in others
    )
    return re.escape(first) + "".join(escaped)


def _spellings(secret: str) -> Iterator[str]:
    """Yield a secret as it is, and as it is in an address, in HTML and in base64 at each position."""
    yield secret
    yield " ".join(secret.split())
    for quoted in (quote(secret), quote(secret, safe=""), quote_plus(secret)):
        yield quoted
        yield re.sub(r"%[0-9A-F]{2}", lambda found: found[0].lower(), quoted)
    page = html.escape(secret, quote=False)
    yield from (page, html.escape(secret), page.replace('"', "&#34;").replace("'", "&#39;"))
    for before in range(3):
        data = bytes(before) + secret.encode()
        packed = base64.b64encode(data).decode()[-(-before * 8 // 6) : len(data) * 8 // 6]
        yield from (packed, packed.replace("+", "-").replace("/", "_"))

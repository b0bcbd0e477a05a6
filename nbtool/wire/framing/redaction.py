"""Redact keys in provider texts before they are shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from nbtool.errors import WireError
from nbtool.text import clean_text, left_out, shorten
from nbtool.wire.framing.encoded_text import TooManyEncodings, find_secrets, secret_forms
from nbtool.wire.framing.key_forms import KEY_FORMS, NAMED_KEYS

if TYPE_CHECKING:
    from nbtool.secret import Secret

Failure = TypeVar("Failure", bound=WireError)

FindSecrets = Callable[..., list[tuple[int, int]]]
"""Finds keys in a text, as `find_secrets` does."""

MAX_EXCERPT_CHARS = 200
"""Maximum length of the excerpt of a response body in an error, in characters."""

HIDDEN = "•••"

_MIN_SECRET = 6
"""A shorter key is a placeholder for a local server; redacting it would garble the text."""

_ANY_KEY = re.compile(f"{KEY_FORMS}|{NAMED_KEYS}")

_CUT = "[… "
"""What precedes the number of omitted characters."""

MAX_PART = 1_000_000
"""Characters of a text that are searched at a time; a longer one is searched in parts that overlap."""

OVERLAP = 50_000
"""Characters that two parts have in common: an encoded key is shorter."""

NOT_SHOWN = "[not shown: it has too many encodings to find a key in it]"
"""What replaces a text in which a key might remain."""

_MAX_PASSES = 4
"""Searches of a text: what remains after the last one is not shown."""

_IS_PAGE = re.compile(r"<(!doctype|html|head|body|center|h1|title|div|p)\b", re.IGNORECASE)


def redact(text: str, keys: Iterable[Secret | None] = ()) -> str:
    """Replace `keys`, however they are encoded, and everything that looks like a key, by dots.

    A text in which not everything could be decoded is replaced as a whole.
    """
    return _redact(text, _forms(keys))


def redact_error(error: Failure, keys: Iterable[Secret | None]) -> Failure:
    """Return the error with `keys` redacted in all of its texts, also a key of which only the start was kept."""
    forms = _forms(keys)
    copy = error.changed()
    for name, value in vars(error).items():
        if isinstance(value, str):
            *starts, end = value.split(_CUT)
            text = _CUT.join([*(_without_keys(start, forms, is_cut=True) for start in starts), end])
            setattr(copy, name, _redact(text, forms))
    copy.args = (copy.message,)
    return copy


def _redact(text: str, forms: list[bytes]) -> str:
    return _ANY_KEY.sub(_hidden, _without_keys(text, forms))


def _hidden(match: re.Match[str]) -> str:
    """Return a match with its key replaced, and the name before it kept."""
    if value := match["key"] or match["password"]:
        return match[0].removesuffix(value) + HIDDEN
    return HIDDEN


def _without_keys(text: str, forms: list[bytes], *, is_cut: bool = False, find: FindSecrets = find_secrets) -> str:
    """Return a text without what decodes to a key; with `is_cut` also without the start of one at its end."""
    try:
        for _ in range(_MAX_PASSES):
            if not (spans := _find(text, forms, is_cut=is_cut, find=find)):
                return text
            text = _without_spans(text, spans)
    except TooManyEncodings:
        pass
    return NOT_SHOWN


def _find(text: str, forms: list[bytes], *, is_cut: bool, find: FindSecrets) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for start in range(0, max(1, len(text) - OVERLAP), MAX_PART):
        part = text[start : start + MAX_PART + OVERLAP]
        is_last = start + len(part) == len(text)
        spans += ((start + first, start + last) for first, last in find(part, forms, is_cut=is_cut and is_last))
    return spans


def _without_spans(text: str, spans: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    position = 0
    for start, end in sorted(spans):
        if start >= position:
            pieces += (text[position:start], HIDDEN)
        position = max(position, end)
    return "".join((*pieces, text[position:]))


def _forms(keys: Iterable[Secret | None]) -> list[bytes]:
    """Return what the keys look like, also in an excerpt: in one line, and without what looks like markup."""
    secrets = {
        secret for key in keys if (secret := key.get_secret_value() if key else "") and len(secret) >= _MIN_SECRET
    }
    secrets |= {_without_tags(item) for item in secrets}
    secrets |= {" ".join(item.split()) for item in secrets}
    return secret_forms(item for item in secrets if len(item) >= _MIN_SECRET)


def _without_tags(text: str) -> str:
    return re.sub(r"<[^>]*>?", " ", text)


def excerpt(body: bytes | str, keys: Iterable[Secret | None] = (), limit: int = MAX_EXCERPT_CHARS) -> str:
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

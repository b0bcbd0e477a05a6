"""The secrets that endpoints of this process have used: they are taken out of all content that is written or sent.

A tool may return the key of the chat that calls it, or of another one, so they are known to the whole process.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from threading import Lock
from typing import TYPE_CHECKING, Any

from nbtool.wire.framing.redaction import redact_known

if TYPE_CHECKING:
    from pydantic import SecretStr

MAX_SECRETS = 256
"""Maximum number of secrets that are known, the last ones that were used."""

MIN_SECRET = 6
"""A shorter value is a placeholder."""

MIN_WORDS = 16
"""A shorter value of letters only is a word, such as the placeholder `ollama`: no content could contain it."""

MAX_WRAPPERS = 8
"""Maximum nesting of endpoints that is searched."""

_known: OrderedDict[str, SecretStr] = OrderedDict()
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


def secret_hider() -> Callable[[str], str] | None:
    """Return `hide_secrets`, or None while no secret is known."""
    return hide_secrets if _known else None


def hide_secrets(text: str) -> str:
    """Return a text without the known secrets, in every spelling."""
    return redact_known(text, tuple(_known.values())) if _known and len(text) >= MIN_SECRET else text


def secrets_of(endpoint: object) -> list[SecretStr]:
    """Return the keys, headers and query of an endpoint, and of those that it wraps."""
    return [secret for one in _wrapped(endpoint, MAX_WRAPPERS) for secret in _own_secrets(one) if secret]


def _wrapped(endpoint: object, depth: int) -> Iterator[object]:
    yield endpoint
    for name in ("native", *(getattr(type(endpoint), "__slots__", ())), *getattr(endpoint, "__dict__", ())):
        inner = getattr(endpoint, name, None)
        if depth and inner is not None and inner is not endpoint and hasattr(type(inner), "stream"):
            yield from _wrapped(inner, depth - 1)


def _own_secrets(endpoint: object) -> Iterable[Any]:
    return getattr(endpoint, "secrets", None) or ()


def _is_word(value: str) -> bool:
    return len(value) < MIN_WORDS and value.replace("-", "").replace("_", "").replace(" ", "").isalpha()

"""Names of parameters that every model's server takes, and the way back.

Anthropic refuses every request with another name than `[a-zA-Z0-9_.-]{1,64}` in any of its tools, others are narrower.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from nbtool.text import clean_text, shorten

MAX_NAME = 64
"""Maximum number of characters of a name."""

MAX_SHOWN_NAME = 200
"""Maximum number of characters of an original name in a description."""

_FITTING = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")


def fitting_name(name: str) -> str:
    """Return the name under which a parameter is offered: itself if it fits, else with a suffix of its own.

    The suffix depends on the name alone, so that it is the same tomorrow, and no other name of a schema has it.
    """
    if _FITTING.fullmatch(name):
        return name
    stem = ascii_stem(name) or "parameter"
    digest = name_digest(name, 6)
    return f"{stem if stem[0].isalpha() else f'_{stem}'}"[: MAX_NAME - 7] + f"_{digest}"


def ascii_stem(text: str) -> str:
    """Return what is left of a name in ASCII letters, digits, `_` and `-`: without accents, and `_` for the rest."""
    plain = unicodedata.normalize("NFKD", text[: 4 * MAX_NAME])
    letters = "".join(char for char in plain if not unicodedata.combining(char))
    return _UNFIT.sub("_", letters).strip("_-")


def name_digest(text: str, length: int) -> str:
    """Return the first hexadecimal digits of a name's digest."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def with_original_name(schema: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the schema of a parameter that is offered under another name, which says its own."""
    sentence = f"The parameter {quoted_name(name)}."
    return {**schema, "description": f"{schema['description']} {sentence}" if schema.get("description") else sentence}


def quoted_name(name: str) -> str:
    """Return a name in quotation marks, in one line, shortened."""
    return repr(shorten(clean_text(name), MAX_SHOWN_NAME))


def restore_names(value: Any, names: Mapping[str, str]) -> Any:
    """Return a value of JSON with the original names of its keys; `names` has them by the offered ones."""
    if not names:
        return value
    if isinstance(value, dict):
        return {names.get(key, key): restore_names(item, names) for key, item in value.items()}
    return [restore_names(item, names) for item in value] if isinstance(value, list) else value

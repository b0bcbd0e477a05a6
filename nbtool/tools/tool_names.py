"""Names of tools: what every wire takes, and the name of a function that is written in other letters."""

from __future__ import annotations

import re

from nbtool.errors import BadUsage
from nbtool.json_schema.names import ascii_stem, name_digest

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

MAX_LETTERS = 200
"""Maximum number of characters of a name in other letters."""

_DIGEST = 6
_NAMELESS = "tool"
"""What stands for a name without any letter or digit of ASCII."""


def wire_name(name: str) -> tuple[str, str]:
    """Return the name of a tool for a model, and its own name if that differs: a Python name in other letters.

    The name for a model ends with digits of its own name's digest, so that it is the same tomorrow.

    Raises:
        BadUsage: it is no name.
    """
    if NAME.fullmatch(name):
        return name, ""
    if name.isascii() or not name.isidentifier() or len(name) > MAX_LETTERS:
        raise BadUsage(
            f"{name!r} is not a valid tool name: expected a Python name, or 1 to 64 letters, digits, '_' or '-'.",
            fix="Set one with tool(name=...).",
        )
    stem = ascii_stem(name) or _NAMELESS
    return f"{stem[: 64 - _DIGEST - 1]}_{name_digest(name, _DIGEST)}", name


def own_name(name: str, name_for_person: str) -> str:
    """Return the name of a tool where it is defined, of its name for a model and the one for a person, if that differs.

    A tool of a server (`server.tool`) is defined nowhere in the notebook: its name for the model stands for it.
    """
    return name_for_person if name_for_person.isidentifier() else name

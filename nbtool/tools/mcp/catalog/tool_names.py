"""The names of a server's tools: for a model, unlike each other and the same tomorrow, and for a person."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable

from nbtool.json_schema.names import ascii_stem, name_digest

MAX_NAME = 64
"""Maximum number of characters of a tool's name."""

NAMELESS = "tool"
"""What stands for a name without any letter or digit of ASCII."""

SERVER = "mcp"
"""What stands for a server without such a name, and before one that does not begin with a letter."""

_DIGEST = 8
_INVALID_CHARACTERS = re.compile(r"[^A-Za-z0-9_-]")
_QUALIFIED = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_./-]{1,64}")


def model_tool_names(server: str, tools: Iterable[str], taken: Collection[str] = ()) -> dict[str, str]:
    """Return the names of a server's tools for the model, by their own names; none of them is in `taken`.

    Where two would be the same, the one that is written so stays, and each other one gets a suffix of its own name.
    """
    plain = {tool: model_tool_name(server, tool) for tool in tools}
    used = Counter(plain.values())
    names = {}
    for tool, name in plain.items():
        is_own = used[name] == 1 or name == f"{server}_{tool}"
        names[tool] = name if is_own and name not in taken else _with_digest(name, server, tool)
    return names


def model_tool_name(server: str, tool: str) -> str:
    """Return a tool's name for the model: `server_tool`, of letters, digits, `_` and `-`, at most 64.

    It begins with a letter, as some servers of models demand.
    """
    prefix = _INVALID_CHARACTERS.sub("_", server)
    if not ascii_stem(server):
        prefix = f"{SERVER}_{name_digest(server, _DIGEST)}"
    elif not prefix[0].isalpha():
        prefix = f"{SERVER}_{prefix.lstrip('_-')}"
    if not ascii_stem(tool):
        return _with_digest(f"{prefix}_{NAMELESS}", server, tool)
    name = f"{prefix}_{_INVALID_CHARACTERS.sub('_', tool)}"
    return name if len(name) <= MAX_NAME else _with_digest(name, server, tool)


def _with_digest(name: str, server: str, tool: str) -> str:
    digest = name_digest("\0".join((server, tool)), _DIGEST)
    return f"{name[: MAX_NAME - _DIGEST - 1]}_{digest}"


def qualified_tool_name(server: str, tool: str) -> str:
    """Return the name that a person uses for a tool, `server.tool`; empty if either contains other characters."""
    name = f"{server}.{tool}"
    return name if _QUALIFIED.fullmatch(name) else ""

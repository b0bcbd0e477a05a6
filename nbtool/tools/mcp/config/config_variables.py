"""Expand `${VAR}` and `${VAR:-default}` in a configuration, and keep the values out of messages."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from nbtool.errors import BadUsage
from nbtool.secret import Secret

MIN_SECRET_CHARS = 4
"""Minimum length of a value that is removed from messages; shorter ones occur in any text."""

HIDDEN = "***"

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-((?:[^}$]|\$(?!\{))*))?\}")


@dataclass(slots=True)
class Expansion:
    """The variables of one server's configuration: where each was used, and its value."""

    server: str
    values: dict[str, Secret] = field(default_factory=dict)

    def expand(self, text: str, location: str) -> str:
        """Return a text with its variables expanded; `location` names the text in an error.

        Raises:
            BadUsage: a variable is not set and has no default.
        """

        def value_of(match: re.Match[str]) -> str:
            name, default = match[1], match[2]
            value = os.environ.get(name)
            if value is None or (value == "" and default is not None):
                if default is None:
                    fix = f'Set it first (os.environ["{name}"] = …), or write ${{{name}:-default}}.'
                    problem = f"{location} needs the environment variable {name}, which is not set."
                    raise BadUsage(f"The MCP server {self.server!r}: {problem}", fix=fix)
                return default
            self.values[name] = Secret(value)
            return value

        return _VARIABLE.sub(value_of, text)


def variables_in(text: str) -> tuple[str, ...]:
    """Return the names of the variables in a text."""
    return tuple(dict.fromkeys(names[1] for names in _VARIABLE.finditer(text)))


def without_secrets(text: str, variables: Mapping[str, Secret], others: Mapping[str, Secret]) -> str:
    """Replace the value of each variable in a text by `${NAME}`, and other secret values by `***`."""
    hidden = {value.get_secret_value(): HIDDEN for value in others.values()}
    hidden |= {value.get_secret_value(): f"${{{name}}}" for name, value in variables.items()}
    for value in sorted(hidden, key=len, reverse=True):
        if len(value) >= MIN_SECRET_CHARS:
            text = text.replace(value, hidden[value])
    return text

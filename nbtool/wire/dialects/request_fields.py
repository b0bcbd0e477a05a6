"""The fields of a request that only an encoder writes, and the options that are merged into the others.

An encoder gives what it writes from the prompt as `Written` values; so what no option may set is what the encoder
writes, and there is no second list. Its defaults are plain values, over which options are merged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nbtool.errors import BadUsage
from nbtool.text import shorten
from nbtool.wire.dialects.options import merge_options


@dataclass(frozen=True, slots=True)
class Origin:
    """What a field is written from, and how a user sets that."""

    what: str
    fix: str


@dataclass(frozen=True, slots=True)
class Written:
    """A field that no option may set; without a value it is not in this request."""

    value: Any
    origin: Origin


MODEL = Origin("the model of the chat", 'Choose it with `-m PROVIDER:MODEL`, or `Chat("PROVIDER:MODEL")`.')
MESSAGES = Origin("the conversation", "Write it in the prompt, or in `attach=`.")
SYSTEM = Origin("the system text", "Set it with `--set system=TEXT`, or `Chat(system=…)`.")
TOOLS = Origin("the tools", "Use `-t NAME`, or `Chat(tools=[…])`; for tools of the provider, `provider_tools`.")
TOOL_CHOICE = Origin("the tools that may be called", "A plugin sets `request.tool_choice` in `on_before_request`.")
STREAM = Origin("the setting of streaming", "Use `--set stream=false`, or `TurnSettings(stream=False)`.")
USAGE = Origin("what is counted", "Leave it out; a server that refuses it has the ability `no_stream_options`.")
UPLOADS = Origin("the attached files", "Attach them with `-a PATH`, or `attach=`.")

_SDK_ARGUMENTS = frozenset({"extrabody", "extraheaders", "extraquery"})
"""Arguments of SDKs that gateways unpack into a request: what they contain would be no option by its own name."""

Fields = Mapping[str, Any]
"""Fields by name: `Written` ones, and objects of which some fields are."""


def write_body(
    written: Fields, options: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the body of a request: what was written, and the options merged over the defaults.

    Raises:
        nbtool.errors.BadUsage: an option sets what is written.
    """
    check_options(written, options)
    return merge_options(_values(written) | dict(defaults or {}), options)


def check_options(written: Fields, options: Mapping[str, Any]) -> None:
    """Check that no option sets what is written, in any spelling that a server may take for it.

    Raises:
        nbtool.errors.BadUsage: one does.
    """
    _check(written, options, ())


def _check(written: Fields, options: Mapping[str, Any], outer: tuple[str, ...]) -> None:
    fields = {_plain(name): field for name, field in written.items()}
    for name, value in options.items():
        path, field = (*outer, str(name)), fields.get(_plain(str(name)))
        if not outer and _plain(str(name)) in _SDK_ARGUMENTS:
            raise BadUsage(
                f"The option {_shown(path)} is an argument of SDKs.", fix="Give what it contains as options themselves."
            )
        if isinstance(field, Written):
            raise BadUsage(f"{_shown(path)} is no option: it is set from {field.origin.what}.", fix=field.origin.fix)
        if field is not None and isinstance(value, Mapping):
            _check(field, value, path)
        elif field is not None:
            inner = next(iter(field.values()))
            raise BadUsage(
                f"The option {_shown(path)} would replace what is set from {inner.origin.what}.",
                fix=f"Give it as an object with the fields to set. {inner.origin.fix}",
            )


def _values(written: Fields) -> dict[str, Any]:
    """Return the fields that are in this request."""
    values: dict[str, Any] = {}
    for name, field in written.items():
        value = field.value if isinstance(field, Written) else _values(field) or None
        if value is not None:
            values[name] = value
    return values


def _plain(name: str) -> str:
    """Return a name without what servers ignore in it: case (JSON in Go), `_` or camel case (Google), `[]` (forms)."""
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def _shown(path: tuple[str, ...]) -> str:
    return f"`{shorten('.'.join(path), 80)}`"

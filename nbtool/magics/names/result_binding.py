"""Bind stored results to names in the notebook, without overwriting an existing name unasked."""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from typing import Any

from nbtool.chat.chat import Chat
from nbtool.errors import BadUsage
from nbtool.magics.names.builtin_names import check_no_builtin
from nbtool.tools.variables.references import Reference, parse, resolve_one
from nbtool.view.page_messages import BindRequest, is_valid_name


def bind_result(chat: Chat, request: BindRequest, names: MutableMapping[str, Any]) -> str:
    """Bind the result of a call in the notebook and return the name.

    Raises:
        BadUsage: the call has no readable result, or the name is taken.
        UnknownReference: the result no longer exists.
    """
    turns = [turn for node in chat.tree.nodes() for turn in node.versions]
    record = next((call for turn in turns for call in turn.calls if call.call_id == request.call_id), None)
    if record is None or not record.reference:
        raise BadUsage("This call has no stored result.", fix="`%chat tools` lists the available ones.")
    return bind_reference(chat, record.reference, names, request.name, replace=request.replace)


def bind_reference(
    chat: Chat, reference_text: str, names: MutableMapping[str, Any], name: str = "", *, replace: bool = False
) -> str:
    """Bind the object of a reference in the notebook and return the name.

    `reference_text` is a variable's name, or `$VAR_REF{{…}}` around it with keys. `name` is derived from it by default.

    Raises:
        BadUsage: `reference_text` is not a single reference, or the name is invalid or taken.
        UnknownReference: the reference cannot be resolved.
    """
    reference = _reference(reference_text)
    return bind_value(resolve_one(reference, chat.variables), names, name or _name_of(reference), replace=replace)


def bind_value(value: object, names: MutableMapping[str, Any], chosen: str, *, replace: bool = False) -> str:
    """Bind a value to a name in the notebook and return the name.

    Raises:
        BadUsage: the name is invalid or taken.
    """
    if not is_valid_name(chosen):
        raise BadUsage(f"{chosen!r} is not a valid variable name.", fix="Add another name after it.")
    check_no_builtin(chosen, names, replace=replace)
    if chosen in names and names[chosen] is not value and not replace:
        raise BadUsage(f"{chosen!r} already exists in this notebook.", fix="Choose another name, or add --replace.")
    names[chosen] = value
    return chosen


def _reference(source: str) -> Reference:
    text = source if source.startswith("$VAR_REF{{") else f"$VAR_REF{{{{{source}}}}}"
    match parse(text):
        case [Reference(start=None) as reference]:
            return reference
        case _:
            raise BadUsage(f"{source!r} is not a whole variable.", fix="`%chat tools` lists them.")


def _name_of(reference: Reference) -> str:
    """Derive a valid Python name from a reference."""
    name = re.sub(r"\W+", "_", "_".join([reference.name, *map(str, reference.keys)])).strip("_")
    return f"_{name}" if name[:1].isdigit() else name

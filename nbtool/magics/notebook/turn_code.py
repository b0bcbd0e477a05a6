"""The calls of a turn as plain Python, for a cell of this notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from nbtool.chat.chat import Chat
from nbtool.chat.export.call_code import ExportContext
from nbtool.chat.export.python import PythonExport, export_python
from nbtool.chat.export.visibility import is_imported
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage


def turn_code(
    turn: Turn, chat: Chat, names: Mapping[str, Any], call_id: str = "", *, has_numbers: bool = True
) -> PythonExport:
    """Return a turn's calls, or one of them, as plain Python, including the earlier calls they depend on.

    Unless the chat `has_numbers` that commands of this kernel take, its turns are named by their ids.

    Raises:
        BadUsage: the turn has no calls, or none that is code, such as those that were denied.
    """
    if not turn.calls:
        raise BadUsage("This turn has no tool calls to write as code.", fix="`%chat export py --cell`: the whole chat.")
    node = chat.tree.find(turn.turn_id)
    before = [item.turn for item in chat.tree.path(node.parent) if item.turn]
    context = export_context([*before, turn], chat, names)
    context = context if has_numbers else replace(context, numbers={})
    exported = export_python([turn], context, before=before, call_id=call_id)
    check_code(exported, "turn")
    return exported


def check_code(exported: PythonExport, what: Literal["turn", "chat"]) -> None:
    """Check that code has more than comments about what is left out.

    Raises:
        BadUsage: it has not.
    """
    if not exported.has_code:
        raise BadUsage(
            f"There is no code: of the calls of this {what} every one is left out ({exported.omitted_text})."
        )


def export_context(
    turns: Sequence[Turn], chat: Chat, names: Mapping[str, Any], *, script: bool = False, is_file: bool = False
) -> ExportContext:
    """Return the tools, variables and names that code of these turns is written with.

    Code for a file has no values that the chat's plugins keep out of the journal; a cell of this notebook has them, and
    names the functions that other cells define.
    """
    trusted = not any(map(is_imported, turns))
    numbers = {turn.turn_id: str(number) for number, (_, turn) in chat.tree.numbered_turns().items()}
    return ExportContext(
        chat.tools.tools(),
        chat.variables,
        names,
        script=script,
        trusted=trusted,
        numbers=numbers,
        plugins=chat.plugins if is_file else (),
        cells=None if is_file else _cells_run(names),
    )


def _cells_run(names: Mapping[str, Any]) -> list[str]:
    """Return the sources of the cells that ran in this kernel, which IPython keeps under a name of the notebook."""
    cells = names.get("In")
    return [cell for cell in cells if type(cell) is str] if type(cells) is list else []

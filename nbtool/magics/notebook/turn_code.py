"""The calls of a turn as plain Python, for a cell of this notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nbtool.chat.chat import Chat
from nbtool.chat.export.call_code import ExportContext
from nbtool.chat.export.python import PythonExport, export_python
from nbtool.chat.export.visibility import is_imported
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage


def turn_code(turn: Turn, chat: Chat, names: Mapping[str, Any], call_id: str = "") -> PythonExport:
    """Return a turn's calls, or one of them, as plain Python, including the earlier calls they depend on.

    Raises:
        BadUsage: the turn has no calls.
    """
    if not turn.calls:
        raise BadUsage("This turn has no tool calls to write as code.", fix="`%chat code --all`: the whole chat.")
    node = chat.tree.find(turn.turn_id)
    before = [one.turn for one in chat.tree.path(node.parent) if one.turn]
    context = export_context([*before, turn], chat, names)
    return export_python([turn], context, before=before, call_id=call_id)


def export_context(
    turns: Sequence[Turn], chat: Chat, names: Mapping[str, Any], *, script: bool = False, is_file: bool = False
) -> ExportContext:
    """Return the tools, variables and names that code of these turns is written with.

    Code for a file has no values that the chat's plugins keep out of the journal; a cell of this notebook has them.
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
    )

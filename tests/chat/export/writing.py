"""What the tests of `code` share: tools over frames, and code that is written and run."""

from __future__ import annotations

import ast
import asyncio
import inspect
from collections.abc import Mapping
from typing import Any

from nbtool import Chat, tool
from nbtool.chat.export.call_code import ExportContext
from nbtool.chat.export.python import PythonExport, export_python
from nbtool.chat.turn import Turn
from nbtool.testing import ScriptedWire


@tool(run="auto")
def note(text: str) -> str:
    "Give a text back."
    return f"<{text}>"


@tool
def double_if_allowed(n: int) -> int:
    "Twice a number, once somebody allows it."
    return 2 * n


def make_chat(
    notebook: dict[str, Any], *replies: Any, tools: Any = (), expose: str = "", approver: Any = None, says: str = "Go."
) -> tuple[Chat, Turn]:
    """Make a chat of one turn that calls tools on what a notebook holds."""
    with ScriptedWire([*replies, "Done."]) as wire:
        chat = Chat(wire=wire, tools=tools, notebook=notebook, approver=approver)
        for name in expose.split():
            chat.variables.expose(name)
        turn = chat.send(says)
    return chat, turn


def export(chat: Chat, *turns: Turn, notebook: Mapping[str, Any], before: Any = (), **how: Any) -> PythonExport:
    around = ExportContext(chat.tools.tools(), chat.variables, notebook, **how)
    return export_python(turns, around, before=before)


def run(code: PythonExport, notebook: Mapping[str, Any]) -> dict[str, Any]:
    """Run code as cells do, in a fresh namespace that has what the notebook has."""
    names = dict(notebook)
    for cell in code.cells:
        compiled = compile(cell.source, "<cell>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        given = eval(compiled, names)
        if inspect.iscoroutine(given):
            asyncio.run(given)
    return names

"""What leaves nbtool, and comes back: `code`, `export`, and `open` of a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from nbtool.chat import restore
from nbtool.chat.chat import Chat
from nbtool.chat.export import document, files
from nbtool.chat.export.calls import Around
from nbtool.chat.export.dependencies import Part, Told
from nbtool.chat.export.markdown import as_markdown
from nbtool.chat.export.python import Code, code_of
from nbtool.chat.export.visibility import is_imported, shared
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.magics.command_context import Command, Here, named_turn
from nbtool.messages import new_id

FORCE = ("--overwrite", "--force")
ENDINGS = {"md": "md", "json": "json", "code": "py", "ipynb": "ipynb"}
USAGE = "`%chat export md|json|code|ipynb [FILE] [--overwrite]`"


def code(here: Here, words: list[str]) -> str:
    """Put the calls of a turn, the last unless named, below as plain Python: `code [TURN]`."""
    if len(words) > 1:
        raise BadUsage("%chat code takes one turn at most.", fix="`%chat history` lists them.")
    turn = named_turn(here.chat, words)
    if not turn.calls:
        raise BadUsage("This turn called no tools, so there is no code of it.", fix="`%chat history` lists the others.")
    written = code_for(here, turn)
    here.kernel.shell.set_next_input(written.text)
    return f"The code stands in the next cell ({written.summary}). Look at it before you run it."


def export(here: Here, words: list[str]) -> str:
    """Write the active line to a file: `export md|json|code|ipynb [FILE] [--overwrite]`; json holds every branch.

    Raises:
        BadUsage: the words make no sense, nothing was said yet, or the file exists.
    """
    kind, *name = [word for word in words if word not in FORCE] or [""]
    if kind not in ENDINGS or len(name) > 1:
        raise BadUsage("%chat export takes a format and perhaps a file.", fix=USAGE)
    named_turn(here.chat, [])
    path = Path(*name or [f"{re.sub('[^A-Za-z0-9_-]', '_', here.name)}.{ENDINGS[kind]}"]).expanduser()
    files.write(path, _written(here, kind), force=any(word in FORCE for word in words))
    return f"Written: {path}"


def open_file(here: Here, path: Path) -> str:
    """Take over a conversation that `export json` wrote. Nothing in it runs, and no approval comes with it.

    Raises:
        BadUsage: the file is no such conversation, or a turn is still on its way.
    """
    tree = document.from_json(files.read(path, document.MAX_BYTES))
    former = f" What was said here before: `%chat open {here.chat.chat_id}`." if here.chat.tree.line else ""
    restore.take_over(here.anew(), new_id("chat"), tree, "it was of another kernel")
    count = sum(len(node.versions) for node in tree.nodes())
    said = (
        f"{count} {'turn' if count == 1 else 'turns'} imported; nothing of them ran here, and no approval came along."
    )
    return f"{said}{former}"


def code_for(here: Here, turn: Turn, call_id: str = "") -> Code:
    """Write a turn's calls as plain Python, or one of them; with what they need of earlier ones."""
    node = here.chat.tree.find(turn.turn_id)
    before: list[Told] = [one.turn for one in here.chat.tree.path(node.parent) if one.turn]
    at = next((at for at, call in enumerate(turn.calls) if call.call_id == call_id), None)
    if at is None:
        return _code(here, [turn], before)
    one = Part(turn.turn_id, turn.prompt, [turn.calls[at]])
    earlier = Part(turn.turn_id, turn.prompt, turn.calls[:at])
    return code_of([one], _around(here, [turn]), before=[*before, earlier])


COMMANDS: dict[str, Command] = {"code": code, "export": export}


def _written(here: Here, kind: str) -> str:
    chat = here.chat
    turns = _line(chat)
    match kind:
        case "json":
            return document.as_json(chat.tree, chat.plugins)
        case "md":
            return as_markdown([shared(turn, chat.plugins) for turn in turns])
        case "ipynb":
            from nbtool.chat.export.notebook import as_notebook  # noqa: PLC0415 - nbformat is slow to load

            return as_notebook(turns, _around(here, turns), chat.plugins)
    return _code(here, turns, [], script=True).text


def _line(chat: Chat) -> list[Turn]:
    return [node.turn for node in chat.tree.line if node.turn and node.turn.done.done()]


def _code(here: Here, turns: Sequence[Turn], before: Sequence[Told], *, script: bool = False) -> Code:
    seen = [turn for turn in (*before, *turns) if isinstance(turn, Turn)]
    return code_of(turns, _around(here, seen, script=script), before=before)


def _around(here: Here, turns: Sequence[Turn], *, script: bool = False) -> Around:
    chat, names = here.chat, here.kernel.shell.user_ns
    trusted = not any(map(is_imported, turns))
    return Around(chat.tools.tools(), chat.variables, names, script=script, trusted=trusted)

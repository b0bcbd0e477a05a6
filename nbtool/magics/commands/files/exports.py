"""Export and import: `code`, `export`, and `open` of a file."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from nbtool import settings
from nbtool.chat.chat import Chat
from nbtool.chat.conversation import restore
from nbtool.chat.export import document, files
from nbtool.chat.export.figures import Figures
from nbtool.chat.export.markdown import as_markdown
from nbtool.chat.export.python import export_python
from nbtool.chat.export.title import Origin
from nbtool.chat.export.visibility import shareable_turn
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.ids import short_id
from nbtool.magics.commands.context import CommandContext, add_cell, find_turn
from nbtool.magics.commands.past_chats.reopen import read_chat_of
from nbtool.magics.names.continued_chat import called_and_absent, steps
from nbtool.magics.names.earlier_names import Needs
from nbtool.magics.notebook.saved_figures import with_saved_figures
from nbtool.magics.notebook.turn_code import check_code, export_context, turn_code
from nbtool.magics.notebook.turn_output import chat_field, host_fields

FORCE = ("--overwrite", "--force")
ALL = "--all"
CELL = "--cell"
"""Inserts the code as a new cell instead of writing it to a file."""

FORMATS = ("md", "json", "ipynb", "py")
SUFFIXES = {**{name: name for name in FORMATS}, "code": "py"}
MAX_NOTEBOOK_NAME = 100
"""Characters of the name of a notebook in the name of a file; beyond that the file has the name of the chat."""

USAGE = (
    f"`%chat export {'|'.join(FORMATS)} [FILE] [--overwrite]`; `%chat export md` writes a document to read, "
    f"`%chat export py {CELL} [TURN]` a cell."
)


def code(context: CommandContext, args: list[str]) -> str:
    """Insert the calls of a turn as Python: `code [TURN]`.

    By default of the last turn; `code --all`: of the whole chat.

    A turn of an earlier kernel or of a map, given by its id, is only read: its chat is not continued.

    Raises:
        BadUsage: the arguments are invalid, or there are no calls.
        nbtool.errors.JournalError: the journal cannot be read.
    """
    if len(args) > 1:
        raise BadUsage(f"%chat export py {CELL} takes at most one turn.", fix="`%chat history` lists the turns.")
    note = ""
    if args == [ALL]:
        turns = _active_turns(context.chat)
        exported = export_python(turns, export_context(turns, context.chat, context.kernel.shell.user_ns))
        if not exported.calls and not exported.omitted:
            if not turns:
                find_turn(context.chat, [])
            raise BadUsage("This chat has no tool calls to write as code.", fix="`%chat export md` writes its texts.")
        check_code(exported, "chat")
    else:
        chat, note = read_chat_of(context, args[0]) if args else (context.chat, "")
        turn, names = find_turn(chat, args), context.kernel.shell.user_ns
        exported = turn_code(turn, chat, names, has_numbers=chat is context.chat)
        if absent := called_and_absent(chat, turn, names):
            note = f"{note} {steps(Needs(frozenset(absent)), 'run this command again')}".strip()
    added = add_cell(context, exported.text, f"The code ({exported.summary})", "Review it, then run it.")
    return f"{note}\n{added}" if note else added


def export(context: CommandContext, args: list[str]) -> str:
    """Write the chat to a file: `export md|json|ipynb|py`.

    `export FORMAT [FILE] [--overwrite]`, or `export FILE`, whose ending is the format; json includes all branches, `py`
    is the code of the calls. `export py --cell [TURN]` inserts that code as a new cell instead, of one turn or of all.

    Except for json it is the active line of the chat: `branch` makes another one active first. The images of `md` are
    files in the folder FILE_files beside it. Without FILE the name is that of the notebook, as in `analysis-chat.md`.

    Raises:
        BadUsage: the arguments are invalid, the chat is empty, or the file exists.
    """
    if CELL in args:
        return _export_cell(context, [arg for arg in args if arg != CELL])
    kind, *name = [arg for arg in args if arg not in FORCE] or [""]
    if not name and kind not in SUFFIXES:
        kind, name = Path(kind).suffix.removeprefix("."), [kind]
    if kind not in SUFFIXES or len(name) > 1:
        raise BadUsage("%chat export takes a format and an optional file.", fix=USAGE)
    find_turn(context.chat, [])
    path = Path(*name or [f"{_default_stem(context.name)}.{SUFFIXES[kind]}"]).expanduser()
    figures = Figures(f"{path.stem}_files")
    text = _export_text(context, kind, figures)
    is_forced = any(arg in FORCE for arg in args)
    files.write_new(
        path, text, force=is_forced, beside={f"{path.stem}_files/{name}": data for name, data in figures.files.items()}
    )
    count = len(figures.files)
    beside = f", with {_count_media(count)} in {path.stem}_files" if count else ""
    missing = f"; {_count_media(figures.unsaved)} of an earlier kernel could not be written" if figures.unsaved else ""
    return f"Written: {path}{beside}{missing}"


def _export_cell(context: CommandContext, args: list[str]) -> str:
    """Insert the code of one turn, or of the whole chat, as a new cell.

    Raises:
        BadUsage: it is not code, or more than one turn is named.
    """
    kind, *turns = args or [""]
    if SUFFIXES.get(kind) != "py" or len(turns) > 1:
        raise BadUsage(f"{CELL} inserts code, of one turn or of all.", fix=f"`%chat export py {CELL} [TURN]`")
    return code(context, turns or [ALL])


def open_file(context: CommandContext, path: Path) -> str:
    """Import a conversation written by `export json`. Nothing in it runs, and no approval is imported.

    Raises:
        BadUsage: the file is not such a conversation, or a turn is still running.
    """
    tree = document.load_conversation(files.read_bounded(path, document.MAX_BYTES))
    former = (
        f" The former conversation: `%chat open {short_id(context.chat.chat_id)}`."
        if context.chat.tree.active_path
        else ""
    )
    chat = context.restart_chat()
    restore.adopt_tree(chat, chat.variables, tree, "it was of another kernel")
    count = sum(len(node.versions) for node in tree.nodes())
    message = f"{count} {'turn' if count == 1 else 'turns'} imported; nothing was run, and no approval was imported."
    return f"{message}{former}"


def _export_text(context: CommandContext, kind: str, figures: Figures) -> str:
    chat, names = context.chat, context.kernel.shell.user_ns
    turns = _active_turns(chat)
    if kind in ("md", "ipynb"):
        turns = with_saved_figures(turns)
    match kind:
        case "json":
            return document.dump_conversation(chat.tree, chat.plugins)
        case "md":
            return as_markdown([shareable_turn(turn, chat.plugins) for turn in turns], figures, _origin(chat, turns))
        case "ipynb":
            from nbtool.chat.export.notebook import as_notebook  # noqa: PLC0415 - nbformat is slow to load

            exported = export_context(turns, chat, names, is_file=True)
            return as_notebook(turns, exported, chat.plugins, figures, _origin(chat, turns))
    return export_python(turns, export_context(turns, chat, names, script=True, is_file=True)).text


def _origin(chat: Chat, turns: list[Turn]) -> Origin:
    versions = sum(len(node.versions) for node in chat.tree.nodes())
    heads = {turn.turn_id: host_fields(turn, chat) for turn in turns}
    return Origin(_notebook_name(), versions - len(turns), heads)


def _notebook_name() -> str:
    """Return the name of the notebook without its folder and its ending; empty where it is not known, or too long."""
    path = (settings.env("JPY_SESSION_NAME") or "").removeprefix("RTC:")  # set by Jupyter Server
    name = re.sub(r"[^\w. -]", "_", PurePosixPath(path).stem)
    return name if PurePosixPath(path).suffix == ".ipynb" and len(name) <= MAX_NOTEBOOK_NAME else ""


def _default_stem(chat: str) -> str:
    """Return the name of a file for a chat without its ending: after the notebook where that is known."""
    name, notebook = re.sub("[^A-Za-z0-9_-]", "_", chat), _notebook_name()
    return f"{notebook}-{name if chat_field(chat) else 'chat'}" if notebook else name


def _count_media(count: int) -> str:
    return f"{count:,} {'image or sound' if count == 1 else 'images and sounds'}"


def _active_turns(chat: Chat) -> list[Turn]:
    return [node.turn for node in chat.tree.active_path if node.turn and node.turn.done.done()]

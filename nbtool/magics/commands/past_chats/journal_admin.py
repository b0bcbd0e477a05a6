"""The journal of all chats: `history list|search|frame|vacuum|erase`, `open`."""

from __future__ import annotations

import dataclasses
import datetime as dt
import shlex
from contextlib import suppress
from pathlib import Path

from nbtool.blocks.sanitize import one_line
from nbtool.chat import erasure
from nbtool.chat.journal import journal, queries, search
from nbtool.chat.journal import retention as retention_module
from nbtool.chat.journal.dataframe import frame
from nbtool.errors import BadUsage
from nbtool.ids import short_id
from nbtool.magics.commands.context import CommandContext, format_table
from nbtool.magics.commands.files.exports import open_file
from nbtool.magics.commands.past_chats.former_model import choose_former_model, take_model
from nbtool.magics.commands.past_chats.reopen import TURN_ID, chat_of_turn, continue_chat, not_on_the_line
from nbtool.magics.commands.state.use import use
from nbtool.magics.commands.turns.bind import REPLACE
from nbtool.magics.kernel.page_lines import wrap_for_page
from nbtool.text import count_of, shorten
from nbtool.view.page_messages import is_valid_name

MAX_LISTED = 50
"""Chats or search hits that are listed, the latest first."""

EVERYWHERE = "--all"
"""Includes prompts of other notebooks; off by default, so that a saved output does not contain them."""

REWRITE = "--rewrite"
"""Rewrites the whole file of the journal, which other notebooks wait for."""

CHAT_ENDED = (
    "The conversation that was open in this kernel ends here: nothing of it is sent any more, its results are gone, "
    "and the next prompt begins a new chat."
)
TURN_LEFT = "The chat that is open in this kernel goes on without it: it is not sent any more; its results are gone."
OUTPUTS_STAY = "What notebook files have saved of it stays until the outputs of its cells are cleared."

FRAME_FLAGS = (REPLACE, EVERYWHERE)

OPTIONS = ("--ids", *FRAME_FLAGS, REWRITE)
"""The options of `history` and its subcommands, for Tab."""

USAGE = (
    "`%chat history [--ids | list [--all] | search TEXT | frame [NAME] [--replace] [--all] "
    "| vacuum [DAYS] [--rewrite] | erase all|ID]`"
)


def history_admin(context: CommandContext, args: list[str]) -> str:
    """Run `%chat history ARGS`.

    Raises:
        BadUsage: the arguments are invalid.
        nbtool.errors.JournalError: the journal cannot be read or written.
    """
    match args:
        case ["list" | "chats", *rest] if rest in ([], [EVERYWHERE]):
            return _chat_list(everywhere=bool(rest))
        case ["search", *args]:
            return _search_results(" ".join(args))
        case ["frame" | "--frame", *rest] if len(names := [arg for arg in rest if arg not in FRAME_FLAGS]) < 2:
            return _frame(context, *names, replace=REPLACE in rest, everywhere=EVERYWHERE in rest)
        case ["vacuum", *rest] if len(days := [arg for arg in rest if arg != REWRITE]) < 2:
            return _vacuum(days, rewrite=REWRITE in rest)
        case ["erase", str(id_)] if id_:
            return _erase(id_)
    raise BadUsage(f"Unknown arguments of %chat history: {shorten(' '.join(args), 80)!r}.", fix=USAGE)


def open_chat(context: CommandContext, args: list[str]) -> str:
    """Continue an old chat here: `open ID|FILE|NAME`.

    It goes on with its former model, or with the one of `-m MODEL`. NAME is a chat of this kernel or a `Chat` of the
    notebook, which cells without `-c` then use; it comes before a FILE or an ID that is spelled alike.
    An ID as `history list` lists it, or that of a turn as `history search` does, or a FILE from an export. It takes
    the place of the present chat, which is kept in the history; `-c NAME` continues it under another name. Its messages
    go to another host than before only if you name a model there.

    Restores the tree with all versions, its tools where the notebook has functions of the same names, and its exposed
    objects, by reference only, where the notebook has objects of the same names. Nothing is run. Approvals, the right
    to read values, and results of calls are not restored.
    """
    args, model = take_model(args)
    if len(args) != 1:
        raise BadUsage("%chat open takes the id of a chat.", fix="`%chat history list` lists them.")
    if not context.is_named and context.kernel.has_chat(args[0]):
        return _use(context, args[0], model)
    if model:
        context.chat.model.with_changes(model).endpoint()  # raises before anything changes
    if (path := Path(args[0]).expanduser()).is_file():
        return f"{open_file(context, path)}{choose_former_model(context, model)}"
    chat_id, present = _chat_to_open(args[0], path), context.chat
    former = short_id(present.chat_id) if present.tree.roots and present.chat_id != chat_id else ""
    message = continue_chat(context, context.restart_chat(), chat_id, model=model)
    former_note = f" The chat that was {context.name!r} until now is kept: `%chat open {former}`." if former else ""
    elsewhere = not_on_the_line(context.chat, args[0])
    return wrap_for_page(context.kernel.shell, f"{message}{elsewhere}{former_note}")


def _use(context: CommandContext, name: str, model: str | None) -> str:
    """Make a chat of this kernel the current one.

    Raises:
        BadUsage: a model is named, which is for a chat that is continued.
    """
    if model:
        raise BadUsage(
            f"{one_line(name, 40)!r} is a chat of this kernel, which has its model.",
            fix=f"`%%chat -c {shlex.quote(name)} -m {one_line(model, 60)}` changes it.",
        )
    return use(context, [name])


def _chat_to_open(begin: str, path: Path) -> str:
    """Return the id of the chat whose id begins like this, or one of whose turns does.

    Raises:
        BadUsage: no chat has such an id or turn, or several have.
        nbtool.errors.JournalError: the journal cannot be read.
    """
    matches = journal().read(lambda connection: queries.find_chats(connection, begin))
    if len(matches) == 1:
        return matches[0]
    if not matches and TURN_ID.fullmatch(begin):
        return chat_of_turn(begin)
    many = "several chat ids start" if matches else "no chat id starts"
    missing = f"There is no file {path.name!r}, and in" if path.suffix or len(path.parts) > 1 else "In"
    fix = "`%chat history list` lists the chats with their ids."
    raise BadUsage(f"{missing} the journal {many} with {shorten(begin, 60)!r}.", fix=fix)


def _chat_list(*, everywhere: bool) -> str:
    book = journal()
    lines, notebook = book.read(lambda connection: queries.list_chats(connection, MAX_LISTED)), book.notebook
    count = sum(book.read(queries.count_chats))
    rows = [
        (
            line.chat_id,
            f"{_format_time(line.ended)}  {_turn_count(line)}"
            + (f"  {one_line(line.title, 60)}" if everywhere or line.notebook == notebook else "")
            + (f"  ({one_line(notebook_name(line.notebook), 60)})" if line.notebook else ""),
        )
        for line in lines
    ]
    has_others = not everywhere and any(line.notebook != notebook for line in lines)
    more = "\nPrompts of other notebooks are hidden; `%chat history list --all` shows them." if has_others else ""
    more += f"\n… and {count_of(count - len(lines), 'earlier chat')}." if count > len(lines) else ""
    return format_table(*rows) + more if rows else "The journal is empty."


def _turn_count(line: queries.ChatRow) -> str:
    return f"{line.turns:>3} turn{' ' if line.turns == 1 else 's'}"


def notebook_name(path: str) -> str:
    """Return a path relative to the working folder, or the file name: saved outputs show no other folders."""
    with suppress(ValueError, OSError):
        return str(Path(path).relative_to(Path.cwd()))
    return Path(path).name


def _search_results(text: str) -> str:
    if not text:
        raise BadUsage("%chat history search takes a text.", fix="`%chat history search TEXT`")
    book = journal()
    book.execute(search.update_index)
    hits = book.read(lambda connection: search.search(connection, text))
    paths = book.read(lambda connection: queries.notebooks_of(connection, (hit.chat_id for hit in hits[:MAX_LISTED])))
    names = {chat_id: one_line(notebook_name(path), 60) for chat_id, path in paths}
    rows = [
        (
            short_id(hit.turn_id),
            f"{_format_time(hit.at)}  {hit.what:<6}  {one_line(hit.snippet, 160)}  "
            f"({names.get(hit.chat_id) or short_id(hit.chat_id)})",
        )
        for hit in hits[:MAX_LISTED]
    ]
    more = f"\n… and more: only the {MAX_LISTED} latest are shown." if len(hits) > MAX_LISTED else ""
    return format_table(*rows) + more if rows else f"No match in the journal for {one_line(text, 80)!r}."


def _frame(context: CommandContext, name: str = "history", *, replace: bool = False, everywhere: bool = False) -> str:
    if not is_valid_name(name):
        raise BadUsage(f"{shorten(name, 60)!r} is not a valid variable name.", fix=USAGE)
    context.kernel.names.check_free(name, replace=replace)
    lines = journal().read(queries.list_turns)
    selected = [line for line in lines if everywhere or line.notebook == journal().notebook]
    table = frame(dataclasses.replace(line, notebook=notebook_name(line.notebook)) for line in selected)
    context.kernel.names.bind(name, table, replace=replace)
    left_out = _describe_left_out(len(lines), len(lines) - len(selected))
    return f"{name} is a data frame of {count_of(len(table), 'turn')}.{left_out}"


def _describe_left_out(count: int, others: int, limit: int = queries.MAX_TURNS) -> str:
    """Return which turns are not in a frame: those of other notebooks, and earlier ones than the latest `limit`."""
    hint = f" {others:,} of other notebooks are not included; `%chat history frame --all` includes them."
    return (hint if others else "") + (
        f" Of the journal the latest {limit:,} turns were read." if count >= limit else ""
    )


def _vacuum(days: list[str], *, rewrite: bool) -> str:
    retention = retention_module.Retention.from_environment()
    if days:
        retention = retention_module.Retention(retention_module.parse_limit("DAYS", days[0]), retention.megabytes)
    result = journal().execute(lambda connection: retention_module.vacuum(connection, retention, rewrite=rewrite))
    back = f"`%chat history vacuum {REWRITE}` gives them back."
    of_it = f"{count_of(result.free, 'byte')} of it {'is' if result.free == 1 else 'are'}"
    free = f" {of_it} free, for later turns: {back}"
    size = f"the journal has {count_of(result.after, 'byte')}, before {result.before:,}."
    return f"{count_of(result.turns, 'turn')} deleted; {size}{free if result.free else ''}"


def _erase(id_: str) -> str:
    """Erase a chat, a turn or everything, and say what became of what is open here, and what stays elsewhere."""
    full_id = "" if id_ == "all" else _resolve_id(id_)
    erased = erasure.erase(full_id)
    count = count_of(erased.turns, "turn")
    lines = [f"{full_id} erased: {count}." if full_id else f"{count} erased; the journal is empty."]
    if erased.was_open:
        lines.append(TURN_LEFT if full_id.startswith("turn_") else CHAT_ENDED)
    return "\n".join([*lines, OUTPUTS_STAY])


def _resolve_id(begin: str) -> str:
    """Return the only chat or turn whose id starts with the prefix, so that nothing is erased by a guess."""
    found = journal().read(
        lambda connection: [*queries.find_chats(connection, begin), *queries.find_turns(connection, begin)]
    )
    matches = [begin] if begin in found else found
    if len(matches) != 1:
        many = "several chat or turn ids start" if matches else "no chat or turn id starts"
        raise BadUsage(f"In the journal {many} with {shorten(begin, 60)!r}.", fix="`%chat history list` lists them.")
    return matches[0]


def _format_time(seconds: float) -> str:
    try:
        return f"{dt.datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"
    except (OverflowError, ValueError, OSError):
        return "unknown time"

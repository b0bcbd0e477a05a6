"""What a person should know of the notebook beside a turn: before it begins, and what it changed."""

from __future__ import annotations

from argparse import Namespace as Flags
from collections.abc import Callable, Iterable

from nbtool.chat.chat import Chat
from nbtool.chat.turn import Turn
from nbtool.events import Event, Notice
from nbtool.magics.cell.earlier_chat import earlier_chat_note, former_turns_note
from nbtool.magics.cell.filled_prompt import describe_unfilled
from nbtool.magics.cell.first_departure import first_departure_note
from nbtool.magics.cell.reruns import former_run_note
from nbtool.magics.flags.flag_parser import mentions
from nbtool.magics.names.name_undo import TurnChanges
from nbtool.magics.names.namespace import NotebookNamespace
from nbtool.magics.notebook.inserted_cell import CellSource


def notices_before(chat: Chat, names: NotebookNamespace, flags: Flags, turn: Turn, magic: str) -> list[str]:
    """Return the notices before a turn begins; empty texts for what does not apply."""
    cells = names.cell_contexts.get(chat.chat_id)
    return [
        earlier_chat_note(magic) if flags.begins_chat else "",
        former_turns_note(flags.former_turns, CellSource(flags.chat, magic)),
        former_run_note(turn.cell_id),
        f"Sent with {cells.describe()}." if cells else "",
        first_departure_note(chat, turn, cells=cells.count if cells else 0, magic=magic),
        names.describe_rebound(chat),
        names.describe_unmarked(chat, mentions(turn.prompt.text).quoted),
        "" if flags.fill else describe_unfilled(flags.typed, names.objects),
        names.describe_replaced(flags.out, identify_cell(turn)) if flags.out and not flags.replace else "",
    ]


def after_start(notices: Iterable[str], feed: Callable[[Event], None]) -> Callable[[Event], None]:
    """Show notices once the turn has started; they concern this kernel and are not part of the turn's history."""
    waiting = [Notice(text, topic="aside") for text in notices if text]

    def forward(event: Event) -> None:
        while waiting and event.kind != "turn_started":
            feed(waiting.pop(0))
        feed(event)

    return forward


def changes_notice(changes: TurnChanges, turn: Turn, cells: CellSource) -> str:
    """Return what a turn did to the names and cells of the notebook, and the command that takes it back."""
    command = cells.action("undo", turn)
    return f"{changes.describe()}. {changes.describe_undo(f'`{command}`')}"


def identify_cell(turn: Turn) -> str:
    """Return what identifies the cell of a turn: its id, or its text where a front end sends none."""
    return turn.cell_id or turn.prompt.text

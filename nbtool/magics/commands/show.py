"""What was said, to be read: `show`."""

from __future__ import annotations

from functools import partial

from IPython.display import display

from nbtool.blocks import conversation, limits, omission
from nbtool.blocks.conversation import Told
from nbtool.blocks.history.turn import media
from nbtool.blocks.media import sent
from nbtool.blocks.mimebundle import saved
from nbtool.blocks.whole_text import to_whole_text
from nbtool.chat.turn import Turn
from nbtool.magics.cell_source import Cells
from nbtool.magics.command_context import Command, Here, named_turn
from nbtool.magics.kernel.messages import has_front_end


def show(here: Here, words: list[str]) -> str:
    """Show the active line as one conversation, with a box to go on in; `show TURN` shows one turn again.

    `show [TURN] --whole` prints a turn, the last unless named, with nothing left out.
    What is sent from the box, and what the buttons do, is a cell that is put below, for you to run. Below the view
    stands the same as text, which a saved notebook keeps.
    """
    if omission.WHOLE in words:
        turn = named_turn(here.chat, [word for word in words if word != omission.WHOLE])
        return to_whole_text(turn.transcript(limits.WHOLE).document())
    if words:
        transcript = named_turn(here.chat, words).transcript()
        display(saved(transcript.document(), transcript.media), raw=True)  # type: ignore[no-untyped-call]  # IPython ships no types for it
        return ""
    turns = told(here)
    if not turns:
        return "Nothing was said yet."
    if getattr(here.kernel.shell, "kernel", None) is None:
        return conversation.bundle(turns)["text/plain"]
    is_watched = has_front_end(here.kernel.shell)
    if is_watched:
        # Only who reads a conversation pays for importing a widget.
        from nbtool.view.conversation import ConversationWidget  # noqa: PLC0415

        title = "The conversation" if here.name == "main" else f"The conversation {here.name}"
        magic, seen = here.cells.cell_magic, partial(_bytes, here)
        widget = ConversationWidget(lambda: conversation.to_page(told(here)), title=title, magic=magic, media=seen)
        display(widget)  # type: ignore[no-untyped-call]  # the same
    display(conversation.bundle(turns, folded=is_watched), raw=True)  # type: ignore[no-untyped-call]  # the same
    return ""


def told(here: Here) -> list[Told]:
    """Give the turns of the active line that have ended, with the cells that do something with them."""
    line = (node.turn for node in here.chat.tree.line if node.turn)
    turns = [turn for turn in line if turn.done.done()]
    return [Told(turn.prompt.text, turn.transcript().document(), _cells(turn, here.cells)) for turn in turns]


COMMANDS: dict[str, Command] = {"show": show}


def _bytes(here: Here, turn_id: str, key: str) -> bytes | None:
    """Give the bytes of an image or a sound that a page asks for."""
    return sent(media(here.chat.tree.found(turn_id)[1]).get(key))


def _cells(turn: Turn, cells: Cells) -> dict[str, str]:
    return {
        "edit": cells.said_again("edit", turn),
        "rerun": cells.said_again("rerun", turn),
        "code": cells.about("code", turn),
    }

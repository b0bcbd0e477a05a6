"""The conversation or a turn, to read: `show`."""

from __future__ import annotations

from functools import partial

from IPython.display import display

from nbtool.blocks import display_limits
from nbtool.blocks.history.turn_steps import media
from nbtool.blocks.media import displayable_bytes
from nbtool.blocks.render import omission, whole_conversation
from nbtool.blocks.render.whole_conversation import ConversationTurn
from nbtool.blocks.render.whole_text import to_whole_text
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.magics.commands.context import CommandContext, describe_empty, find_turn
from nbtool.magics.commands.past_chats.reopen import read_turn
from nbtool.magics.commands.state.model_choices import model_choices
from nbtool.magics.kernel.cell_messages import has_front_end
from nbtool.magics.notebook.inserted_cell import CellSource
from nbtool.magics.notebook.turn_output import earlier_turn_bundle, host_fields, saved_turn_bundle
from nbtool.view.actions import actions_at


def show(context: CommandContext, args: list[str]) -> str:
    """Show the chat as one conversation: `show [TURN]`.

    With a box for the next prompt; `show TURN` shows one turn, and `--whole` prints all of it.

    It switches neither the chat nor its branch. A turn of an earlier kernel, given by its id, is only read: its chat is
    not continued. `show [TURN] --whole` prints a turn, by default the last, without omissions.
    Sending from the box and the buttons insert a cell below for the person to run. Below the widget is a text version,
    which a saved notebook keeps; JupyterLab draws the widget of a saved notebook from data in it.
    """
    if args:
        return _show_turn(context, [arg for arg in args if arg != omission.WHOLE_FLAG], omission.WHOLE_FLAG in args)
    turns = conversation_turns(context)
    if not turns:
        return describe_empty()
    if getattr(context.kernel.shell, "kernel", None) is None:
        return whole_conversation.mimebundle(turns)["text/plain"]
    is_watched = has_front_end(context.kernel.shell)
    if is_watched:
        # Imported here, so that only `show` pays for the import of a widget.
        from nbtool.view.conversation_widget import ConversationWidget  # noqa: PLC0415

        title = "Conversation" if context.name == "main" else f"Conversation {context.name}"
        magic, media_bytes = context.cells.cell_magic, partial(_bytes, context)
        widget = ConversationWidget(
            lambda: whole_conversation.page_data(conversation_turns(context), model_choices(context)),
            title=title,
            magic=magic,
            media=media_bytes,
        )
        data = whole_conversation.saved_data(turns, title)
        display({**widget.mimebundle(), whole_conversation.CONVERSATION_MIME: data}, raw=True)  # type: ignore[no-untyped-call]  # IPython ships no types for it
    display(whole_conversation.mimebundle(turns, folded=is_watched), raw=True)  # type: ignore[no-untyped-call]  # the same
    return ""


def _show_turn(context: CommandContext, turns: list[str], is_whole: bool) -> str:
    if len(turns) > 1:
        raise BadUsage("%chat show takes at most one turn.", fix="`%chat history` lists the turns.")
    if turns:
        turn, of_chat, note = read_turn(context, turns[0])
    else:
        turn, of_chat, note = find_turn(context.chat, []), context, ""
    if is_whole:
        transcript = turn.transcript(display_limits.NO_LIMITS)
        transcript.update_head(**(host_fields(turn, of_chat.chat) if of_chat else {}))
        whole = to_whole_text(transcript.document())
        return f"{note}\n\n{whole}" if note else whole
    bundle = saved_turn_bundle(turn, of_chat.chat, of_chat.name) if of_chat else earlier_turn_bundle(turn)
    display(bundle, raw=True)  # type: ignore[no-untyped-call]  # the same
    return note


def conversation_turns(context: CommandContext) -> list[ConversationTurn]:
    """Return the ended turns of the active line, with the cell actions for them."""
    line = (node.turn for node in context.chat.tree.active_path if node.turn)
    turns = [turn for turn in line if turn.done.done()]
    return [
        ConversationTurn(turn.prompt.text, turn.transcript().document(), _cells(turn, context.cells)) for turn in turns
    ]


def _bytes(context: CommandContext, turn_id: str, key: str) -> bytes | None:
    """Return the bytes of an image or a sound that a page requests."""
    return displayable_bytes(media(context.chat.tree.get(turn_id)[1]).get(key))


def _cells(turn: Turn, cells: CellSource) -> dict[str, str]:
    return {action: cells.action(action, turn) for action in actions_at("conversation")}

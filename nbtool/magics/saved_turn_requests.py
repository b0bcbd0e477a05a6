"""Answer the requests of a saved turn's page: versions, branches, calls as code, models for its prompt, undo.

The page of a saved turn is the extension of JupyterLab. A saved turn may be forged, so that its ids are only looked
up: what the chat and the journal do not have is refused with the command that helps.
"""

from __future__ import annotations

from typing import Any

from nbtool.blocks.protocol import VERSION, SeenData
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage, NbtoolError
from nbtool.ids import short_id
from nbtool.magics.cell.cell_prompt import trim
from nbtool.magics.commands.context import CommandContext, Kernel
from nbtool.magics.commands.past_chats.journal_admin import open_chat
from nbtool.magics.commands.past_chats.reopen import chat_of_turn, read_chat_of, reopen_chat_of
from nbtool.magics.commands.state.model_choices import model_choices
from nbtool.magics.commands.turns.bind import TURN, bind
from nbtool.magics.commands.turns.branches import name_branch, switch
from nbtool.magics.commands.turns.undo import undo_command, undo_turn
from nbtool.magics.names.continued_chat import former_needs
from nbtool.magics.notebook.turn_code import turn_code
from nbtool.magics.notebook.turn_output import saved_turn_bundle, version_fields
from nbtool.magics.views.shown_turns import LEFT, shown_turns
from nbtool.view.saved_turn_messages import (
    ActingRequest,
    ModelsRequest,
    NameRequest,
    RepeatRequest,
    SavedTurnAnswer,
    SwitchRequest,
    VersionRequest,
    parse_request,
)


def answer_page(kernel: Kernel, content: object) -> SavedTurnAnswer | None:
    """Answer a request of the page of a saved turn; None if it is not one."""
    request = parse_request(content)
    if request is None:
        return None
    if request["kind"] == "line":
        return {"v": VERSION, "ok": True, "text": "", "notes": _line_notes(kernel, set(request["turns"]))}
    if request["kind"] == "seen":
        return {"v": VERSION, "ok": True, "text": "", "seen": _seen_results(kernel, request["turn"])}
    context = CommandContext(kernel, request["chat"])
    if request["kind"] == "models":
        return _list_models(context, request)
    try:
        return _answer(context, request)
    except NbtoolError as error:
        return {"v": VERSION, "ok": False, "text": str(error)}


def _answer(context: CommandContext, request: ActingRequest) -> SavedTurnAnswer:
    """Do what a request says.

    Raises:
        NbtoolError: it is not possible; the text is for the person.
    """
    if request["kind"] == "continue":
        return _continue(context, request["turn"])
    if request["kind"] == "code":
        return _code(context, request["turn"])
    context, note = _find_chat(context, request["turn"])
    match request["kind"]:
        case "version":
            return _switch(context, request, note)
        case "switch" | "name":
            return {"v": VERSION, "ok": True, "text": _join(note, _use_branch(context, request))}
        case "repeat":
            return _repeat(context, request, note)
        case "bind":
            text = bind(context, [request["reference"], TURN, request["turn"]])
            return {"v": VERSION, "ok": True, "text": _join(note, text)}
        case "undo":
            return _undo(context, context.chat.tree.get(request["turn"])[1], note)


def _use_branch(context: CommandContext, request: SwitchRequest | NameRequest) -> str:
    """Go to the branch of a turn, or make a chat of its own of it, down to its end."""
    turn = request["turn"]
    if request["kind"] == "name":
        return name_branch(context, turn, request["name"])
    text = switch(context, [turn])
    shown_turns.update_branch(context.chat)
    return text


def _seen_results(kernel: Kernel, turn_id: str) -> dict[str, SeenData]:
    """Return what the person sees of the results of a turn of this kernel of which the model has a reference."""
    turns = (turn for chat in kernel.chats.values() for node in chat.tree.nodes() for turn in node.versions)
    turn = next((turn for turn in turns if turn.turn_id == turn_id), None)
    blocks = turn.transcript().document()["blocks"] if turn else []
    return {block["call_id"]: block["seen"] for block in blocks if block["kind"] == "call" and "seen" in block}


def _line_notes(kernel: Kernel, turns: set[str]) -> dict[str, str]:
    """Return a text for each of the turns that chats of this kernel have: empty for one on the current line."""
    notes = {}
    for chat in kernel.chats.values():
        active = set(chat.tree.active_path)
        for node in chat.tree.nodes():
            for turn in node.versions:
                if turn.turn_id in turns:
                    notes[turn.turn_id] = "" if node in active else LEFT
    return notes


def _code(context: CommandContext, turn: str) -> SavedTurnAnswer:
    """Return the calls of a turn as code; the chat of one that only the journal has is not continued."""
    _check_known(context, turn)
    chat, note = read_chat_of(context, turn)
    exported = turn_code(chat.tree.get(turn)[1], chat, context.kernel.shell.user_ns, has_numbers=chat is context.chat)
    return {"v": VERSION, "ok": True, "text": _join(note, f"{exported.summary}."), "source": exported.text}


def _continue(context: CommandContext, chat_id: str) -> SavedTurnAnswer:
    """Continue a chat of an earlier kernel, and name what the notebook lacks for it."""
    text = open_chat(context, [chat_id])
    names = context.kernel.shell.user_ns
    needs = former_needs(context.kernel.names, context.chat)
    missing = [name for name in sorted(needs.tools | needs.variables) if name.isidentifier() and name not in names]
    return {"v": VERSION, "ok": True, "text": " ".join(text.split()), "missing": missing}


def _list_models(context: CommandContext, request: ModelsRequest) -> SavedTurnAnswer:
    """List the models for a cell that asks the prompt of a turn again; none if this kernel does not have its chat."""
    flags = f" --{request['action']} {short_id(request['turn'])}"
    models = model_choices(context, flags) if context.name in context.kernel.chats else []
    return {"v": VERSION, "ok": True, "text": "", "models": models}


def _find_chat(context: CommandContext, turn: str) -> tuple[CommandContext, str]:
    """Continue the chat of a turn here if it is one of an earlier kernel; return it and the message for the person."""
    _check_known(context, turn)
    return reopen_chat_of(context, turn)


def _check_known(context: CommandContext, turn: str) -> None:
    """Refuse a turn that does not exist, before a chat of its name is started for it."""
    if context.name not in context.kernel.chats:
        chat_of_turn(turn)


def _undo(context: CommandContext, turn: Turn, note: str) -> SavedTurnAnswer:
    """Put back what a turn changed; if cells are among it, return a cell that does it: only a cell reaches the page."""
    recorded = context.kernel.names.changes.find(turn.turn_id)
    if recorded and recorded.cells:
        text = "It takes back what this turn changed."
        return {"v": VERSION, "ok": True, "text": _join(note, text), "source": undo_command(context, turn)}
    return {"v": VERSION, "ok": True, "text": _join(note, undo_turn(context, turn))}


def _repeat(context: CommandContext, request: RepeatRequest, note: str) -> SavedTurnAnswer:
    """Say whether the turn's own cell repeats it: it sent this prompt, and its turn is on the current line then."""
    chat, typed = context.chat, trim(request["typed"])
    node, turn = chat.find_turn(request["turn"])
    sent = turn.prompt.text
    is_same = node.cell_id == turn.cell_id == request["cell"] and (sent == typed or sent.startswith(f"{typed}\n\n"))
    if is_same and typed and node not in chat.tree.active_path:
        chat.switch(turn)
        shown_turns.update_branch(chat)
    return {"v": VERSION, "ok": True, "text": note, "in_place": bool(is_same and typed)}


def _switch(context: CommandContext, request: VersionRequest, note: str) -> SavedTurnAnswer:
    """Continue from another version of a turn, and return the output that shows it."""
    chat = context.chat
    node, _ = chat.find_turn(request["turn"])
    turn = next((version for version in node.versions if version.turn_id == request["other"]), None)
    if turn is None:
        raise BadUsage("This version of the turn was deleted.", fix="`%chat undo` restores what was deleted last.")
    if not turn.done.done():
        raise BadUsage("That version is still running.", fix="Stop it, or wait until it has ended.")
    was_active = node in chat.tree.active_path
    chat.switch(turn)
    shown_turns.update_branch(chat)
    branch = "" if was_active else " It is on another branch, which is the active one now."
    text = f"Switched to {_describe_version(turn, context)}.{branch}"
    data = saved_turn_bundle(turn, chat, context.name)
    return {"v": VERSION, "ok": True, "text": _join(note, text), "data": data}


def _describe_version(turn: Turn, context: CommandContext) -> str:
    fields: dict[str, Any] = {"version": 1, "versions": 1} | version_fields(turn, context.chat)
    return f"version {fields['version']} of {fields['versions']}"


def _join(note: str, text: str) -> str:
    return f"{text} {note}".strip()

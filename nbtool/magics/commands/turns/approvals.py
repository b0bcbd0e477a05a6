"""Pending questions and their decisions: `approvals`, `approve`, `deny`, `wait`, `stop`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress

from nbtool.blocks.question import describe_request, describe_subject
from nbtool.blocks.sanitize import one_line
from nbtool.chat.chat import Chat, wait_for_turn
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.ids import short_id
from nbtool.magics.cell.endings import stop_cell
from nbtool.magics.commands.context import CommandContext, format_table
from nbtool.magics.commands.turns.show import show
from nbtool.magics.kernel.cell_messages import listener_for
from nbtool.magics.views.pageless_views import SHOWN_DIGEST
from nbtool.text import list_names
from nbtool.threads.loop import wait_for_future
from nbtool.tools.approval import BY_COMMAND, Approved, Decision, Question, Released, RememberedApproval

MIN_ID_CHARS = 4
"""Characters of a remembered approval's id that are accepted as a prefix where they match only one."""

MIN_QUESTION_CHARS = 8
"""Characters of a question's id that a decision takes: fewer might name another question that took its place."""

ID = re.compile(rf"[0-9a-f]{{{MIN_QUESTION_CHARS},}}")
"""What `deny` takes for an id, and not for the beginning of a reason."""

STOP_SECONDS = 10.0
"""How long `stop` waits for a stopped turn to end."""

WAIT = "--wait"
BACKGROUND_NOTE = (
    "The turn continues in the background; its synchronous tools run in a worker thread (or here, with `--wait`)."
)


def approvals(context: CommandContext, args: list[str]) -> str:
    """List pending approvals and remembered ones.

    `approvals revoke ID` removes a remembered one, `approvals revoke TOOL` all that are remembered of a tool.
    """
    match args:
        case ["revoke", selected]:
            return _revoke(context.chat, selected)
        case []:
            remembered = context.chat.approvals.remembered()
            rows = [_show_question(context, chat, question) for chat, question in _waiting(context)]
            if remembered:
                covered = [
                    (short_id(approval.approval_id), f"remembered {_describe_remembered(approval)}")
                    for approval in remembered
                ]
                rows += [format_table(*covered), *_ways_to_revoke(context, remembered)]
            return "\n".join(rows) or "No pending or remembered approvals."
        case _:
            raise BadUsage("%chat approvals takes no arguments, `revoke ID` or `revoke TOOL`.")


def approve(context: CommandContext, args: list[str]) -> str:
    """Approve a pending call: `approve [ID] [--wait]`.

    The id may be omitted when only one call of this chat is pending, and it was shown here.
    """
    ids = [arg for arg in args if arg != WAIT]
    if len(ids) > 1:
        raise BadUsage("%chat approve takes one id.", fix="`%chat approvals` lists the pending calls.")
    chat, question = _select(context, ids[0] if ids else "", "approve")
    decision = Approved() if question.gate == "run" else Released()
    return _decide(context, chat, question, decision, waits=WAIT in args)


def deny(context: CommandContext, args: list[str]) -> str:
    """Deny a pending call: `deny [ID] [REASON] [--wait]`.

    The id may be omitted as with `approve`. The reason is sent to the model.
    """
    arguments = [arg for arg in args if arg != WAIT]
    ids = [arg for arg in arguments[:1] if ID.fullmatch(arg)]
    chat, question = _select(context, ids[0] if ids else "", "deny")
    reason = " ".join(arguments[len(ids) :])
    return _decide(context, chat, question, question.denial(reason), waits=WAIT in args)


def stop(context: CommandContext, _: list[str]) -> str:
    """Stop the parked and background turns of the chat.

    All of them: those whose cell has ended, because a call waits or because the cell was interrupted. Their partial
    output is kept. A turn whose cell runs is stopped by *Stop* or by the kernel's interrupt; `-c NAME stop` stops those
    of another chat.
    """
    turns = [turn for turn in context.chat.running_turns if not turn.caller_thread.is_attached]
    for turn in turns:
        turn.abort()
    for turn in turns:
        with suppress(TimeoutError):
            wait_for_future(turn.done, STOP_SECONDS)
    return "Stopped." if turns else "No turn of this chat is parked or running in the background."


def _waiting(context: CommandContext) -> list[tuple[Chat, Question]]:
    """Return the pending questions of all chats, each once: chats may have one queue, such as those of a map."""
    found: dict[str, tuple[Chat, Question]] = {}
    for chat in context.kernel.chats.values():
        for question in chat.approvals.pending():
            if question.digest not in found or _has_asked(chat, question):
                found[question.digest] = chat, question
    return list(found.values())


def _has_asked(chat: Chat, question: Question) -> bool:
    """Return whether a question is one of a turn of this chat, or of a sub-chat, and not only in its queue."""
    return any(question.digest in turn.state.questions for turn in chat.running_turns)


def _select(context: CommandContext, id_: str, verb: str) -> tuple[Chat, Question]:
    """Return the question that a decision is about, with its chat.

    An id names one of any chat, or, with `-c`, of that chat. Without an id it is the only one of this chat, and a
    person was shown it: nobody decides what nobody has seen.

    Raises:
        BadUsage: there is none, or several, or it was not shown; they are printed.
    """
    waiting, chat = _waiting(context), context.chat
    own = [
        pair for pair in waiting if pair[0] is chat or (pair[0].approvals is chat.approvals and not _has_asked(*pair))
    ]
    if id_:
        return _select_by_id(context, id_, own if context.is_named else waiting)
    if not waiting:
        raise BadUsage("No call is pending.", fix="`%chat approvals` lists them.")
    if len(own) == 1 and own[0][0].approvals.is_shown(own[0][1].digest):
        return own[0]
    if len(own) == 1:
        problem = "Nothing was decided: this call was not shown here before."
    elif own:
        problem = "Several calls are pending, so nothing was decided; give an id."
    else:
        problem = f"No call of the chat {one_line(context.name, 40)!r} is pending, so nothing was decided."
    for pair in own or waiting:
        print(_describe_question(context, *pair))  # noqa: T201 - what the error is about, which is one line
    raise BadUsage(problem, fix=f"`%chat {verb} ID` decides one that is listed above.")


def _select_by_id(context: CommandContext, id_: str, among: list[tuple[Chat, Question]]) -> tuple[Chat, Question]:
    """Return the one question among these whose id begins so.

    Raises:
        BadUsage: there is none, or several, or the id is too short.
    """
    matches = [pair for pair in among if len(id_) >= MIN_QUESTION_CHARS and pair[1].digest.startswith(id_)]
    if len(matches) == 1:
        return matches[0]
    shown = one_line(id_, 60)
    if matches or len(id_) < MIN_QUESTION_CHARS:
        problem = (
            f"{shown!r} is too short to name one question: give {MIN_QUESTION_CHARS} characters of its id or more."
        )
    else:
        where = f" of the chat {one_line(context.name, 40)!r}" if context.is_named else ""
        problem = f"No question{where} with the id {shown!r} is pending: it was decided, or it has changed."
    raise BadUsage(problem, fix="`%chat approvals` lists them.")


def _show_question(context: CommandContext, chat: Chat, question: Question) -> str:
    """Describe a question for a list that a person requested, and note that it was shown."""
    chat.approvals.mark_shown(question.digest)
    return _describe_question(context, chat, question)


def _describe_question(context: CommandContext, chat: Chat, question: Question) -> str:
    owner = next(name for name, candidate in context.kernel.chats.items() if candidate is chat)
    where = "" if chat is context.chat else f" in chat {one_line(owner, 40)}"
    text = f"{question.digest[:SHOWN_DIGEST]}  waiting{where}: {describe_request(question)}"
    return text.replace("\n", "\n    ")


def _describe_remembered(approval: RememberedApproval) -> str:
    """Return what a remembered approval covers."""
    if approval.scope == "tool":
        return f"for this tool: every call of {approval.display_name}, whatever its arguments"
    return f"for this call: {approval.display_name} {one_line(approval.shown, 60)}"


def _ways_to_revoke(context: CommandContext, remembered: Sequence[RememberedApproval]) -> list[str]:
    """Return a line with the commands that revoke remembered approvals; none without any."""
    if not remembered:
        return []
    by_name = context.cells.line(f"approvals revoke {shlex.quote(remembered[-1].display_name)}")
    by_id = context.cells.line(f"approvals revoke {short_id(remembered[-1].approval_id)}")
    return [f"`{by_name}` revokes what is remembered of this tool, `{by_id}` this one."]


def _revoke(chat: Chat, selected: str) -> str:
    """Revoke the remembered approvals of a tool, or the only one whose id begins with a text.

    Raises:
        BadUsage: there is none, or several ids begin so.
    """
    queue, begin = chat.approvals, selected.removeprefix("approval_")
    found = [approval for approval in queue.remembered() if selected in (approval.tool, approval.display_name)]
    if not found and len(begin) >= MIN_ID_CHARS:
        found = [
            approval
            for approval in queue.remembered()
            if approval.approval_id.removeprefix("approval_").startswith(begin)
        ]
        if len(found) > 1:
            raise BadUsage(
                f"Several remembered approvals have ids that begin with {one_line(selected, 60)!r}.",
                fix="`%chat approvals` lists them.",
            )
    if not found:
        fix = "`%chat approvals` lists them; it takes an id or the name of a tool."
        raise BadUsage(f"No approval is remembered for {one_line(selected, 60)!r}.", fix=fix)
    for approval in found:
        queue.revoke(approval.approval_id)
    revoked = "".join(f"\n  {short_id(approval.approval_id)}  {_describe_remembered(approval)}" for approval in found)
    names = list_names(sorted({approval.display_name for approval in found}), 5)
    return f"Revoked; {names} needs approval again:{revoked}"


def _decide(context: CommandContext, chat: Chat, question: Question, decision: Decision, *, waits: bool) -> str:
    is_yes = isinstance(decision, Approved | Released)
    decided = f"{type(decision).__name__}: {describe_subject(question)}."
    turn = next((turn for turn in chat.running_turns if question.digest in turn.state.questions), None)

    def decide() -> None:
        chat.approvals.decide(question.digest, decision, by=BY_COMMAND if is_yes else "%chat deny")

    if waits and turn:
        return f"{decided} {_wait_in_cell(context, turn, decide)}"
    decide()
    return f"{decided} {BACKGROUND_NOTE if turn and turn.state.outlives_cell else ''}".rstrip()


def _wait_in_cell(context: CommandContext, turn: Turn, on_start: Callable[[], None]) -> str:
    """Wait for a turn on this cell's thread, which runs its synchronous tools."""
    kernel = getattr(context.kernel.shell, "kernel", None)
    listener = listener_for(kernel) if kernel else None
    try:
        wait_for_turn(turn, on_tick=listener.poll if listener else lambda: None, on_start=on_start)
    except KeyboardInterrupt:
        raise stop_cell(context.kernel.shell, turn, has_view=False) from None
    if not turn.done.done():
        return _pending_note(context, turn)
    return "The turn has ended." if kernel else f"The turn has ended.{show(context, [turn.turn_id])}"


def _pending_note(context: CommandContext, turn: Turn) -> str:
    """Return which decisions a turn waits for, each question with its tool and its arguments."""
    asked = [(chat, question) for chat, question in _waiting(context) if question.digest in turn.state.questions]
    ids = " or ".join(question.digest[:SHOWN_DIGEST] for _, question in asked)
    shown = "".join(f"\n{_show_question(context, chat, question)}" for chat, question in asked)
    return f"The turn needs a decision: `%chat approve {ids}` or `%chat deny {ids}`.{shown}"

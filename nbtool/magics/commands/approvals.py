"""What waits for a person, and what a person decided: `approvals`, `approve`, `deny`, `wait`, `cancel`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import TimeoutError as TooLong
from contextlib import suppress

from nbtool.blocks.question import effect_of, notice_of, remarks_of, sentence_of
from nbtool.blocks.resolved import resolved_shapes
from nbtool.blocks.sanitize import one_line
from nbtool.chat.chat import Chat, wait_for
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.magics.cell import TurnStopped
from nbtool.magics.command_context import Command, Here, table
from nbtool.magics.commands.show import show
from nbtool.magics.kernel.messages import ears_for
from nbtool.tools.approval import Approved, Decision, Question, Released

SHORTEST_ID = 4
"""Characters of an id that are enough where they name one question alone."""

CANCEL_SECONDS = 10.0
"""How long `cancel` waits for a stopped turn to end."""

WAIT = "--wait"
GOES_ON = "The turn goes on in the background; its synchronous tools run in a worker thread (`--wait` lends this cell)."


def approvals(here: Here, words: list[str]) -> str:
    """List what waits for a decision and what is remembered; `revoke ID` forgets one."""
    desk = here.chat.desk
    match words:
        case ["revoke", approval_id]:
            desk.revoke(approval_id)
            return f"{approval_id} is forgotten: its tool asks again."
        case []:
            waiting = [(q.digest[:12], _told(here, chat, q)) for chat, q in _waiting(here)]
            kept = [
                (r.approval_id, f"remembered for this {r.scope}: {r.tool} {one_line(r.shown, 60)}")
                for r in desk.remembered()
            ]
            return table(*waiting, *kept) if waiting or kept else "Nothing waits, and no approval is remembered."
        case _:
            raise BadUsage("%chat approvals takes nothing, or `revoke ID`.")


def approve(here: Here, words: list[str]) -> str:
    """Approve what waits: `approve [ID] [--wait]`; the id may be left out where one question waits alone."""
    named = [word for word in words if word != WAIT]
    chat, question = _pending(here, named)
    if len(named) > 1:
        raise BadUsage("%chat approve takes one id.", fix="`%chat approvals` lists what waits.")
    decision = Approved() if question.gate == "run" else Released()
    return _decide(here, chat, question, decision, waits=WAIT in words)


def deny(here: Here, words: list[str]) -> str:
    """Deny what waits, with a reason that the model reads: `deny [ID] [REASON] [--wait]`."""
    said = [word for word in words if word != WAIT]
    named = [word for word in said[:1] if _named(here, word)]
    chat, question = _pending(here, named)
    reason = " ".join(said[len(named) :])
    return _decide(here, chat, question, question.denial(reason), waits=WAIT in words)


def wait(here: Here, words: list[str]) -> str:
    """Lend this cell to the turn that goes on in the background, until it ends or waits for a person."""
    if words:
        raise BadUsage("%chat wait takes nothing.")
    if not (turns := here.chat.unfinished):
        return "No turn of this chat goes on in the background."
    return _waits_for_you(here, turns[0]) if here.chat.questions(turns[0]) else _lend(here, turns[0], lambda: None)


def cancel(here: Here, words: list[str]) -> str:
    """Stop the parked and background turns of the chat; what came so far is kept."""
    if words:
        raise BadUsage("%chat cancel takes nothing; `%chat -c NAME cancel` names another chat.")
    turns = [turn for turn in here.chat.unfinished if not turn.lent.is_attached]
    for turn in turns:
        turn.stop()
    for turn in turns:
        with suppress(TooLong):
            turn.done.result(CANCEL_SECONDS)
    return "Stopped." if turns else "No turn of this chat is parked or goes on in the background."


COMMANDS: dict[str, Command] = {
    "approvals": approvals,
    "approve": approve,
    "deny": deny,
    "wait": wait,
    "cancel": cancel,
}


def _waiting(here: Here) -> list[tuple[Chat, Question]]:
    return [(chat, question) for chat in here.kernel.chats.values() for question in chat.desk.pending()]


def _named(here: Here, word: str) -> list[tuple[Chat, Question]]:
    if len(word) < SHORTEST_ID:
        return []
    return [(chat, question) for chat, question in _waiting(here) if question.digest.startswith(word)]


def _pending(here: Here, words: list[str]) -> tuple[Chat, Question]:
    """Find the question that is meant, in whichever chat it waits."""
    found = _named(here, words[0]) if words else _waiting(here)
    if len(found) != 1:
        problem = "Name one call that waits." if _waiting(here) else "Nothing waits."
        raise BadUsage(problem, fix="`%chat approvals` lists them.")
    return found[0]


def _told(here: Here, chat: Chat, question: Question) -> str:
    name = next(name for name, known in here.kernel.chats.items() if known is chat)
    where = "" if chat is here.chat else f" in chat {one_line(name, 40)}"
    resolved = resolved_shapes(question.resolved)
    said = sentence_of(question.gate, question.tool, question.shown, resolved, len(question.media))
    remarks = remarks_of(question.again, question.notes)
    more = [text for text in (remarks, notice_of(question.notice), effect_of(question.effect)) if text]
    return "\n".join([f"waiting{where}: {said}", *more]).replace("\n", "\n    ")


def _decide(here: Here, chat: Chat, question: Question, decision: Decision, *, waits: bool) -> str:
    word, is_yes = type(decision).__name__, isinstance(decision, Approved | Released)
    turn = next((turn for turn in chat.unfinished if question.digest in turn.parking.questions), None)

    def decide() -> None:
        chat.desk.decide(question.digest, decision, by=f"%chat {'approve' if is_yes else 'deny'}")

    if waits and turn:
        return f"{word}. {_lend(here, turn, decide)}"
    decide()
    return f"{word}. {GOES_ON if turn and turn.parking.is_parked else ''}".rstrip()


def _lend(here: Here, turn: Turn, go: Callable[[], None]) -> str:
    """Wait for a turn on this cell's thread, where its synchronous tools run meanwhile."""
    kernel = getattr(here.kernel.shell, "kernel", None)
    ears = ears_for(kernel) if kernel else None
    try:
        wait_for(turn, ears=ears.listen if ears else None, go=go)
    except KeyboardInterrupt:
        raise TurnStopped from None
    if not turn.done.done():
        return _waits_for_you(here, turn)
    return "The turn has ended." if kernel else f"The turn has ended.{show(here, [turn.turn_id])}"


def _waits_for_you(here: Here, turn: Turn) -> str:
    chats = (chat for chat in here.kernel.chats.values() if turn in chat.unfinished)
    ids = " or ".join(digest[:12] for chat in chats for digest in chat.questions(turn))
    return f"The turn waits for you: `%chat approve {ids}`, or `%chat deny`."

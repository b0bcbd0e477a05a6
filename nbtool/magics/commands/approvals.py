"""What waits for a person, and what a person decided: `approvals`, `approve`, `deny`."""

from __future__ import annotations

from nbtool.blocks.plain import one_line
from nbtool.chat.chat import Chat
from nbtool.errors import BadUsage
from nbtool.magics.commands.here import Command, Here, table
from nbtool.tools.approval import Approved, Denied


def approvals(here: Here, words: list[str]) -> str:
    """List what waits for a decision and what is remembered; `revoke ID` forgets one."""
    desk = here.chat.desk
    match words:
        case ["revoke", approval_id]:
            desk.revoke(approval_id)
            return f"{approval_id} is forgotten: its tool asks again."
        case []:
            waiting = [(q.digest[:12], f"waiting: {q.tool} {one_line(q.shown, 80)}") for q in desk.pending()]
            kept = [
                (r.approval_id, f"remembered for this {r.scope}: {r.tool} {one_line(r.shown, 60)}")
                for r in desk.remembered()
            ]
            return table(*waiting, *kept) if waiting or kept else "Nothing waits, and no approval is remembered."
        case _:
            raise BadUsage("%chat approvals takes nothing, or `revoke ID`.")


def approve(here: Here, words: list[str]) -> str:
    """Approve the call that waits under an id."""
    here.chat.desk.decide(_pending(here.chat, words[:1]), Approved(), by="%chat approve")
    return "Approved."


def deny(here: Here, words: list[str]) -> str:
    """Deny the call that waits under an id, with a reason."""
    here.chat.desk.decide(_pending(here.chat, words[:1]), Denied(" ".join(words[1:])), by="%chat deny")
    return "Denied."


COMMANDS: dict[str, Command] = {"approvals": approvals, "approve": approve, "deny": deny}


def _pending(chat: Chat, words: list[str]) -> str:
    found = [question.digest for question in chat.desk.pending() if words and question.digest.startswith(words[0])]
    if len(found) != 1:
        raise BadUsage("Name one call that waits.", fix="`%chat approvals` lists them.")
    return found[0]

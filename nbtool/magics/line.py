"""`%chat …`: administration, a small table of commands."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from IPython.display import display

from nbtool.blocks.plain import one_line
from nbtool.blocks.static_html import saved
from nbtool.chat.chat import Chat
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.magics.recorded import decoded
from nbtool.settings import home
from nbtool.tools.approval import Approved, Denied

Command = Callable[[Chat, list[str]], str]


def run(chat: Chat, words: list[str]) -> str:
    """Carry out `%chat WORDS` and give what it has to say.

    Raises:
        BadUsage: there is no such command.
    """
    name, *rest = words or ["help"]
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        raise BadUsage(f"%chat knows no {name!r}.", fix=f"Did you mean {near[0]}?" if near else "See `%chat help`.")
    return COMMANDS[name](chat, rest)


def status(chat: Chat, _: list[str]) -> str:
    """Say what the chat is made of, and why."""
    turns = [node.turn for node in chat.tree.line if node.turn]
    return _table(
        ("model", f"{chat.model.name} ({chat.model.why})"),
        ("tools", ", ".join(chat.tools.tools()) or "none"),
        ("variables", ", ".join(entry.name for entry in chat.exposed()) or "none"),
        ("turns", f"{len(turns)} on the active line"),
        ("tokens", f"{sum(t.usage.input_tokens for t in turns)} in, {sum(t.usage.output_tokens for t in turns)} out"),
        ("history", chat.history),
        ("journal", str(home() / "journal.sqlite")),
    )


def tools(chat: Chat, _: list[str]) -> str:
    """List the tools, with when they ask."""
    rows = [(tool.name, f"{tool.policy.run}; {one_line(tool.description, 80)}") for tool in chat.tools.tools().values()]
    return _table(*rows) if rows else "No tools. Expose a function with `%%chat -t NAME` or &`name` in the prompt."


def variables(chat: Chat, _: list[str]) -> str:
    """List the exposed variables as the model is told of them."""
    rows = [(entry.name, chat.variables.describe(entry.name)) for entry in chat.exposed()]
    return _table(*rows) if rows else "No variables. Expose one with `%%chat -v NAME` or $`name` in the prompt."


def history(chat: Chat, _: list[str]) -> str:
    """List the turns of the active line."""
    rows = [
        (turn.turn_id, f"{turn.status}; {_versions(node.current, len(node.versions))}{one_line(turn.prompt.text, 70)}")
        for node in chat.tree.line
        if (turn := node.turn)
    ]
    return _table(*rows) if rows else "Nothing was said yet."


def show(chat: Chat, words: list[str]) -> str:
    """Show a turn again, the last one when none is named."""
    display(saved(_turn(chat, words).transcript().document()), raw=True)  # type: ignore[no-untyped-call]  # IPython ships no types for it
    return ""


def approvals(chat: Chat, words: list[str]) -> str:
    """List what waits for a decision and what is remembered; `revoke ID` forgets one."""
    match words:
        case ["revoke", approval_id]:
            chat.desk.revoke(approval_id)
            return f"{approval_id} is forgotten: its tool asks again."
        case []:
            waiting = [(q.digest[:12], f"waiting: {q.tool} {one_line(q.shown, 80)}") for q in chat.desk.pending()]
            kept = [
                (r.approval_id, f"remembered for this {r.scope}: {r.tool} {one_line(r.shown, 60)}")
                for r in chat.desk.remembered()
            ]
            return _table(*waiting, *kept) if waiting or kept else "Nothing waits, and no approval is remembered."
        case _:
            raise BadUsage("%chat approvals takes nothing, or `revoke ID`.")


def approve(chat: Chat, words: list[str]) -> str:
    """Approve the call that waits under an id."""
    chat.desk.decide(_pending(chat, words[:1]), Approved(), by="%chat approve")
    return "Approved."


def deny(chat: Chat, words: list[str]) -> str:
    """Deny the call that waits under an id, with a reason."""
    chat.desk.decide(_pending(chat, words[:1]), Denied(" ".join(words[1:])), by="%chat deny")
    return "Denied."


def models(chat: Chat, _: list[str]) -> str:
    """List what the chat's provider offers."""
    return "\n".join(chat.model.offered())


def decode(_: Chat, words: list[str]) -> str:
    """Read a recorded response body and say what the reply is: `decode FILE [WIRE]`."""
    return decoded(words)


def new(chat: Chat, _: list[str]) -> str:
    """Start the conversation afresh; what was said stays in the history."""
    chat.tree.branch(None)
    return "A new conversation begins with the next cell."


def help_(_: Chat, __: list[str]) -> str:
    """List the commands."""
    return _table(*((name, (command.__doc__ or "").splitlines()[0]) for name, command in COMMANDS.items()))


COMMANDS: dict[str, Command] = {
    "status": status,
    "models": models,
    "tools": tools,
    "vars": variables,
    "history": history,
    "show": show,
    "approvals": approvals,
    "approve": approve,
    "deny": deny,
    "new": new,
    "decode": decode,
    "help": help_,
}


def _turn(chat: Chat, words: list[str]) -> Turn:
    turns = [node.turn for node in chat.tree.line if node.turn]
    if words:
        node = chat.tree.find(words[0])
        return next(turn for turn in node.versions if turn.turn_id.startswith(words[0]))
    if not turns:
        raise BadUsage("Nothing was said yet.", fix="Say something in a `%%chat` cell first.")
    return turns[-1]


def _pending(chat: Chat, words: list[str]) -> str:
    found = [question.digest for question in chat.desk.pending() if words and question.digest.startswith(words[0])]
    if len(found) != 1:
        raise BadUsage("Name one call that waits.", fix="`%chat approvals` lists them.")
    return found[0]


def _versions(current: int, count: int) -> str:
    return f"version {current + 1} of {count}; " if count > 1 else ""


def _table(*rows: tuple[str, Any]) -> str:
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)

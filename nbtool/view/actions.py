"""What can be done with a turn, a call or a question: one table for live and saved turns, the explorer and the card.

The page has it generated (`js/src/text/actions.json`), so that a button has the same name and the same condition
wherever it stands. `nbtool.magics.notebook.inserted_cell` writes the cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ActionId = Literal[
    "go_on", "rerun", "edit", "edit_reply", "resume", "execute", "rerun_from", "switch", "branch", "code", "explore",
    "undo", "version", "bind", "export",
]  # fmt: skip
"""An action on a turn, on one of its calls, or on its chat."""

ActionPlace = Literal[
    "live", "saved", "saved_versions", "saved_call", "conversation", "explorer", "past", "call", "toolbar"
]
"""Where an action is offered: a turn of this kernel, one that a notebook saved,
the versions and the calls of that, a turn of `%chat show`, of the explorer, of a past chat there, a call there, and
its toolbar."""

ActionNeed = Literal["ended", "stopped", "calls", "changes", "versions"]
"""What the turn has to be: it has ended, did not complete, has calls, changed the notebook, lists its versions."""


@dataclass(frozen=True, slots=True)
class Action:
    """An action: the name of its button, and what a tooltip says of it.

    `in_place` says it where the page can do it in the turn's own cell, `{cost}` in it what the last time took. `cell`
    is the cell that does it: `{chat}` the name of the magic with the chat, `{turn}` the turn's id, and what else it
    takes.
    """

    label: str
    help: str
    places: tuple[ActionPlace, ...]
    needs: tuple[ActionNeed, ...] = ()
    cell: str = ""
    in_place: str = ""


ACTIONS: dict[ActionId, Action] = {
    "go_on": Action("Continue", "a cell below opens this chat again", ("past",), cell="%{chat} open {past}"),
    "rerun": Action(
        "Rerun",
        "a cell below asks the same again",
        ("live", "saved", "conversation", "explorer"),
        ("ended",),
        "%%{chat} --rerun {turn}",
        "sends the prompt again from its cell, as a new version. {cost} Alt: as a cell below",
    ),
    "edit": Action(
        "Edit prompt",
        "a cell below with the prompt, to be changed and run",
        ("live", "saved", "conversation", "explorer"),
        ("ended",),
        "%%{chat} --edit {turn}\n{prompt}",
        "a box to change it here and send it. {cost} Alt: as a cell below",
    ),
    "edit_reply": Action(
        "Edit reply",
        "a cell below with the last reply, to be changed and run; later requests have it as you write it",
        ("explorer",),
        ("ended",),
        "%%{chat} --edit {turn}:reply\n{reply}",
    ),
    "resume": Action(
        "Continue turn",
        "a cell below goes on after the last finished call, as a new version",
        ("live", "saved", "conversation", "explorer"),
        ("ended", "stopped"),
        "%%{chat} --rerun {turn}:resume",
    ),
    "execute": Action(
        "Rerun calls",
        "a cell below runs its calls again as they were, without the model",
        ("explorer",),
        ("ended", "calls"),
        "%%{chat} --rerun {turn}:tools",
    ),
    "rerun_from": Action(
        "Rerun from round {round}",
        "a cell below keeps what was before that round, and asks again from there",
        ("call",),
        ("ended",),
        "%%{chat} --rerun {turn}:{round}",
    ),
    "switch": Action(
        "Switch to this turn",
        "a cell below makes its branch the active one",
        ("explorer",),
        cell="%{chat} branch {turn} --switch",
    ),
    "branch": Action(
        "Branch from here", "a cell below lets the next prompt follow it", ("explorer",), cell="%{chat} branch {turn}"
    ),
    "code": Action(
        "To code",
        "a cell below with the calls as Python code",
        ("live", "saved", "conversation", "explorer", "call"),
        ("ended", "calls"),
        "%{chat} export py --cell {turn}",
    ),
    "explore": Action(
        "Explore",
        "this turn in the history, in a cell below",
        ("live", "saved"),
        ("ended",),
        "%{chat} explore {turn}",
    ),
    "undo": Action(
        "Undo",
        "put back what this turn changed in the notebook, where you have not changed it since",
        ("live", "saved"),
        ("ended", "changes"),
        "%{chat} undo {turn}",
    ),
    "version": Action(
        "Version",
        "it is shown here, and the chat goes on from it",
        ("saved_versions",),
        ("versions",),
        "%{chat} branch {other} --switch",
    ),
    "bind": Action(
        "Add to notebook",
        "a variable for this result",
        ("saved_call", "call"),
        cell="%{chat} bind {reference} --turn {turn}",
    ),
    "export": Action(
        "Export",
        "a cell below writes the chat to a Markdown file (or json, ipynb, code)",
        ("toolbar",),
        cell="%{chat} export md",
    ),
}
"""All actions, in the order of their buttons."""


def actions_at(*places: ActionPlace) -> tuple[ActionId, ...]:
    """Return the actions that are offered at any of these places, in the order of their buttons."""
    return tuple(action for action, row in ACTIONS.items() if not set(places).isdisjoint(row.places))


QuestionKind = Literal["run", "result", "form", "sign_in"]
"""What a question is about: a call, its result, the form of a server, or the page on which a person signs in to one."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One of the two answers to a question: the name of its button, and the message of the page that it sends."""

    label: str
    kind: Literal["approve", "deny", "release", "withhold"]


ANSWERS: dict[QuestionKind, tuple[Answer, Answer]] = {
    "run": (Answer("Approve", "approve"), Answer("Deny", "deny")),
    "result": (Answer("Release", "release"), Answer("Withhold", "withhold")),
    "form": (Answer("Send", "approve"), Answer("Decline", "deny")),
    "sign_in": (Answer("Open sign-in page", "approve"), Answer("Do not sign in", "deny")),
}
"""The answers to each kind of question: first the one that lets it go on."""

REASON_HINTS: dict[Literal["run", "result"], str] = {"run": "Reason, if you deny", "result": "Reason, if you withhold"}
"""What stands in the empty field for a reason."""

ANSWER_KEYS: tuple[str, str] = ("Control+Enter", "Control+Shift+Enter")
"""The keys of the two answers, as in `aria-keyshortcuts`; Cmd counts as Ctrl."""

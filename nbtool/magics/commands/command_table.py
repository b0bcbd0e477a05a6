"""The commands of `%chat`: what runs each, and what the parser, the help, Tab and docs/commands.md say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from nbtool.blocks.render import omission
from nbtool.magics.commands import serve
from nbtool.magics.commands.context import Run
from nbtool.magics.commands.files import decode, exports, recordings
from nbtool.magics.commands.past_chats import explore, former_model, journal_admin
from nbtool.magics.commands.prompting import fix_explain, mcp_prompts
from nbtool.magics.commands.state import doctor, env, status, use
from nbtool.magics.commands.turns import approvals, bind, branches, show, turn_list, undo

Value = Literal["turn", "chat", "past chat", "call", "setting", "command", "path"]
"""What a word of a command may be, of which Tab offers what there is."""

Arguments = Literal["checked", "own", "text", "none"]
"""How the words after a command are read: `checked` for unknown options, by the command itself (`own`), with a text of
free words at the end, in which an apostrophe may stand alone (`text`), or not at all, but for its options (`none`)."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its first word may be one of `words`, each with what follows it, or a value of `values`.

    `has_equals`: an option may be joined to its value, as in `--model=NAME`. `continues_chat`: a turn of an earlier
    kernel first continues its chat. `instead` is the way that replaces a former command; empty for one that stays.
    """

    run: Run
    heading: str
    words: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    values: tuple[Value, ...] = ()
    options: tuple[str, ...] = ()
    arguments: Arguments = "checked"
    has_equals: bool = False
    continues_chat: bool = False
    instead: str = ""


CHAT = "This chat"
TURNS = "Turns"
PAST = "Earlier chats and files"
TOOLS = "Tools, variables and approvals"
CELLS = "The notebook's cells"
SETTINGS = "Settings and other programs"
FORMER = "Former names"
"""The heading of what has another way in now, and still works."""

COMMANDS: dict[str, Command] = {
    "status": Command(status.status, CHAT, options=(status.CHECK,), arguments="none"),
    "models": Command(status.models, CHAT),
    "show": Command(show.show, CHAT, values=("turn",), options=(omission.WHOLE_FLAG,)),
    "explore": Command(explore.explore, CHAT, values=("turn",), options=(explore.STATIC,)),
    "new": Command(turn_list.new, CHAT, arguments="none"),
    "history": Command(
        turn_list.history,
        TURNS,
        words={"list": (), "search": (), "vacuum": (), "erase": ("past chat",)},
        options=journal_admin.OPTIONS,
        arguments="text",
    ),
    "branch": Command(branches.branch, TURNS, values=("turn",), options=(branches.SWITCH,), continues_chat=True),
    "undo": Command(undo.undo, TURNS, values=("turn",), options=(undo.REPLACE,), continues_chat=True),
    "stop": Command(approvals.stop, TURNS, arguments="none"),
    "open": Command(
        journal_admin.open_chat,
        PAST,
        values=("chat", "past chat", "path"),
        options=former_model.MODEL_FLAGS,
        has_equals=True,
    ),
    "export": Command(
        exports.export,
        PAST,
        words=dict.fromkeys(exports.FORMATS, ()),
        values=("path",),
        options=(exports.CELL, *exports.FORCE),
    ),
    "record": Command(recordings.record, PAST, values=("path",), options=(recordings.ONLY,)),
    "tools": Command(status.tools, TOOLS, arguments="none"),
    "bind": Command(bind.bind, TOOLS, options=(bind.REPLACE, bind.TURN)),
    "approvals": Command(approvals.approvals, TOOLS, words={"revoke": ()}),
    "approve": Command(approvals.approve, TOOLS, values=("call",), options=(approvals.WAIT,)),
    "deny": Command(approvals.deny, TOOLS, values=("call",), options=(approvals.WAIT,), arguments="text"),
    "fix": Command(fix_explain.fix, CELLS, options=(fix_explain.DRY_RUN,), arguments="text"),
    "explain": Command(fix_explain.explain, CELLS, options=(fix_explain.DRY_RUN,), arguments="text"),
    "prompt": Command(mcp_prompts.prompt, CELLS, arguments="own"),
    "config": Command(status.config, SETTINGS, values=("setting",), arguments="own"),
    "env": Command(env.env, SETTINGS, words={"allow": (), "forget": ()}),
    "serve": Command(serve.serve, SETTINGS, options=serve.OPTIONS, arguments="own"),
    "use": Command(use.use, FORMER, values=("chat",), instead="%chat open NAME"),
    "vars": Command(status.variables, FORMER, arguments="none", instead="%chat tools"),
    "doctor": Command(doctor.doctor, FORMER, arguments="none", instead="%chat status --check"),
    "switch": Command(
        branches.switch, FORMER, values=("turn",), continues_chat=True, instead="%chat branch TO --switch"
    ),
    "cancel": Command(approvals.stop, FORMER, arguments="none", instead="%chat stop"),
    "wait": Command(approvals.wait, FORMER, arguments="none", instead="%chat approve ID --wait"),
    "code": Command(
        exports.code, FORMER, values=("turn",), options=(exports.ALL,), instead="%chat export py --cell [TURN]"
    ),
    "replay": Command(recordings.replay, FORMER, values=("path",), instead="%chat record FILE --only"),
    "decode": Command(decode.decode_file, FORMER, values=("path",), instead="nbtool.wire.decode(wire, body)"),
    **{
        name: Command(run, FORMER, values=("turn",), continues_chat=True, instead=instead, options=options)
        for name, run, instead, options in (
            ("hide", branches.hide, "chat.hide(turn)", ()),
            ("unhide", branches.unhide, "chat.show(turn)", ()),
            ("pin", branches.pin, "chat.pin(turn)", ()),
            ("unpin", branches.unpin, "chat.unpin(turn)", ()),
            ("delete", branches.delete, "chat.delete(turn)", (branches.BELOW_FLAG,)),
        )
    },
}
"""All commands but `help`, in the order of the help."""

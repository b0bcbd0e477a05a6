"""The commands of `%chat`: what runs each, and what the parser, the help, Tab and docs/commands.md say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from nbtool.blocks.render import omission
from nbtool.magics.commands import serve
from nbtool.magics.commands.context import Run
from nbtool.magics.commands.files import exports, recordings
from nbtool.magics.commands.past_chats import explore, former_model, journal_admin
from nbtool.magics.commands.prompting import fix_explain, mcp_prompts
from nbtool.magics.commands.state import env, skills, status
from nbtool.magics.commands.turns import approvals, bind, branches, show, turn_list, undo

Value = Literal["turn", "chat", "past chat", "call", "setting", "command", "path"]
"""What a word of a command may be, of which Tab offers what there is."""

Arguments = Literal["checked", "own", "text", "prompt", "search", "none"]
"""How the words after a command are read: `checked` for unknown options, by the command itself (`own`), with a text of
free words at the end, in which an apostrophe may stand alone (`text`), which may be a `prompt` with the flags of cells,
or have words like options (`search`), or not at all, but for its options (`none`)."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its first word may be one of `words`, each with what follows it, or a value of `values`.

    `unknown`: what is said of options that it has not, and that a person may expect. `has_equals`: an option may be
    joined to its value, as in `--model=NAME`. `continues_chat`: a turn of an earlier kernel first continues its chat.
    """

    run: Run
    heading: str
    words: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    values: tuple[Value, ...] = ()
    options: tuple[str, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)
    arguments: Arguments = "checked"
    has_equals: bool = False
    continues_chat: bool = False


CHAT = "This chat"
TURNS = "Turns"
PAST = "Earlier chats and files"
TOOLS = "Tools, variables and approvals"
CELLS = "The notebook's cells"
SETTINGS = "Settings and other programs"

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
        arguments="search",
    ),
    "branch": Command(
        branches.branch,
        TURNS,
        values=("turn",),
        options=branches.OPTIONS,
        unknown=branches.UNKNOWN,
        continues_chat=True,
    ),
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
    "fix": Command(fix_explain.fix, CELLS, options=fix_explain.FLAGS, arguments="prompt"),
    "explain": Command(fix_explain.explain, CELLS, options=fix_explain.FLAGS, arguments="prompt"),
    "prompt": Command(mcp_prompts.prompt, CELLS, arguments="own"),
    "config": Command(status.config, SETTINGS, values=("setting",), arguments="own"),
    "skills": Command(skills.skills, SETTINGS, words={"allow": (), "forget": ()}),
    "env": Command(env.env, SETTINGS, words={"allow": (), "forget": ()}),
    "serve": Command(serve.serve, SETTINGS, options=serve.OPTIONS, arguments="own"),
}
"""All commands but `help`, in the order of the help."""

CHAT_IN_PYTHON = "nbtool.chats()[NAME]"
"""The conversations of cells in Python: those without a name are `main`."""

FORMER_COMMANDS: dict[str, str] = {
    "use": "`%chat open NAME`",
    "vars": "`%chat tools`",
    "doctor": "`%chat status --check`",
    "switch": "`%chat branch TO --switch`",
    "cancel": "`%chat stop`",
    "wait": "`%chat approve ID --wait`",
    "code": "`%chat export py --cell [TURN]`",
    "replay": "`%chat record FILE --only`",
    "decode": "`nbtool.wire.decode(wire, body)`",
    "hide": f"`{CHAT_IN_PYTHON}.hide(TURN)`",
    "unhide": f"`{CHAT_IN_PYTHON}.show(TURN)`",
    "pin": f"`{CHAT_IN_PYTHON}.pin(TURN)`",
    "unpin": f"`{CHAT_IN_PYTHON}.unpin(TURN)`",
    "delete": f"`{CHAT_IN_PYTHON}.delete(TURN)`",
}
"""What replaces each former command, which runs nothing and says so."""

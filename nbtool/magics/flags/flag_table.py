"""The flags of `%%chat`: what the parser, the help, Tab and docs/commands.md say of each."""

from __future__ import annotations

import argparse
import difflib
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from nbtool.errors import BadUsage
from nbtool.magics.flags.config import APPROVE
from nbtool.view.page_messages import is_valid_name

MAX_SHOWN = 80
"""Characters of unexpected words that an error shows."""

TAKE_AWAY = "!"
"""What a name begins with that a flag takes away."""

TAKEN_AWAY = {"tool": "no_tool", "var": "hide", "read": "hide"}
"""The flags that take names away too, each with the list of those."""

HELP_WIDTH = 100
"""Characters of a line of the help."""

REPEATING = ("rerun", "edit")
"""The flags that work on an earlier turn, without dashes."""

_SETTINGS = (
    "wire", "tool_mode", "tool_format", "max_rounds", "max_calls", "max_repeats", "answer_within", "check_results",
    "replay", "history",
)  # fmt: skip
"""The settings of a cell that were flags by the same names."""

FORMER_FLAGS: dict[str, str] = {
    "-T": "-t !NAME",
    "--no-tool": "-t !NAME",
    "--hide": "-v !NAME",
    "--provider-tool": "-t NAME",
    "--append": "--set append_turns=true",
    "--fill": "--set fill_prompt=true",
    "--replace": "--set replace_names=true",
    "--no-stream": "--set stream=false",
    "--resume": "--rerun TURN:resume",
    "--re-execute": "--rerun TURN:tools",
    "--from": "--rerun TURN:N",
    "--no-check-results": "--set check_results=false",
    **{f"--{name.replace('_', '-')}": f"--set {name}=VALUE" for name in _SETTINGS},
}
"""What replaces each former flag; a line with one runs nothing and says so."""

FORMER = "%%chat: {flag} is `{instead}` now."


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises a one-line error instead of exiting the process."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(add_help=False, allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        """Raise BadUsage with the nearest flag."""
        raise BadUsage(f"{self.prog}: {message}.", fix=self._nearest(message))

    def flags(self) -> list[argparse.Action]:
        """Return every flag."""
        return list(self._actions)

    def add_list(self, *names: str, metavar: str, **settings: Any) -> argparse.Action:
        """Add a flag that takes several words, and may be given several times."""
        return self.add_argument(*names, metavar=metavar, action="extend", nargs="+", default=[], **settings)

    def format_help(self) -> str:
        """Return the help: what a line may have, each flag, and what a prompt may have."""
        formatter = argparse.HelpFormatter(self.prog, max_help_position=30, width=HELP_WIDTH)
        formatter.add_text(self.description)
        formatter.start_section("flags")
        formatter.add_arguments(self._actions)
        formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def _nearest(self, message: str) -> str:
        """Return the flag that is meant; the letter of a short one says nothing of another letter."""
        wrong = re.search(r"(--?[\w-]+)", message)
        flags = [name for action in self.flags() for name in action.option_strings]
        near: list[str] = []
        if wrong and len(wrong[1]) > 2:
            near = difflib.get_close_matches(wrong[1].lower(), flags, n=1, cutoff=0.7)
        elif wrong and wrong[1].lower() in flags:
            near = [wrong[1].lower()]
        return f"Did you mean {near[0]}?" if near and wrong and near[0] != wrong[1] else "See `%%chat --help`."


def long_name(flag: argparse.Action) -> str:
    """Return the first name of a flag with two dashes."""
    return next(name for name in flag.option_strings if name.startswith("--"))


def describe_flag(flag: argparse.Action) -> str:
    """Return what a flag does."""
    text = (flag.help or "").replace("%%", "%")
    return f"{text[:1].upper()}{text[1:]}."


def check_former(words: Sequence[str]) -> None:
    """Check that no word of a line is a former flag.

    Raises:
        BadUsage: one is; the error names the way that replaces it.
    """
    for word in words:
        name = word[:2] if word.startswith("-T") else word.partition("=")[0]
        if instead := FORMER_FLAGS.get(name):
            raise BadUsage(FORMER.format(flag=name, instead=instead), fix="Nothing was sent.")


def cell_parser() -> Parser:
    """Create the parser of the `%%chat` line."""
    return _create_parser("%%chat", _add_chat, _add_context, _add_cells, _add_answer, _add_repeats, _add_run)


def command_parser(name: str) -> Parser:
    """Create the parser of a command that sends a prompt of its own: no flag of it chooses other cells or a turn."""
    parser = _create_parser(f"%chat {name}", _add_chat, _add_context, _add_answer, _add_run)
    parser.set_defaults(**dict.fromkeys(("cells", *REPEATING)))
    return parser


def _create_parser(prog: str, *adders: Callable[[Parser], None]) -> Parser:
    parser = Parser(
        prog=prog,
        description="Send a prompt to a language model; the text of the cell is the prompt. A flag stays for the chat "
        "if it is -m, -t, -v, --read or -s, and else is of this cell.",
        epilog="In the text, $`name` exposes and mentions a variable, &`name` a tool. %chat help lists the commands.",
    )
    for add_flags in adders:
        add_flags(parser)
    # set by the kernel, not by a flag: the cells that `%chat fix` adds, and the number of the one that failed, whether
    # it is the first cell with a plain chat, the text of the cell, the names that `--read` takes away, of `--set` the
    # request options and whether they name the model, and whether answers are kept
    parser.set_defaults(
        cell_context=None,
        fixes=0,
        begins_chat=False,
        former_turns=(),
        typed="",
        unread=[],
        set_options={},
        sets_model=False,
        keep_answers=False,
    )
    # set by `!NAME`, by the name of a provider's tool, and by settings
    parser.set_defaults(no_tool=[], hide=[], provider_tool=[], append=False, fill=False, replace=False, no_stream=False)
    parser.set_defaults(**dict.fromkeys(_SETTINGS))
    return parser


def _add_chat(parser: Parser) -> None:
    """Add the flags that choose the model and the chat."""
    add = parser.add_argument
    add("-m", "--model", metavar="ID", help="`provider:model`; stays set for the chat; `-m default` goes back")
    add(
        "-c",
        "--chat",
        metavar="NAME",
        type=_chat_name,
        help="conversation to use, or a `Chat` of the notebook (default: main, or `%%chat open`)",
    )
    add("--new", action="store_true", help="start a new conversation in this chat")


def _add_context(parser: Parser) -> None:
    """Add the flags that choose what the model gets: tools, variables, attachments and the system prompt."""
    parser.add_list(
        "-t",
        "--tool",
        metavar="NAME",
        help="functions, toolsets or servers as tools; NAME.TOOL is one tool, NAME.read_* a pattern, web_search one of "
        "the provider; !NAME takes one away",
    )
    parser.add_list(
        "-v",
        "--var",
        metavar="NAME",
        help="expose variables by reference, without values; !NAME takes one away",
    )
    parser.add_list(
        "--read",
        metavar="NAME",
        help="expose variables and let the model read their values; !NAME takes one away",
    )
    parser.add_list("-a", "--attach", metavar="PATH_OR_VAR", help="attach images, sounds, files, figures")
    parser.add_argument("-s", "--system", metavar="TEXT", help="system prompt of the chat")


def _add_cells(parser: Parser) -> None:
    """Add the flag that chooses cells of the notebook."""
    parser.add_argument(
        "--cells",
        metavar="WHICH",
        help="add cells to the prompt, with outputs and errors: `above`, `all`, `3` (the last three), `2:5`",
    )


def _add_answer(parser: Parser) -> None:
    """Add the flags of the answer."""
    add = parser.add_argument
    add("-o", "--out", metavar="NAME", type=_name, help="bind the finished turn to this name")
    add("--as", dest="as_", metavar="TYPE", help="parse the answer as this type, and bind that value with -o")


def _add_repeats(parser: Parser) -> None:
    """Add the operations on an existing turn, which exclude each other."""
    add = parser.add_mutually_exclusive_group().add_argument
    add(
        "--rerun",
        metavar="TURN",
        nargs="?",
        const="",
        help="run a turn (default: the last) again, as a new version; `TURN:3` from its third request, `TURN:resume` "
        "goes on with a stopped one, `TURN:tools` runs only its tools again",
    )
    add(
        "--edit",
        metavar="TURN",
        help="replace the prompt of a turn with this text, in a new branch; with `TURN:reply` its last reply, as a new "
        "version, and nothing is sent",
    )


def _add_run(parser: Parser) -> None:
    """Add the flags of approvals, limits and the request."""
    add = parser.add_argument
    add(
        "--approve",
        choices=APPROVE,
        metavar="WHO",
        help="who approves calls: `ask` you, by the best way there is; `later`: the cell ends, and a call waits for a "
        "click; `auto` approves, `deny` denies (also `input`: you, by a line of input)",
    )
    add(
        "--budget",
        metavar="USD_OR_TOKENS",
        help="what the turn may use: `0.05` US dollars, or a whole number of tokens, in and out; checked before each "
        "request, so the last reply may exceed it",
    )
    add("--timeout", metavar="S", type=_seconds, help="maximum duration of the turn, in seconds")
    parser.add_list("--option", metavar="KEY=VALUE", type=_option, help="request options; override all others")
    parser.add_list(
        "--set",
        metavar="KEY=VALUE",
        type=_setting,
        help="any setting of %%config NbTool, for this cell; `%%chat config` lists them",
    )
    add("--dry-run", action="store_true", help="print the exact request without sending it")
    add("-q", "--quiet", action="store_true", help="show no output; use -o for the result")
    add("-h", "--help", action="store_true", help="show this help; nothing is sent")


def _chat_name(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError(f"expected the name of a chat, not {text!r}")
    return text


def _option(text: str) -> tuple[str, Any]:
    name, value = _setting(text)
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"expected KEY=VALUE, not {text!r}")
    return name, value


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of seconds greater than 0, not {text!r}")
    return value


def _name(text: str) -> str:
    if not is_valid_name(text):
        raise argparse.ArgumentTypeError(f"expected a valid variable name, not {text!r}")
    return text

"""The flags of `%%chat`: what the parser, the help, Tab and docs/commands.md say of each."""

from __future__ import annotations

import argparse
import difflib
import json
import re
from typing import Any, NoReturn

from nbtool.errors import BadUsage
from nbtool.magics.flags.config import APPROVE, HISTORY, REPLAY, TOOL_FORMATS, TOOL_MODES
from nbtool.view.page_messages import is_valid_name
from nbtool.wire.dialect import TEXT_DIALECTS

MAX_SHOWN = 80
"""Characters of unexpected words that an error shows."""

TAKE_AWAY = "!"
"""What a name begins with that a flag takes away."""

TAKEN_AWAY = {"tool": "no_tool", "var": "hide", "read": "hide"}
"""The flags that take names away too, each with the list of those."""

HELP_WIDTH = 100
"""Characters of a line of the help."""

REPEATING = ("rerun", "edit", "resume", "re-execute")
"""The flags that work on an earlier turn, without dashes."""

FORMER = "Former flags, which still work: {flags}. `%chat help FLAG` says what replaces one."


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises a one-line error instead of exiting the process.

    `former` are the flags that another way replaces now, by their names in a line of values, each with that way.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(add_help=False, allow_abbrev=False, **settings)
        self.former: dict[str, str] = {}

    def error(self, message: str) -> NoReturn:
        """Raise BadUsage with the nearest flag."""
        raise BadUsage(f"%%chat: {message}.", fix=self._nearest(message))

    def flags(self) -> list[argparse.Action]:
        """Return every flag."""
        return list(self._actions)

    def add_list(self, *names: str, metavar: str, **settings: Any) -> argparse.Action:
        """Add a flag that takes several words, and may be given several times."""
        return self.add_argument(*names, metavar=metavar, action="extend", nargs="+", default=[], **settings)

    def replaced(self, instead: str, flag: argparse.Action) -> None:
        """Record what replaces a flag, which still works."""
        self.former[flag.dest] = instead

    def format_help(self) -> str:
        """Return the help: what a line may have, each flag, what a prompt may have, and the former flags."""
        formatter = argparse.HelpFormatter(self.prog, max_help_position=30, width=HELP_WIDTH)
        formatter.add_text(self.description)
        formatter.start_section("flags")
        formatter.add_arguments(flag for flag in self._actions if flag.dest not in self.former)
        formatter.end_section()
        formatter.add_text(self.epilog)
        former = [long_name(flag) for flag in self._actions if flag.dest in self.former]
        formatter.add_text(FORMER.format(flags=", ".join(former)))
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


def describe_flag(parser: Parser, flag: argparse.Action) -> str:
    """Return what a flag does, and what replaces it."""
    text = (flag.help or "").replace("%%", "%")
    instead = parser.former.get(flag.dest)
    return f"{text[:1].upper()}{text[1:]}.{f' A former flag: now `{instead}`.' if instead else ''}"


def cell_parser() -> Parser:
    """Create the parser of the `%%chat` line."""
    parser = Parser(
        prog="%%chat",
        description="Send a prompt to a language model; the text of the cell is the prompt. A flag stays for the chat "
        "if it is -m, -t, -v, --read or -s, and else is of this cell.",
        epilog="In the text, $`name` exposes and mentions a variable, &`name` a tool. %chat help lists the commands.",
    )
    for add_flags in (_add_chat, _add_context, _add_answer, _add_repeats, _add_run, _add_former):
        add_flags(parser)
    # set by the kernel, not by a flag: the cells that `%chat fix` adds, whether it is the first cell with a plain chat,
    # the text of the cell, the names that `--read` takes away, and of `--set` the request options and whether they name
    # the model
    parser.set_defaults(cell_context=None, begins_chat=False, typed="", unread=[], set_options={}, sets_model=False)
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
    add("--new", action="store_true", help="start a new conversation")


def _add_context(parser: Parser) -> None:
    """Add the flags that choose what the model gets: tools, variables, attachments, cells and the system prompt."""
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
    parser.add_argument(
        "--cells",
        metavar="WHICH",
        help="add cells to the prompt, with outputs and errors: `above`, `all`, `3` (the last three), `2:5`",
    )
    parser.add_argument("-s", "--system", metavar="TEXT", help="system prompt of the chat")


def _add_answer(parser: Parser) -> None:
    """Add the flags of the answer."""
    add = parser.add_argument
    add("-o", "--out", metavar="NAME", type=_name, help="bind the finished turn to this name")
    add("--as", dest="as_", metavar="TYPE", help="parse the answer as this type, and bind that value with -o")


def _add_repeats(parser: Parser) -> None:
    """Add the operations on an existing turn, which exclude each other."""
    add = parser.add_mutually_exclusive_group().add_argument
    add("--rerun", metavar="TURN", nargs="?", const="", help="run a turn (default: the last) again, as a new version")
    add("--edit", metavar="TURN", help="replace the prompt of a turn with this text, in a new branch")
    resume = add("--resume", metavar="TURN", nargs="?", const="", help="continue an interrupted turn")
    parser.replaced("chat.resume(turn)", resume)
    again = add(
        "--re-execute", metavar="TURN", nargs="?", const="", help="run a turn's tools again, with their approvals"
    )
    parser.replaced("chat.reexecute(turn)", again)


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


def _add_former(parser: Parser) -> None:
    """Add the flags that another one, or `--set`, replaces now."""
    add, replaced = parser.add_argument, parser.replaced
    away = parser.add_list(
        "-T", "--no-tool", metavar="NAME", help="remove tools: a name passed to -t, a tool, NAME.TOOL, or a pattern"
    )
    replaced("-t !NAME", away)
    replaced("-v !NAME", parser.add_list("--hide", metavar="NAME", help="stop exposing variables"))
    tools = parser.add_list(
        "--provider-tool",
        metavar="NAME",
        help="tools that the provider runs: web_search, web_fetch, code_interpreter",
    )
    replaced("-t NAME", tools)
    again = add("--append", action="store_true", help="add a turn when the cell is run again, instead of a new version")
    replaced("--set append_turns=true", again)
    fill = add(
        "--fill",
        action="store_true",
        help="put the value of each {EXPRESSION} of the notebook into the prompt, as in an f-string",
    )
    replaced("--set fill_prompt=true", fill)
    over = add("--replace", action="store_true", help="allow -o to overwrite an existing variable")
    replaced("--set replace_names=true", over)
    replaced("--set stream=false", add("--no-stream", action="store_true", help="do not stream replies"))
    first = "the first round that --rerun or --re-execute repeats"
    replaced("chat.rerun(turn, from_round=N)", add("--from", dest="from_round", metavar="N", type=int, help=first))
    _add_former_settings(parser)


def _add_former_settings(parser: Parser) -> None:
    """Add the flags that are settings too, by the same names."""
    add = parser.add_argument
    own = [
        add("--wire", choices=TEXT_DIALECTS, help="API dialect to use"),
        add("--tool-mode", choices=TOOL_MODES, help="native tool calls, or tools in the prompt"),
        add("--tool-format", choices=TOOL_FORMATS, help="form of calls where tools are in the prompt"),
        add("--max-rounds", metavar="N", type=int, help="maximum number of requests to the model in this turn"),
        add("--max-calls", metavar="N", type=int, help="maximum number of calls of tools in this turn"),
        add("--max-repeats", metavar="N", type=int, help="how often in a row the same calls may give the same results"),
        add("--answer-within", metavar="S", type=_seconds, help="seconds after which an unanswered approval is denied"),
        add(
            "--check-results",
            action=argparse.BooleanOptionalAction,
            default=None,
            help="ask for approval of every result before it is sent to the model",
        ),
        add(
            "--replay",
            choices=REPLAY,
            help="replay a recorded turn if nothing relevant changed (auto), or fail (only), or never (off)",
        ),
        add("--history", choices=HISTORY, help="how earlier turns are sent to the model"),
    ]
    for flag in own:
        parser.replaced(f"--set {flag.dest}=VALUE", flag)


def _chat_name(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError(f"expected the name of a chat, not {text!r}")
    return text


def _option(text: str) -> tuple[str, Any]:
    name, value = _setting(text)
    try:
        return name, json.loads(value)
    except ValueError:
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

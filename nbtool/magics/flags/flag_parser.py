"""The grammar of the `%%chat` line and of the mentions in its body.

Words are split as in a shell (quotes group), unknown flags are refused with the nearest known one, and nothing here
depends on a notebook: a line goes in, a value comes out.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import shlex
from dataclasses import dataclass
from math import inf
from typing import Any, NoReturn

from nbtool.errors import BadUsage
from nbtool.text import SPACES, count_of, shorten
from nbtool.view.page_messages import is_valid_name

_MENTION = re.compile(r"(?<![\\\w])(?:([$&])`([A-Za-z_]\w*)`|(&)`([A-Za-z_][\w-]*\.[\w./-]+)`)")
"""`` $`name` `` mentions a variable, `` &`name` `` or `` &`server.tool` `` a tool; nothing else is syntax."""

_QUOTED = re.compile(r"(?<![\\\w$&@`])`([A-Za-z_][\w.-]{0,127})`(?!`)")
"""A name in plain backticks: text, which a person may take for a mention."""

MAX_LINE = 10_000
"""Characters of a magic's line that are accepted."""

MAX_SHOWN = 80
"""Characters of unexpected words that an error shows."""

_TYPESET = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2018\u2019\u201c\u201d\u201e"
"""Dashes and quotation marks that a word processor sets in place of those of a keyboard."""

ONE_LINE = "Remove the backslash at its end: all options stand on one line."

MAX_WORDS = 500
"""Words of a magic's line that are accepted; parsing time grows with their square."""


@dataclass(frozen=True, slots=True)
class Mentions:
    """The names that a cell body mentions, in order and without duplicates; `quoted` ones are only text."""

    variables: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    quoted: tuple[str, ...] = ()


def mentions(body: str) -> Mentions:
    """Find the variables and tools mentioned in a body."""
    matches = [(match[1] or match[3], match[2] or match[4]) for match in _MENTION.finditer(body)]
    variables = dict.fromkeys(name for mark, name in matches if mark == "$")
    tools = dict.fromkeys(name for mark, name in matches if mark == "&")
    return Mentions(tuple(variables), tuple(tools), tuple(dict.fromkeys(_QUOTED.findall(body))))


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises a one-line error instead of exiting the process."""

    def error(self, message: str) -> NoReturn:
        """Raise BadUsage with the nearest flag."""
        raise BadUsage(f"%%chat: {message}.", fix=self._nearest(message))

    def flags(self) -> list[argparse.Action]:
        """Return every flag."""
        return list(self._actions)

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


def _chat_name(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError(f"expected the name of a chat, not {text!r}")
    return text


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"expected KEY=VALUE, not {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


_REPLAY = "replay a recorded turn if nothing relevant changed (auto), or fail (only), or never (off)"
_APPROVE = (
    "who approves calls: the best option available (ask), a prompt for a line of input (input), a click after the cell "
    "has ended (park; synchronous tools then run in a worker thread), or nobody (auto approves, deny denies)"
)


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


def _add_operations(parser: Parser) -> None:
    """Add the operations on an existing turn, which exclude each other."""
    add = parser.add_mutually_exclusive_group().add_argument
    add("--rerun", metavar="TURN", nargs="?", const="", help="run a turn (default: the last) again, as a new version")
    add("--edit", metavar="TURN", help="replace the prompt of a turn with this text, in a new branch")
    add("--resume", metavar="TURN", nargs="?", const="", help="continue an interrupted turn")
    add("--re-execute", metavar="TURN", nargs="?", const="", help="run a turn's tools again, with their approvals")
    first = "the first round that --rerun or --re-execute repeats"
    parser.add_argument("--from", dest="from_round", metavar="N", type=int, help=first)


def cell_parser() -> Parser:
    """Create the parser of the `%%chat` line."""
    parser = Parser(
        prog="%%chat",
        add_help=False,
        allow_abbrev=False,
        description="Send a prompt to a language model; the text of the cell is the prompt.",
        epilog="In the text, $`name` exposes and mentions a variable, &`name` a tool.",
    )
    for add_flags in (_add_chat, _add_context, _add_model, _add_run):
        add_flags(parser)
    # set by the kernel, not by a flag: the cells that `%chat fix` adds, whether it is the first cell with a plain chat,
    # and the text of the cell
    parser.set_defaults(cell_context=None, begins_chat=False, typed="")
    return parser


def _add_chat(parser: Parser) -> None:
    """Add the flags that choose the chat and the turn."""
    add = parser.add_argument
    add("-h", "--help", action="store_true", help="show this help; nothing is sent")
    add("-m", "--model", metavar="ID", help="`provider:model`; stays set for the chat; `-m default` goes back")
    add(
        "-c",
        "--chat",
        metavar="NAME",
        type=_chat_name,
        help="conversation to use, or a `Chat` of the notebook (default: main, or `%%chat use`)",
    )
    add("--new", action="store_true", help="start a new conversation")
    _add_operations(parser)
    add("--append", action="store_true", help="add a turn when the cell is run again, instead of a new version")


def _add_context(parser: Parser) -> None:
    """Add the flags that choose what the model gets: tools, variables and attachments."""
    add = parser.add_argument
    add(
        "-t",
        "--tool",
        metavar="NAME",
        action="extend",
        nargs="+",
        default=[],
        help="functions or toolsets to add as tools; NAME.TOOL is one tool of a toolset, NAME.read_* a pattern",
    )
    add(
        "-T",
        "--no-tool",
        metavar="NAME",
        action="extend",
        nargs="+",
        default=[],
        help="remove tools: a name passed to -t, a tool, NAME.TOOL, or a pattern",
    )
    add(
        "-v",
        "--var",
        metavar="NAME",
        action="extend",
        nargs="+",
        default=[],
        help="expose variables by reference, without values",
    )
    add(
        "--read",
        metavar="NAME",
        action="extend",
        nargs="+",
        default=[],
        help="expose variables and let the model read their values",
    )
    add("--hide", metavar="NAME", action="extend", nargs="+", default=[], help="stop exposing variables")
    add(
        "--cells",
        metavar="WHICH",
        help="add cells to the prompt, with outputs and errors: `above`, `all`, `3` (the last three), `2:5`",
    )
    add(
        "--fill",
        action="store_true",
        help="put the value of each {EXPRESSION} of the notebook into the prompt, as in an f-string",
    )
    add(
        "-a",
        "--attach",
        metavar="PATH_OR_VAR",
        action="extend",
        nargs="+",
        default=[],
        help="attach images, sounds, files, figures",
    )


def _add_model(parser: Parser) -> None:
    """Add the flags of the answer and its limits."""
    add = parser.add_argument
    add("-s", "--system", metavar="TEXT", help="system prompt of the chat")
    add("-o", "--out", metavar="NAME", type=_name, help="bind the finished turn to this name")
    add("--replace", action="store_true", help="allow -o to overwrite an existing variable")
    add("--as", dest="as_", metavar="TYPE", help="parse the answer as this type, and bind that value with -o")
    add("--wire", choices=("chat", "responses", "anthropic", "gemini"), help="API dialect to use")
    add("--tool-mode", choices=("auto", "native", "prompted"), help="native tool calls, or tools in the prompt")
    add("--tool-format", choices=("json", "hermes", "pythonic"), help="form of calls where tools are in the prompt")
    add("--max-rounds", metavar="N", type=int, help="maximum number of requests to the model in this turn")
    add("--max-calls", metavar="N", type=int, help="maximum number of calls of tools in this turn")
    add("--max-repeats", metavar="N", type=int, help="how often in a row the same calls may give the same results")
    add("--timeout", metavar="S", type=_seconds, help="maximum duration of the turn, in seconds")
    add(
        "--budget",
        metavar="USD_OR_TOKENS",
        help="what the turn may use: `0.05` US dollars, or a whole number of tokens, in and out; checked before each "
        "request, so the last reply may exceed it",
    )


def _add_run(parser: Parser) -> None:
    """Add the flags of approvals, of the replay and of the request."""
    add = parser.add_argument
    add("--approve", choices=("ask", "input", "park", "auto", "deny"), help=_APPROVE)
    add("--answer-within", metavar="S", type=_seconds, help="seconds after which an unanswered approval is denied")
    add(
        "--check-results",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="ask for approval of every result before it is sent to the model",
    )
    add("--replay", choices=("auto", "only", "off"), help=_REPLAY)
    add(
        "--history",
        choices=("compact", "native", "results", "text", "none"),
        help="how earlier turns are sent to the model",
    )
    add(
        "--option",
        metavar="KEY=VALUE",
        action="extend",
        nargs="+",
        type=_option,
        default=[],
        help="request options; override all others",
    )
    add(
        "--provider-tool",
        metavar="NAME",
        action="extend",
        nargs="+",
        default=[],
        help="tools that the provider runs: web_search, web_fetch, code_interpreter",
    )
    add("--no-stream", action="store_true", help="do not stream replies")
    add("--dry-run", action="store_true", help="print the exact request without sending it")
    add("-q", "--quiet", action="store_true", help="show no output; use -o for the result")


def split_words(line: str, *, is_text: bool = False) -> list[str]:
    """Split a magic's line as a shell does; any space separates words, such as one without a break from a page.

    In a text of free words an apostrophe may stand alone.

    Raises:
        ValueError: a quotation mark is not closed.
    """
    words = shlex.shlex(line, posix=True, punctuation_chars=False)
    words.whitespace, words.whitespace_split, words.commenters = SPACES, True, ""
    try:
        return list(words)
    except ValueError:
        if is_text:
            return line.split()
        raise


def parse(parser: argparse.ArgumentParser, line: str) -> argparse.Namespace:
    """Parse a magic's line.

    Raises:
        BadUsage: an unclosed quote, an unknown flag, an invalid value, or a line that is too long.
    """
    if len(line) > MAX_LINE:
        raise BadUsage(
            f"%%chat: the line has {count_of(len(line), 'character')}, above {MAX_LINE:,}.",
            fix="Put the prompt into the body of the cell.",
        )
    try:
        words = split_words(line)
    except ValueError as error:
        fix = ONE_LINE if line.rstrip().endswith("\\") else "Close the quotation mark."
        raise BadUsage(f"%%chat: the line cannot be parsed ({error}).", fix=fix) from None
    if len(words) > MAX_WORDS:
        raise BadUsage(
            f"%%chat: the line has {count_of(len(words), 'word')}, above {MAX_WORDS:,}.",
            fix="Pass many tools as one toolset.",
        )
    flags, unknown = parser.parse_known_args(words)
    if any(word.startswith("-") for word in unknown):
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    if typeset := next((word for word in unknown if word and word[0] in _TYPESET), ""):
        plain = f"{'-' if len(typeset.strip(_TYPESET)) == 1 else '--'}{typeset.strip(_TYPESET + '-')}"
        raise BadUsage(
            f"%%chat: {shorten(typeset, MAX_SHOWN)!r} has a typeset dash or quotation mark.",
            fix=f"Type `{shorten(plain, MAX_SHOWN)}`.",
        )
    if unknown:
        raise BadUsage(
            f"%%chat: {shorten(' '.join(unknown), MAX_SHOWN)!r} is no flag.",
            fix="Write your prompt below the %%chat line.",
        )
    return flags


def budget(text: str | None) -> tuple[int | None, float | None]:
    """Parse a budget as (tokens, US dollars): a whole number is tokens, a number with a point or `$` dollars."""
    if text is None:
        return None, None
    try:
        tokens, dollars = (None, float(text.lstrip("$"))) if "." in text or text.startswith("$") else (int(text), None)
    except ValueError:
        tokens, dollars = 0, None
    if not (tokens or dollars or 0) > 0 or dollars == inf:
        raise BadUsage(
            f"--budget takes a number of tokens or US dollars above 0, not {shorten(text, MAX_SHOWN)!r}.",
            fix="`--budget 0.05` for dollars, `--budget 20000` for tokens.",
        )
    return tokens, dollars

"""The grammar of the `%%chat` line and of the mentions in its body.

Words are split as a shell would (quotes hold together), unknown flags are refused with the nearest known one, and
nothing here knows a notebook: a line goes in, a value comes out.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import shlex
from dataclasses import dataclass
from typing import Any, NoReturn

from nbtool.errors import BadUsage
from nbtool.view.turn_messages import is_valid_name

_MENTION = re.compile(r"(?<![\\\w])([$&])`([A-Za-z_]\w*)`")
"""`` $`name` `` mentions a variable, `` &`name` `` a tool; nothing else in a body means anything."""

MAX_LINE = 10_000
"""Characters of a magic's line."""

MAX_WORDS = 500
"""Words of a magic's line; reading it takes time that grows with their square."""


@dataclass(frozen=True, slots=True)
class Mentions:
    """What a cell body mentions, in order, each name once."""

    variables: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


def mentions(body: str) -> Mentions:
    """Find the variables and tools that a body mentions."""
    matches = _MENTION.findall(body)
    variables = dict.fromkeys(name for mark, name in matches if mark == "$")
    tools = dict.fromkeys(name for mark, name in matches if mark == "&")
    return Mentions(tuple(variables), tuple(tools))


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises one line instead of leaving the process."""

    def error(self, message: str) -> NoReturn:
        """Raise BadUsage, with the nearest flag that there is."""
        raise BadUsage(f"%%chat: {message}.", fix=self._nearest(message))

    def flags(self) -> list[argparse.Action]:
        """Give every flag."""
        return list(self._actions)

    def _nearest(self, message: str) -> str:
        wrong = re.search(r"(--?[\w-]+)", message)
        flags = [name for action in self.flags() for name in action.option_strings]
        near = difflib.get_close_matches(wrong[1], flags, n=1, cutoff=0.5) if wrong else []
        return f"Did you mean {near[0]}?" if near and wrong and near[0] != wrong[1] else "`%%chat --help` lists all."


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"expected KEY=VALUE, not {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


_REPLAY = "tell a recorded turn again: where nothing that matters changed (auto), or fail (only), or never (off)"
_APPROVE = (
    "who answers when a call has to be approved: the best road open (ask), a line of input, a click after the cell "
    "has ended (park; synchronous tools then run in a worker thread), nobody (auto, deny)"
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
        raise argparse.ArgumentTypeError(f"expected a name that a cell can use, not {text!r}")
    return text


def _add_operations(parser: Parser) -> None:
    """Add what a cell can do with a turn in place of a new one; one of them at a time."""
    add = parser.add_mutually_exclusive_group().add_argument
    add("--rerun", metavar="TURN", nargs="?", const="", help="say a turn again (the last one), as a new version of it")
    add("--edit", metavar="TURN", help="say this in place of a turn, on a branch of its own")
    add("--resume", metavar="TURN", nargs="?", const="", help="finish what is pending of a turn that broke off")
    add("--re-execute", metavar="TURN", nargs="?", const="", help="run a turn's tools again, gates and all")
    first = "the first round that --rerun or --re-execute do again"
    parser.add_argument("--from", dest="from_round", metavar="N", type=int, help=first)


def cell_parser() -> Parser:
    """Make the parser of the `%%chat` line."""
    parser = Parser(
        prog="%%chat",
        add_help=False,
        allow_abbrev=False,
        description="Say something to a language model; the text of the cell is what is said.",
        epilog="In the text, $`name` exposes and mentions a variable, &`name` a tool.",
    )
    add = parser.add_argument
    add("-h", "--help", action="store_true", help="print this and send nothing")
    add("-m", "--model", metavar="ID", help="`provider:model`; sticks to the chat until changed")
    add("-c", "--chat", metavar="NAME", default="main", help="which conversation of this kernel (default: main)")
    add("--new", action="store_true", help="start the conversation afresh")
    _add_operations(parser)
    add("--append", action="store_true", help="add another turn when the cell is run again")
    add(
        "-t",
        "--tool",
        metavar="NAME",
        nargs="+",
        default=[],
        help="functions or toolsets that become tools; NAME.TOOL is one tool of a toolset, NAME.read_* some",
    )
    add(
        "-T",
        "--no-tool",
        metavar="NAME",
        nargs="+",
        default=[],
        help="take tools away: what -t gave, a tool, NAME.TOOL, or a pattern",
    )
    add("-v", "--var", metavar="NAME", nargs="+", default=[], help="variables exposed by reference: values stay here")
    add("--read", metavar="NAME", nargs="+", default=[], help="variables whose values the model may read too")
    add("--hide", metavar="NAME", nargs="+", default=[], help="take variables away")
    add("-a", "--attach", metavar="PATH_OR_VAR", nargs="+", default=[], help="images, sounds, files, figures as input")
    add("-s", "--system", metavar="TEXT", help="system prompt of the chat")
    add("-o", "--out", metavar="NAME", type=_name, help="bind the finished turn to this name")
    add("--replace", action="store_true", help="let -o take a name that stands for something else")
    add("--as", dest="as_", metavar="TYPE", help="read the answer as this type, and bind that value by -o")
    add("--wire", choices=("chat", "responses", "anthropic"), help="force a dialect")
    add("--tool-mode", choices=("auto", "native", "prompted"), help="tools natively or through the prompt")
    add("--max-rounds", metavar="N", type=int, help="requests to the model in this turn, at most")
    add("--timeout", metavar="S", type=_seconds, help="seconds that the turn may take, at most")
    add("--budget", metavar="USD_OR_TOKENS", help="`0.05` US dollars, or a whole number of tokens")
    add("--approve", choices=("ask", "input", "park", "auto", "deny"), help=_APPROVE)
    add("--answer-within", metavar="S", type=_seconds, help="seconds after which an open question is refused")
    add(
        "--check-results",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="show every result to a person before the model reads it",
    )
    add("--replay", choices=("auto", "only", "off"), help=_REPLAY)
    add("--history", choices=("compact", "native", "results", "none"), help="how finished turns are told to the model")
    add(
        "--option", metavar="KEY=VALUE", nargs="+", type=_option, default=[], help="request options; yours win over all"
    )
    add("--no-stream", action="store_true", help="whole replies in place of a stream")
    add("--dry-run", action="store_true", help="show the exact request, and send nothing")
    add("-q", "--quiet", action="store_true", help="show nothing; the result only through -o")
    return parser


def parse(parser: argparse.ArgumentParser, line: str) -> argparse.Namespace:
    """Read a magic's line.

    Raises:
        BadUsage: a quote that is never closed, an unknown flag, a value that does not fit, or a line that is too long.
    """
    if len(line) > MAX_LINE:
        raise BadUsage(
            f"%%chat: the line has {len(line):,} characters, above {MAX_LINE:,}.",
            fix="Put what is said into the body of the cell.",
        )
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise BadUsage(f"%%chat: the line cannot be read ({error}).", fix="Close the quotation mark.") from None
    if len(words) > MAX_WORDS:
        raise BadUsage(
            f"%%chat: the line has {len(words):,} words, above {MAX_WORDS:,}.",
            fix="Give many tools as one toolset.",
        )
    return parser.parse_args(words)


def budget(text: str | None) -> tuple[int | None, float | None]:
    """Read a budget as (tokens, US dollars): a whole number counts tokens, anything with a point or `$` dollars."""
    if text is None:
        return None, None
    try:
        return (None, float(text.lstrip("$"))) if "." in text or text.startswith("$") else (int(text), None)
    except ValueError:
        raise BadUsage(
            f"--budget is a number of tokens or of US dollars, not {text!r}.", fix="`--budget 0.05`"
        ) from None

"""The grammar of the `%%chat` line and of the mentions in its body; its flags are in `flag_table.py`.

Words are split as in a shell (quotes group), unknown flags are refused with the nearest known one, and nothing here
depends on a notebook: a line goes in, a value comes out.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from nbtool.errors import BadUsage
from nbtool.magics.flags.flag_table import MAX_SHOWN, TAKE_AWAY, TAKEN_AWAY, Parser, check_former
from nbtool.text import SPACES, count_of, shorten

_MENTION = re.compile(r"(?<![\\\w])(?:([$&])`([A-Za-z_]\w*)`|(&)`([A-Za-z_][\w-]*\.[\w./-]+)`)")
"""`` $`name` `` mentions a variable, `` &`name` `` or `` &`server.tool` `` a tool; nothing else is syntax."""

_QUOTED = re.compile(r"(?<![\\\w$&@`])`([A-Za-z_][\w.-]{0,127})`(?!`)")
"""A name in plain backticks: text, which a person may take for a mention."""

MAX_LINE = 10_000
"""Characters of a magic's line that are accepted."""

_TYPESET = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2018\u2019\u201c\u201d\u201e"
"""Dashes and quotation marks that a word processor sets in place of those of a keyboard."""

_OPTION = re.compile(rf"(?:-{{1,2}}|[{_TYPESET}]+-*)[A-Za-z]\S*")
"""A word that a person means as an option: a dash, also a typeset one, and a letter; `-`, `->` and `-1` are text."""

END_OF_FLAGS = "--"

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
    check_former(words)
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
    return _sort_taken_away(flags)


def is_option(word: str) -> bool:
    """Whether a word is meant as an option, and not as one of a text."""
    return bool(_OPTION.fullmatch(word))


def parse_with_text(parser: Parser, words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Parse the words of a command that has flags and a free text; return the flags and the words of the text.

    Raises:
        BadUsage: an unknown flag, which would be sent as a word of the text, or an invalid value.
    """
    check_former(words)
    end = words.index(END_OF_FLAGS) if END_OF_FLAGS in words else len(words)  # argparse would take it away
    flags, text = parser.parse_known_args(words[:end])
    text += words[end:]
    if unknown := next(filter(is_option, text), ""):
        parser.error(f"there is no flag {shorten(unknown, MAX_SHOWN)}")
    taken = Counter(words) - Counter(text)
    is_split_at_spaces = not any(" " in word for word in words)  # an apostrophe of the text stands alone
    if is_split_at_spaces and any(mark in word for word in taken for mark in "\"'"):
        raise BadUsage(f"{parser.prog}: a quotation mark is not closed.", fix="Write `\\'` for an apostrophe.")
    return _sort_taken_away(flags), text


def _sort_taken_away(flags: argparse.Namespace) -> argparse.Namespace:
    """Return flags with the names that are taken away (`!NAME`) in the lists of those.

    Raises:
        BadUsage: no name follows the mark.
    """
    for dest, list_name in TAKEN_AWAY.items():
        named: list[str] = getattr(flags, dest)
        away = [word.removeprefix(TAKE_AWAY) for word in named if word.startswith(TAKE_AWAY)]
        if not all(away):
            raise BadUsage(f"%%chat: `{TAKE_AWAY}` needs a name directly after it.", fix=f"Write `{TAKE_AWAY}NAME`.")
        setattr(flags, dest, [word for word in named if not word.startswith(TAKE_AWAY)])
        setattr(flags, list_name, [*getattr(flags, list_name), *away])
        if dest == "read":
            flags.unread = away
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

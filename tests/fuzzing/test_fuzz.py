"""Everything that reads what strangers write, given anything: no crash, no second of CPU, and what each has to keep."""

from __future__ import annotations

import functools
import json
import random
import re
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from nbtool.blocks.render.markdown import render
from nbtool.errors import BadUsage, NbtoolError, ToolError
from nbtool.event_json import dump_event, load_event
from nbtool.magics.flags.flag_parser import mentions, parse
from nbtool.magics.flags.flag_table import cell_parser
from nbtool.tools.values.sanitize import strip_controls
from nbtool.tools.variables.references import resolve
from nbtool.tools.variables.store import Variables
from nbtool.wire import find_wire
from nbtool.wire.prompted.call_python import parse_python_calls
from nbtool.wire.prompted.json_repair import parse_object
from tests.campaigns.bounds import up_to_seconds
from tests.cpu_time import run_within
from tests.wire.reading import feed

SECONDS = 3.0
"""CPU time that one text may take."""

LONG = 30_000
"""Characters of a text that repeats one piece, which finds what takes more than linear time."""

MARKUP = re.compile(
    r"<(?!/?(?:a|p|ul|ol|li|h\d|em|strong|code|pre|blockquote|hr|br|table|thead|tbody|tr|th|td|del|s|span|div)\b)"
)
"""A tag in rendered Markdown that does not belong there."""

Chance = random.Random
Tell = Callable[[str, object], None]

LETTERS = ["a", "b1", " ", "\n", "é", "\U0001f989", "\ud800", "\x00", "\u202e", "0", "-1", "1e999", "null", "true"]
JSON = [
    '{"',
    '"',
    '":',
    ",",
    "{",
    "}",
    "[",
    "]",
    "\\",
    "\\u",
    "'",
    "“",
    "”",
    "//",
    "/*",
    "```json\n",
    "```",
    ": ",
    "NaN",
]
STREAM = [
    "data: ",
    "data:",
    "event: ",
    "id:",
    ":",
    "\n\n",
    "\r\n",
    "\r",
    "[DONE]",
    '{"choices":[{"index":0,"delta":',
    '{"content":"',
]
STREAM += [
    '{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{"}}]}',
    '"finish_reason":"stop"}]}',
    '"type":"',
]
STREAM += [
    "content_block_delta",
    "message_stop",
    "response.completed",
    "response.output_item.added",
    '"delta":{',
    "}}\n\n",
]
MARKDOWN = [
    "#",
    "*",
    "**",
    "_",
    "`",
    "```",
    ">",
    "- ",
    "1. ",
    "|",
    "[a](",
    ")",
    "![",
    "](",
    "<",
    "</",
    "<a href=",
    "&#",
    ";",
    "\\",
]
MARKDOWN += [
    "javascript:",
    "http://e.x/",
    "data:text/html,",
    "<script>",
    "<!--",
    "-->",
    "$$",
    "~~",
    "|-|-|\n",
    "[^1]",
    "<http://",
]
ANSI = [
    "\x1b[",
    "\x1b]",
    "\x1b]8;;",
    "\x07",
    "\x9b",
    "\x1b\\",
    "31m",
    "2J",
    "\x1bP",
    "\x1b(",
    ";",
    "\x90",
    "\r",
    "\b",
    "\x1b",
]
NAMES = [
    "$VAR_REF{{",
    "}}",
    "{{",
    "x",
    "['",
    "']",
    "[0]",
    ".",
    "\\$",
    "$",
    "__class__",
    "()",
    "x|y",
    "df",
    "$`",
    "`",
    "&`",
]
EVENTS = [
    '{"kind":"',
    "turn_started",
    "call_ready",
    "call_decided",
    "text_delta",
    '","',
    '":',
    '"call_id',
    "__class__",
    "py/object",
]
OPTIONS = [
    "-m ",
    "-t ",
    "-v ",
    "--as ",
    "-o ",
    "--limit ",
    "--",
    "=",
    "'",
    '"',
    "practice:fast",
    "--timeout ",
    "--new",
    "-c ",
    "%",
]


def fuzz_stream(text: str) -> None:
    """Decode a text as a stream of each dialect, in pieces."""
    data = text.encode("utf-8", "surrogatepass")
    for dialect in ("chat", "responses", "anthropic", "gemini"):
        decoder = find_wire(dialect).decoder()
        with_errors(
            lambda decoder=decoder: [*feed(decoder, data[: len(data) // 2]), *feed(decoder, data[len(data) // 2 :])]
        )


def with_errors(read: Callable[[], object]) -> None:
    """Do something that may end in one of our errors, and in no other."""
    with suppress(NbtoolError):
        read()


def fuzz_json_repair(text: str) -> None:
    """Read a call's arguments, and a list of calls, that a model wrote as text."""
    with_errors(lambda: parse_object(text))
    with_errors(lambda: parse_python_calls(text))
    with suppress(NbtoolError):
        assert json.loads(json.dumps(parse_object(text, is_closed=True).value, allow_nan=False)) is not None


def fuzz_markdown(text: str) -> None:
    """Render a reply."""
    assert not MARKUP.search(render(text))


def fuzz_ansi(text: str) -> None:
    """Strip what a tool printed."""
    plain = strip_controls(text)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", plain)
    assert strip_controls(plain) == plain


def fuzz_references(text: str) -> None:
    """Resolve references in arguments: only what is exposed is ever reached."""
    names = {"x": [1, {"y": 2}], "secret": "SENTINEL"}
    variables = Variables(names)
    variables.expose("x")
    try:
        found = resolve({"a": text, "b": [text]}, variables)
    except (ToolError, BadUsage):
        return
    assert "SENTINEL" not in repr(found)


def fuzz_events(text: str) -> None:
    """Load an event of a journal; what can be loaded can be written and loaded again."""
    try:
        event = load_event(text)
    except NbtoolError:
        return
    assert load_event(dump_event(event)) == event


def fuzz_cell_line(text: str) -> None:
    """Read the line and the body of a cell."""
    mentions(text)
    with_errors(lambda: parse(cell_parser(), text))


SUBJECTS: dict[str, tuple[Callable[[str], None], list[str]]] = {
    "streams": (fuzz_stream, STREAM + JSON),
    "arguments as text": (fuzz_json_repair, JSON + NAMES),
    "replies as HTML": (fuzz_markdown, MARKDOWN),
    "escape sequences": (fuzz_ansi, ANSI),
    "references": (fuzz_references, NAMES + JSON),
    "events of a journal": (fuzz_events, EVENTS + JSON),
    "lines of a cell": (fuzz_cell_line, OPTIONS + NAMES),
}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_reader_of_strangers_texts_takes_anything(subject: str, record_property: Tell) -> None:
    fuzz(subject, record_property, most=150)


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_reader_of_strangers_texts_takes_anything_for_a_minute(subject: str, record_property: Tell) -> None:
    fuzz(subject, record_property, seconds=60)


@pytest.mark.weekly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_reader_of_strangers_texts_takes_anything_for_half_an_hour(subject: str, record_property: Tell) -> None:
    fuzz(subject, record_property, seconds=1800, first=10**9)


def fuzz(subject: str, tell: Tell, *, seconds: float = 3600, most: int = 10**9, first: int = 0) -> None:
    """Make texts, numbered from `first`, and let them be read; a number says which text it was."""
    read, words = SUBJECTS[subject]
    number = first
    read("")  # what is loaded lazily is loaded now
    for count in up_to_seconds(seconds, most):
        number = first + count
        text = make_text(random.Random(f"{subject} {number}"), words)
        try:
            run_within(SECONDS, functools.partial(read, text), time.process_time)
        except Exception as error:
            raise AssertionError(f"text {number} of {subject!r}: {text[:200]!r}") from error
    tell("injected", number - first + 1)


def make_text(chance: Chance, words: list[str]) -> str:
    """Make a text of a subject's words and any letters; one in fifty repeats one or two words very often."""
    if chance.random() < 0.02:
        unit = "".join(chance.choices(words, k=chance.randrange(1, 3))) or "a"
        return (chance.choice(words) + unit * (LONG // len(unit)) + chance.choice(words))[: LONG + 20]
    pool = words * 3 + LETTERS
    return "".join(chance.choices(pool, k=chance.randrange(1, 60)))

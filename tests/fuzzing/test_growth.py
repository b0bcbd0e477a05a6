"""Hostile texts of growing size for all that reads what strangers write: the time is short, and grows as they do."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, get_args

import pytest

from nbtool.blocks.confusables import escape_confusables
from nbtool.blocks.fold.turn_events import Transcript
from nbtool.blocks.protocol import Block
from nbtool.blocks.question import effect_text, summarize_call
from nbtool.blocks.render.markdown import render as to_markup
from nbtool.blocks.render.markdown_source import escape, fenced, quoted, rewrite, span
from nbtool.blocks.render.static_html import to_html, to_text
from nbtool.blocks.render.terminal import Terminal
from nbtool.blocks.sanitize import escape_invisible, one_line, strip_stacks, without_controls
from nbtool.event_json import load_event
from nbtool.events import CallFinished, CallReady, Event, Notice, TextDelta, ThinkingDelta
from nbtool.magics.flags.flag_parser import mentions, parse
from nbtool.magics.flags.flag_table import cell_parser
from nbtool.plugins.answer_json import find_values
from nbtool.plugins.masks import Masks
from nbtool.plugins.pii_patterns import PII_TYPES, select_types
from nbtool.tools.script.script_compiler import validate
from nbtool.tools.values.line_diff import line_diff
from nbtool.tools.values.model_text import render_or_preview, truncate
from nbtool.tools.values.sanitize import strip_controls, without_addresses, without_paths
from nbtool.wire import find_wire, parse_calls
from nbtool.wire.framing.redaction import excerpt, redact
from nbtool.wire.prompted.call_python import parse_python_calls
from nbtool.wire.prompted.json_repair import parse_object
from tests.campaigns import bounds
from tests.campaigns.bounds import up_to_seconds
from tests.fuzzing.chat_readers import CHAT, CODE
from tests.fuzzing.growth import families, problem
from tests.fuzzing.notebook_readers import NOTEBOOK
from tests.fuzzing.patterns import BOUNDED, is_searched, patterns, use, words_of
from tests.fuzzing.readers import MORE
from tests.fuzzing.test_fuzz import ANSI, EVENTS, JSON, MARKDOWN, NAMES, OPTIONS, STREAM, fuzz_references, with_errors
from tests.resolved import plain
from tests.wire.reading import close, feed

CALLS = ["<tool_call>", "</tool_call>", "<function=", "<parameter=", "[f(", ")]", "```json\n", "<think>", "</think>"]
SECRETS = ["sk-", "eyJ", "a@b.c", "+49 ", "4111 ", "DE89", "1.2.3.4", "Bearer ", "http://", "::", "<script", "<", ">"]
WRITING = [*MARKDOWN, "|a", "|-", "\n\n", "===\n", "---\n", "    ", "\t", "&amp;"]
PATHS = ["/", "/home/a", "C:\\", "0x", " at 0x7f", ".py", "~"]

Read = Callable[[str], object]


def stream_reader(dialect: str) -> Read:
    def read(text: str) -> None:
        decoder = find_wire(dialect).decoder()
        with_errors(lambda: [*feed(decoder, text.encode()), *close(decoder)])

    return read


def event_writer(make: Callable[[str], Event], write: Callable[[Any], str]) -> Read:
    def read(text: str) -> None:
        transcript = Transcript()
        transcript.feed(make(text))
        write(transcript.document())

    return read


def on_terminal(make: Callable[[str], Event]) -> Read:
    return lambda text: Terminal(io.StringIO()).feed(make(text))


def either(read: Read) -> Read:
    return lambda text: with_errors(lambda: read(text))


def _script(text: str) -> None:
    with suppress(ValueError):  # the words of a refusal, which the tool's schema tells
        validate(text)


BLOCKS: dict[str, dict[str, Callable[[str], Event]]] = {
    "ProseBlock": {"text": TextDelta, "thinking": ThinkingDelta},
    "CallBlock": {
        "arguments": lambda text: CallReady("c", "f", 1, text, {"a": plain(text)}),
        "result": lambda text: CallFinished("c", "f", 1, "error", text, "p" + text, traceback=text),
    },
    "NoticeBlock": {"notice": Notice},
}
"""The events by which a hostile text comes into each kind of block."""

MAKES = {name: make for makes in BLOCKS.values() for name, make in makes.items()}

READERS: dict[str, tuple[Read, list[str]]] = {
    **{
        f"stream, {name}": (stream_reader(name), STREAM + JSON) for name in ("chat", "responses", "anthropic", "gemini")
    },
    **{f"{name} as HTML": (event_writer(make, to_html), WRITING + ANSI) for name, make in MAKES.items()},
    **{f"{name} as text": (event_writer(make, to_text), WRITING + ANSI) for name, make in MAKES.items()},
    **{f"{name} in a terminal": (on_terminal(make), WRITING + ANSI) for name, make in MAKES.items()},
    "markdown": (to_markup, WRITING),
    "markdown export": (
        lambda text: (quoted(rewrite(text)), fenced(text, "text"), span(text), escape(text)),
        WRITING,
    ),
    "calls in text": (either(lambda text: parse_calls(text, {"f"})), CALLS + JSON + NAMES),
    "calls of any name": (either(parse_calls), CALLS + JSON + NAMES),
    "lenient JSON": (either(parse_object), JSON + NAMES),
    "Python calls": (either(parse_python_calls), JSON + NAMES + CALLS),
    "JSON in an answer": (find_values, JSON),
    "events of a journal": (either(load_event), EVENTS + JSON),
    "references": (fuzz_references, NAMES + JSON),
    "line of a cell": (either(lambda text: parse(cell_parser(), text)), OPTIONS),
    "body of a cell": (mentions, NAMES),
    "escape sequences": (strip_controls, ANSI),
    "control characters": (lambda text: (without_controls(text), escape_invisible(text), one_line(text)), ANSI),
    "combining marks": (strip_stacks, ["\u0301", "\u0e31", "\U0001f989"]),
    "confusables": (escape_confusables, ["а", "a", "Ａ", "é", "_", "Ж"]),  # noqa: RUF001 - hostile text
    "question": (lambda text: (summarize_call("f", text, {}), effect_text(text)), JSON),
    "addresses and paths": (lambda text: without_paths(without_addresses(text)), PATHS),
    "private values": (lambda text: Masks(select_types(PII_TYPES, ("Ada Lovelace",), {})).mask(text), SECRETS),
    "keys": (redact, SECRETS),
    "error page": (excerpt, [*SECRETS, "</script>", "<!doctype html>"]),
    "result": (lambda text: (render_or_preview(text), truncate(text)), WRITING),
    "diff": (lambda text: line_diff(text, text[: len(text) // 2][::-1] + text[5:], "f"), ["a\n", "b\n", "\r", "x"]),
    "script": (_script, CODE),
    **MORE,
    **NOTEBOOK,
    **CHAT,
}
"""All that reads what strangers write, and the pieces that each is about."""

SCALE = 0.2
"""How much shorter the texts of the quick tests are."""

FOUND = patterns()
"""The regular expressions of the package."""


def test_every_kind_of_block_has_its_hostile_texts() -> None:
    assert {kind.__name__ for kind in get_args(Block)} == set(BLOCKS)


READER_SECONDS, PATTERN_SECONDS = 5, 1.5
"""Seconds of CPU that the nightly lane gives each reader and each regular expression: some ten minutes for all."""

NIGHTLY_PAIRS = 100
"""Pairs of pieces of which ways to grow are made; each night takes others first, by its seed."""


def check(read: Read, words: list[str], name: str, *, pairs: int, most: int, seconds: float, scale: float) -> int:
    """Let a reader read hostile texts; gives how many ways of growing there were."""
    read("")
    every = families(words, name, pairs)
    problems, count = [], 0
    for _ in up_to_seconds(seconds, most):
        family = next(every, None)
        if family is None:
            break
        count += 1
        problems += [found] if (found := problem(read, family, scale)) else []
    assert problems == []
    return count


@pytest.mark.parametrize("name", READERS)
def test_a_reader_of_strangers_texts_takes_time_that_grows_with_their_length(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    read, words = READERS[name]
    record_property("injected", check(read, words, name, pairs=4, most=12, seconds=3, scale=SCALE))


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", READERS)
def test_a_reader_takes_time_that_grows_with_the_length_of_any_text(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    read, words = READERS[name]
    night = tonight(name)
    count = check(read, words, night, pairs=NIGHTLY_PAIRS, most=10_000, seconds=READER_SECONDS, scale=1.0)
    record_property("injected", count)


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", FOUND)
def test_a_regular_expression_takes_time_that_grows_with_the_length(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    pattern: re.Pattern[Any] = FOUND[name]
    search, most = is_searched(name), BOUNDED.get(name)
    read = lambda text: use(pattern, text[:most], search=search)  # noqa: E731 - a reader of one line
    words = words_of(pattern)
    night = tonight(name)
    count = check(read, words, night, pairs=NIGHTLY_PAIRS, most=1_000, seconds=PATTERN_SECONDS, scale=0.3)
    record_property("injected", count)


def tonight(name: str) -> str:
    """Return the seed of a reader's families of this night, and print it: with it a failure comes again."""
    print(f"{bounds.SEED}={bounds.seed}")  # noqa: T201 - pytest shows it with a failure
    return f"{name} {bounds.seed}"

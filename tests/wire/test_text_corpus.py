"""What real models wrote as text, as other projects recorded it; read where it lies, never copied.

A row counts only where its expectation is beyond doubt. The classes of doubt are named in `doubt`, each with its
reason, by what the row is and never by which row it is.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from nbtool.errors import InvalidArguments
from nbtool.wire.prompted.forms.marked_blocks import find_marked_blocks
from nbtool.wire.prompted.json_repair import parse_object, parse_value
from nbtool.wire.prompted.markdown_place import MarkdownPlace
from nbtool.wire.prompted.model_formats import DELIMITERS
from nbtool.wire.prompted.prompted_wire import parse_calls
from nbtool.wire.prompted.reading import RunningForms
from nbtool.wire.prompted.segments import CallSegment, MalformedSegment, PendingSegment, Piece, TextSegment
from nbtool.wire.prompted.text_scanner import TextScanner

CORPUS = Path(os.environ.get("NBTOOL_CORPUS") or Path(__file__).parents[3] / "shared/corpus/open")

pytestmark = pytest.mark.skipif(
    not (CORPUS / "text").is_dir(), reason=f"no recorded texts in {CORPUS}: set NBTOOL_CORPUS to a corpus"
)

Row = dict[str, Any]


@cache
def rows(name: str) -> tuple[Row, ...]:
    lines = (CORPUS / "text" / f"{name}.jsonl").read_text("utf-8").splitlines()
    return tuple(json.loads(line) for line in lines if line.strip())


def doubt(row: Row) -> str:
    """Why a row's expectation is not beyond doubt; empty where it is."""
    return next((reason for reason, applies in DOUBTS.items() if applies(row)), "")


DOUBTS: dict[str, Callable[[Row], bool]] = {
    "another client's template, read by its own options and its own tools": (
        lambda row: row["format"].startswith("native:")
    ),
    "the source does not say whether it is a call": lambda row: row["cls"] == "leaked_or_prose",
    "a command, no call": lambda row: row["format"].startswith("swe-agent"),
    "one lenient reader's guess: an identifier or an unpaired bracket made a value": (
        lambda row: row["derivation"] == "only json_repair" and row["cls"] == "malformed"
    ),
    "the model repeats a tool's definition": (
        lambda row: any(_is_definition(arguments) for _, arguments in as_expected(row))
    ),
    "a plain string where arguments are due": (
        lambda row: any(arguments and "__input__" in arguments for _, arguments in as_expected(row))
    ),
    "some calls of a batch were dropped by the reader that expects the others": (
        lambda row: len(re.findall(r"<\|im_start\|>\s*\{", row["text"])) > len(row["expected_calls"] or ()) > 0
    ),
    "two different calls, each called the answer": (
        lambda row: (
            row["format"] == "pythonic" and "```" in row["text"] and re.search(r"\[\"\[\w+\(", row["text"]) is not None
        )
    ),
}


def _is_definition(arguments: dict[str, Any] | None) -> bool:
    return (
        arguments is not None
        and arguments.get("type") in ("object", "dict")
        and arguments.keys() <= {"type", "properties", "required"}
    )


def clear_rows() -> list[Row]:
    return [row for row in rows("tool_text") if not doubt(row)]


def as_read(row: Row, names: list[str] | None = None) -> list[tuple[str, Any]]:
    return [(call.name, call.args) for call in parse_calls(row["text"], names).calls if call.runnable]


def as_expected(row: Row) -> list[tuple[str, Any]]:
    return [(call["name"], call["arguments"]) for call in row["expected_calls"] or ()]


def outcomes(found: list[tuple[Row, bool, bool]]) -> dict[str, Counter[str]]:
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for row, is_right, is_empty in found:
        table[f"{row['format']}/{row['cls']}"]["right" if is_right else "refused" if is_empty else "wrong"] += 1
    return table


def test_every_clear_row_is_read_as_expected() -> None:
    found = [(row, as_read(row) == as_expected(row), not as_read(row)) for row in clear_rows()]
    missed = {name: dict(counts) for name, counts in outcomes(found).items() if set(counts) != {"right"}}

    assert len(found) > 900
    assert missed == {}


def test_every_clear_row_is_read_the_same_where_the_tools_are_known() -> None:
    wrong = []
    for row in clear_rows():
        names = sorted({name for name, _ in as_expected(row)} | {"another_tool"})
        if as_read(row, names) != as_expected(row):
            wrong.append(row["text"])

    assert wrong == []


def test_rows_in_doubt_are_few_and_never_read_as_something_else_than_expected() -> None:
    ours = [row for row in rows("tool_text") if doubt(row) and not row["format"].startswith("native:")]
    reasons = Counter(doubt(row) for row in ours if row["expected_calls"])
    wrong = [row["text"] for row in ours if row["expected_calls"] and as_read(row) not in ([], as_expected(row))]

    assert wrong == []
    assert sum(reasons.values()) <= 15, reasons


def test_templates_of_other_clients_are_mostly_read_and_hardly_ever_otherwise() -> None:
    native = [row for row in rows("tool_text") if row["format"].startswith("native:")]
    actual = [row for row in native if row["cls"] == "native" and row["expected_calls"]]
    right = sum(as_read(row) == as_expected(row) for row in actual)
    wrong = sum(as_read(row) not in ([], as_expected(row)) for row in actual)

    assert right >= len(actual) * 0.6
    assert wrong <= 1  # a value whose type only the tool's schema could tell


def test_where_other_clients_make_no_call_we_make_one_only_of_a_whole_call_between_marks() -> None:
    none = [row for row in rows("tool_text") if row["format"].startswith("native:") and row["cls"] == "no_call"]
    made = [row for row in none if as_read(row)]

    assert len(made) <= 5  # their tests offered no such tool, which only `names` can tell
    assert all(list(find_marked_blocks(row["text"], DELIMITERS, MarkdownPlace())) for row in made)


def test_no_call_is_made_of_a_text_that_was_cut() -> None:
    cut = [row for row in rows("tool_text") if row["cls"] in ("partial", "truncated")]

    assert cut
    assert [row["text"] for row in cut if as_read(row)] == []


def test_a_call_that_loses_its_end_is_never_read_as_whole() -> None:
    """Cut every clear call somewhere before its last character: what is read is a beginning of what was meant."""
    for row in clear_rows():
        intended = as_expected(row)
        if not intended or row["format"] not in ("hermes", "granite", "json-tool_calls"):
            continue
        text = row["text"]
        for cut in range(text.rindex("}") - 8, text.rindex("}"), 3):
            read = as_read({"text": text[:cut]})
            assert read == intended[: len(read)]


def test_no_character_is_lost_and_no_cut_changes_anything() -> None:
    for row in rows("tool_text"):
        text = row["text"]
        whole = TextScanner(RunningForms(marks=DELIMITERS))
        found = [*whole.feed(text), *whole.close()]
        pieces = row.get("chunks") or [text[at : at + 7] for at in range(0, len(text), 7)]
        if "".join(pieces) != text:
            continue
        cut = TextScanner(RunningForms(marks=DELIMITERS))
        again = [piece for part in pieces for piece in cut.feed(part)] + list(cut.close())

        assert _joined(again) == _joined(found)
        assert "".join(_joined(found)) == text


def _joined(found: list[Any]) -> list[str]:
    """Give the text of neighbouring prose as one, and the source of calls."""
    parts: list[tuple[bool, str]] = []
    for piece in found:
        if not hasattr(piece, "size"):
            is_prose = isinstance(piece, TextSegment)
            text = piece.text if is_prose else piece.source
            if is_prose and parts and parts[-1][0]:
                text = parts.pop()[1] + text
            parts.append((is_prose, text))
    return [text for _, text in parts if text]


def test_recorded_arguments_are_read_as_agreed_or_refused() -> None:
    table: Counter[str] = Counter()
    for row in rows("json_args"):
        try:
            value = parse_object(row["text"]).value
        except InvalidArguments:
            value = None
        expected = row["expected_arguments"]
        table["right" if value == expected else "refused" if value is None else "wrong"] += 1

    assert table["wrong"] == 0, table
    assert table["right"] >= len(rows("json_args")) * 0.8, table


def test_an_answer_in_json_is_no_call_unless_it_is_one_from_end_to_end() -> None:
    calls = [row["text"] for row in rows("json_in_text") if as_read(row)]

    assert [text for text in calls if not re.fullmatch(r'\s*\{"name": "\w+", "arguments": \{.*\}\}\s*', text)] == []


def test_third_party_cases_are_read_or_refused() -> None:
    read = 0
    for row in rows("lenient_json"):
        try:
            read += parse_value(row["text"]).value == row["expected"]
        except InvalidArguments:
            continue

    assert read > 60


# --- where calls need the own mark of a chat --------------------------------------------------------------------

CALL_SYNTAX = re.compile(
    r"tool_call|function_call|<function|tool▁call|DSML|TOOL_CALLS|<\|(?:im_start|python_tag|python_start|tool|action)"
    r"|[\"']name[\"']\s*:|[\"']recipient_name[\"']|\w\((?:\w+=|\))|\A\w+\s*\n\s*\{",
    re.IGNORECASE,
)


def pieces_of(row: Row) -> list[Piece]:
    names = {*(row.get("tool_names") or ()), *(name for name, _ in as_expected(row)), "another_tool"}
    scanner = TextScanner(RunningForms("call-7f3a9c21"), names)
    pieces = [*scanner.feed(row["text"]), *scanner.close()]
    return [piece for piece in pieces if not isinstance(piece, PendingSegment)]


@pytest.mark.timeout(300)  # thousands of recorded texts, slow where coverage is measured
def test_nothing_without_the_own_mark_runs_and_every_clear_call_is_hidden() -> None:
    read = [(row, pieces_of(row)) for row in rows("tool_text")]
    hidden = {id(row) for row, pieces in read if any(isinstance(piece, MalformedSegment) for piece in pieces)}

    assert not any(isinstance(piece, CallSegment) for _, pieces in read for piece in pieces)
    assert [row["text"] for row in clear_rows() if row["expected_calls"] and id(row) not in hidden] == []


def test_of_recorded_answers_nothing_is_hidden_but_what_is_written_as_a_call() -> None:
    answers = [row for row in rows("tool_text") if not row["expected_calls"]]
    hidden = [piece for row in answers for piece in pieces_of(row) if isinstance(piece, MalformedSegment)]

    assert len(answers) > 500
    assert [piece.source for piece in hidden if not CALL_SYNTAX.search(piece.source)] == []

"""Prompts, a column or a template with rows → what is asked, and the shape that the answers come back in.

In a template `{column}` stands for a row's text there, and doubled braces for braces. It is not Python's `str.format`:
a name in braces is a column and nothing else, so that no row and no template reaches into an object.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any

from nbtool.errors import BadUsage
from nbtool.messages import Message
from nbtool.shorten import list_names, shorten

MAX_COLUMNS_NAMED = 20
"""Columns that an error names."""

MAX_PROMPTS = 1_000_000
"""Prompts that are asked in one go."""

Shape = Callable[[list[Any]], Any]
Pieces = Sequence[tuple[str, str | None]]


@dataclass(frozen=True, slots=True)
class Asked:
    """One prompt, its place from 0, and the label of its row; `problem` is why it cannot be asked."""

    place: int
    label: Any
    prompt: str | Message = ""
    problem: BadUsage | None = None


@dataclass(frozen=True, slots=True)
class Questions:
    """All prompts in order; `shape` makes their answers a list, or a column where the prompts came of one."""

    asked: Sequence[Asked]
    shape: Shape


def questions(prompts: Any, rows: Any = None) -> Questions:
    """Read what `Chat.map` is given: prompts or a column; or a template and the rows to fill it with.

    Raises:
        BadUsage: it is neither, or the template names a column that is not there.
    """
    if rows is not None:
        if not isinstance(prompts, str):
            raise BadUsage("With rows, the prompt is one text: a template.", fix='chat.map("Classify {text}", frame)')
        return _of_rows(prompts, rows)
    if isinstance(prompts, str | Message | Mapping) or not isinstance(prompts, Iterable):
        raise BadUsage(
            f"chat.map takes many prompts, not a {type(prompts).__name__}.", fix="Give a list, a column, or rows too."
        )
    labels, shape = _index_of(prompts)
    return _together([_asked(place, value) for place, value in enumerate(_bounded(prompts))], labels, shape)


def _of_rows(template: str, rows: Any) -> Questions:
    pieces = _pieces(template)
    wanted = list(dict.fromkeys(name for _, name in pieces if name is not None))
    if not wanted:
        raise BadUsage("The template has no {column}, so every row would ask the same.", fix='"Classify {text}"')
    labels, shape = _index_of(rows)
    if labels is not None and not hasattr(rows, "columns"):
        name = str(rows.name) if isinstance(getattr(rows, "name", None), str) else wanted[0]
        raise BadUsage(
            f"Rows are a frame or a list of dicts, not a {type(rows).__name__}: "
            f"it has no column {shorten(wanted[0], 60)!r}.",
            fix=f"Give a frame: rows.to_frame({shorten(name, 60)!r}) with {{{shorten(name, 60)}}} in the template.",
        )
    if not hasattr(rows, "columns"):
        if isinstance(rows, str | Mapping) or not isinstance(rows, Iterable):
            raise BadUsage(f"Rows are a frame or a list of dicts, not a {type(rows).__name__}.")
        asked = [_of_row(place, row, pieces) for place, row in enumerate(_bounded(rows))]
        return _together(asked, labels, shape)
    known = [str(column) for column in rows.columns]
    if missing := [name for name in wanted if name not in known]:
        raise _no_column(missing[0], known)
    columns = [list(rows[column]) for column in wanted]
    texts = [dict(zip(wanted, values, strict=True)) for values in zip(*columns, strict=True)]
    return _together([_of_row(place, row, pieces) for place, row in enumerate(_bounded(texts))], labels, shape)


def _of_row(place: int, row: Any, pieces: Pieces) -> Asked:
    if not isinstance(row, Mapping):
        return Asked(place, place, problem=BadUsage(f"Row {place} is a {type(row).__name__}, not a dict."))
    missing = next((name for _, name in pieces if name is not None and name not in row), None)
    if missing is not None:
        return Asked(place, place, problem=_no_column(missing, [str(key) for key in row]))
    if empty := [name for _, name in pieces if name is not None and _is_missing(row[name])]:
        return Asked(place, place, problem=BadUsage(f"Row {place} has no value for {shorten(empty[0], 60)!r}."))
    return Asked(place, place, "".join(f"{text}{'' if name is None else row[name]}" for text, name in pieces))


def _is_missing(value: Any) -> bool:
    """Whether a value is what tables write where there is none: None, NaN, NA, NaT."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # pandas.NA is neither true nor false; an array is a value
        return type(value).__name__ == "NAType"


def _pieces(template: str) -> Pieces:
    """Take a template apart into pairs of a text and the column after it."""
    try:
        parsed = list(Formatter().parse(template))
    except ValueError as error:
        raise BadUsage(f"The template cannot be read ({error}).", fix="Double the braces that are meant so.") from None
    for _, name, form, conversion in parsed:
        if name == "" or form or conversion:
            raise BadUsage("In a template, braces hold the name of a column alone.", fix="Double other braces: {{ }}")
    return [(text, name) for text, name, _, _ in parsed]


def _asked(place: int, value: Any) -> Asked:
    if isinstance(value, str | Message):
        return Asked(place, place, value)
    return Asked(place, place, problem=BadUsage(f"Prompt {place} is a {type(value).__name__}, not a text."))


def _together(asked: list[Asked], labels: Sequence[Any] | None, shape: Shape) -> Questions:
    if labels is None:
        return Questions(asked, shape)
    return Questions([Asked(one.place, labels[one.place], one.prompt, one.problem) for one in asked], shape)


def _index_of(table: Any) -> tuple[Sequence[Any] | None, Shape]:
    """Give the labels of a pandas column or frame, and how the answers become a column beside it."""
    if not type(table).__module__.startswith("pandas") or not hasattr(table, "index"):
        return None, list
    pandas: Any = sys.modules["pandas"]  # it is loaded: the table is of it
    index = table.index
    return list(index), lambda values: pandas.Series(**_column(values, pandas), index=index, name="answer")


_DTYPES = {bool: ("bool", "boolean"), int: ("int64", "Int64"), float: ("float64", "Float64")}
"""The dtype of a column of such answers, and the one where some of them failed."""


def _column(values: list[Any], pandas: Any) -> dict[str, Any]:
    """Return the data and the dtype of a column: answers of one plain type have its dtype, and failures are missing."""
    came = [value for value in values if not isinstance(value, BaseException)]
    kind = type(came[0]) if came else object
    has_failed = len(came) < len(values)
    if kind not in _DTYPES or any(type(value) is not kind for value in came):
        return {"data": values, "dtype": object}
    if kind is int and not all(-(2**63) <= value < 2**63 for value in came):
        return {"data": values, "dtype": object}
    data = [pandas.NA if isinstance(value, BaseException) else value for value in values]
    return {"data": data, "dtype": _DTYPES[kind][has_failed]}


def _bounded(items: Iterable[Any]) -> list[Any]:
    found = []
    for item in items:
        found.append(item)
        if len(found) > MAX_PROMPTS:
            raise BadUsage(f"More than {MAX_PROMPTS:,} prompts are asked in parts.")
    return found


def _no_column(name: str, known: Sequence[str]) -> BadUsage:
    shown = list_names(known, MAX_COLUMNS_NAMED) or "none"
    return BadUsage(
        f"There is no column {shorten(name, 60)!r}.", fix=f"Columns: {shown}. Double braces that are meant so."
    )

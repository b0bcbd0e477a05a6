"""Parse prompts, a column, or a template with rows, and determine the shape of the answers.

In a template, `{column}` is replaced by the row's value, and doubled braces are literal braces. Unlike `str.format`, a
name in braces is only a column name: no row and no template can access attributes of an object.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any

from nbtool.errors import BadUsage
from nbtool.messages import Message
from nbtool.text import list_names, shorten

MAX_COLUMNS_NAMED = 20
"""Maximum columns that an error lists."""

MAX_PROMPTS = 1_000_000
"""Maximum prompts of one batch."""

OutputShape = Callable[[list[Any]], Any]
Pieces = Sequence[tuple[str, str | None]]


@dataclass(frozen=True, slots=True)
class PromptItem:
    """One prompt, its index from 0, and the label of its row; `problem` is why it cannot be sent."""

    index: int
    label: Any
    prompt: str | Message = ""
    problem: BadUsage | None = None


@dataclass(frozen=True, slots=True)
class PromptSet:
    """All prompts in order; `shape` converts their answers to a list, or to a column if the input was one."""

    items: Sequence[PromptItem]
    shape: OutputShape


def parse_prompts(prompts: Any, rows: Any = None) -> PromptSet:
    """Parse the input of `Chat.map`: prompts or a column, or a template and its rows.

    Raises:
        BadUsage: the input is of another type, or the template names a column that does not exist.
    """
    if rows is not None:
        if not isinstance(prompts, str):
            raise BadUsage("With rows, the prompt is one text: a template.", fix='chat.map("Classify {text}", frame)')
        return _from_rows(prompts, rows)
    if isinstance(prompts, str | Message | Mapping) or not isinstance(prompts, Iterable):
        raise BadUsage(
            f"chat.map takes many prompts, not a {type(prompts).__name__}.", fix="Pass a list or a column, or add rows."
        )
    labels, shape = _index_of(prompts)
    return _prompt_set([_prompt_item(index, value) for index, value in enumerate(_bounded(prompts))], labels, shape)


def stream_prompts(prompts: Iterable[Any] | str, rows: Iterable[Any] | None = None) -> Iterator[PromptItem]:
    """Return prompts one at a time, from anything that yields prompts, or a template and anything that yields rows.

    Rows are dicts, or batches with a `to_pylist` (Arrow), or the tuples of a database cursor, which names its columns.
    A Dask frame is computed a partition at a time, and a Polars query a batch at a time.

    Raises:
        BadUsage: the input is of another type; a row that does not fit is a `problem` of its prompt.
    """
    if rows is None:
        if isinstance(prompts, str | Message | Mapping) or not isinstance(prompts, Iterable):
            raise BadUsage(
                f"This takes many prompts, not a {type(prompts).__name__}.", fix="Pass an iterator, or rows."
            )
        return (_prompt_item(index, value) for index, value in enumerate(prompts))
    if not isinstance(prompts, str):
        raise BadUsage("With rows, the prompt is one text: a template.", fix='"Classify {text}"')
    pieces = _pieces(prompts)
    _wanted_columns(pieces)
    _check_query(rows)
    return (_from_row(index, row, pieces) for index, row in enumerate(_iterate_rows(rows)))


def _iterate_rows(rows: Any) -> Iterator[Any]:
    """Yield rows as dicts from frames, Arrow batches, cursors and anything that yields them."""
    for table in _iterate_tables(rows):
        if hasattr(table, "iter_rows"):  # Polars
            yield from table.iter_rows(named=True)
        elif hasattr(table, "itertuples"):  # pandas: a row at a time, without a copy of the frame
            names = [str(name) for name in table.columns]
            yield from (dict(zip(names, row, strict=True)) for row in table.itertuples(index=False, name=None))
        elif getattr(table, "description", None):  # a cursor of PEP 249
            names = [column[0] for column in table.description]
            yield from (dict(zip(names, row, strict=True)) for row in table)
        else:
            for row in table:
                yield from row.to_pylist() if hasattr(row, "to_pylist") else [row]


def _iterate_tables(rows: Any) -> Iterator[Any]:
    """Yield a frame of Dask a partition at a time, a query of Polars a batch at a time, and other rows whole."""
    if hasattr(rows, "npartitions") and hasattr(rows, "partitions"):
        yield from (partition.compute() for partition in rows.partitions)
    elif hasattr(rows, "collect_batches"):
        yield from rows.collect_batches()
    else:
        yield rows


def _check_query(rows: Any) -> None:
    """Refuse a query of an older Polars, which can only be computed whole.

    Raises:
        BadUsage: it is one.
    """
    is_query = type(rows).__module__.startswith("polars.") and type(rows).__name__ == "LazyFrame"
    if is_query and not hasattr(rows, "collect_batches"):
        raise BadUsage(
            "The installed polars cannot compute a query a batch at a time.",
            fix="`%pip install -U polars`, or pass `query.collect()`, which holds all rows in memory.",
        )


def _wanted_columns(pieces: Pieces) -> list[str]:
    """Return the columns that a template names.

    Raises:
        BadUsage: there is none.
    """
    if wanted := list(dict.fromkeys(name for _, name in pieces if name is not None)):
        return wanted
    raise BadUsage("The template has no {column}, so every row would send the same prompt.", fix='"Classify {text}"')


def _from_rows(template: str, rows: Any) -> PromptSet:
    pieces = _pieces(template)
    wanted = _wanted_columns(pieces)
    labels, shape = _index_of(rows)
    if labels is not None and not hasattr(rows, "columns"):
        name = str(rows.name) if isinstance(getattr(rows, "name", None), str) else wanted[0]
        raise BadUsage(
            f"Rows are a frame or a list of dicts, not a {type(rows).__name__}: "
            f"it has no column {shorten(wanted[0], 60)!r}.",
            fix=f"Pass a frame: rows.to_frame({shorten(name, 60)!r}) with {{{shorten(name, 60)}}} in the template.",
        )
    if not hasattr(rows, "columns"):
        if isinstance(rows, str | Mapping) or not isinstance(rows, Iterable):
            raise BadUsage(f"Rows are a frame or a list of dicts, not a {type(rows).__name__}.")
        items = [_from_row(index, row, pieces) for index, row in enumerate(_bounded(rows))]
        return _prompt_set(items, labels, shape)
    column_names = [str(column) for column in rows.columns]
    if missing := [name for name in wanted if name not in column_names]:
        raise _no_column(missing[0], column_names)
    columns = [list(rows[column]) for column in wanted]
    texts = [dict(zip(wanted, values, strict=True)) for values in zip(*columns, strict=True)]
    return _prompt_set([_from_row(index, row, pieces) for index, row in enumerate(_bounded(texts))], labels, shape)


def _from_row(index: int, row: Any, pieces: Pieces) -> PromptItem:
    if not isinstance(row, Mapping):
        column = next((shorten(name, 60) for _, name in pieces if name is not None), "")
        fix = f"Pass dicts: [{{{column!r}: value}} for value in rows]."
        return PromptItem(
            index, index, problem=BadUsage(f"Row {index} is a {type(row).__name__}, not a dict.", fix=fix)
        )
    missing = next((name for _, name in pieces if name is not None and name not in row), None)
    if missing is not None:
        return PromptItem(index, index, problem=_no_column(missing, [str(key) for key in row]))
    if empty := [name for _, name in pieces if name is not None and _is_missing(row[name])]:
        return PromptItem(index, index, problem=BadUsage(f"Row {index} has no value for {shorten(empty[0], 60)!r}."))
    return PromptItem(index, index, "".join(f"{text}{'' if name is None else row[name]}" for text, name in pieces))


def _is_missing(value: Any) -> bool:
    """Whether a value is a missing value of a table: None, NaN, NA, NaT."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # pandas.NA is neither true nor false; an array is a value
        return type(value).__name__ == "NAType"


def _pieces(template: str) -> Pieces:
    """Split a template into pairs of a text and the column after it."""
    try:
        parsed = list(Formatter().parse(template))
    except ValueError as error:
        raise BadUsage(f"The template cannot be read ({error}).", fix="Double literal braces: {{ }}") from None
    for _, name, form, conversion in parsed:
        if name == "" or form or conversion:
            raise BadUsage(
                "In a template, braces contain only the name of a column.", fix="Double literal braces: {{ }}"
            )
    return [(text, name) for text, name, _, _ in parsed]


def _prompt_item(index: int, value: Any) -> PromptItem:
    if isinstance(value, str | Message):
        return PromptItem(index, index, value)
    return PromptItem(index, index, problem=BadUsage(f"Prompt {index} is a {type(value).__name__}, not a text."))


def _prompt_set(items: list[PromptItem], labels: Sequence[Any] | None, shape: OutputShape) -> PromptSet:
    if labels is None:
        return PromptSet(items, shape)
    return PromptSet([PromptItem(one.index, labels[one.index], one.prompt, one.problem) for one in items], shape)


def _index_of(table: Any) -> tuple[Sequence[Any] | None, OutputShape]:
    """Return the labels of a pandas column or frame, and the function that builds the answer column."""
    if not type(table).__module__.startswith("pandas") or not hasattr(table, "index"):
        return None, list
    pandas: Any = sys.modules["pandas"]  # already imported: the table is one of its objects
    index = table.index
    return list(index), lambda values: pandas.Series(**_column(values, pandas), index=index, name="answer")


_DTYPES = {bool: ("bool", "boolean"), int: ("int64", "Int64"), float: ("float64", "Float64")}
"""By answer type: the dtype of the column, and its nullable form if some answers failed."""


def _column(values: list[Any], pandas: Any) -> dict[str, Any]:
    """Return the data and the dtype of a column; failures become missing values."""
    answers = [value for value in values if not isinstance(value, BaseException)]
    kind = type(answers[0]) if answers else object
    has_failed = len(answers) < len(values)
    if kind not in _DTYPES or any(type(value) is not kind for value in answers):
        return {"data": values, "dtype": object}
    if kind is int and not all(-(2**63) <= value < 2**63 for value in answers):
        return {"data": values, "dtype": object}
    data = [pandas.NA if isinstance(value, BaseException) else value for value in values]
    return {"data": data, "dtype": _DTYPES[kind][has_failed]}


def _bounded(items: Iterable[Any]) -> list[Any]:
    result = []
    for item in items:
        result.append(item)
        if len(result) > MAX_PROMPTS:
            raise BadUsage(f"More than {MAX_PROMPTS:,} prompts: split them into several batches.")
    return result


def _no_column(name: str, columns: Sequence[str]) -> BadUsage:
    listing = list_names(columns, MAX_COLUMNS_NAMED) or "none"
    return BadUsage(
        f"There is no column {shorten(name, 60)!r}.", fix=f"Columns: {listing}. Double literal braces: {{{{ }}}}"
    )

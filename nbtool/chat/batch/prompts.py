"""Parse prompts, a column, or a template with rows, and determine the shape of the answers.

In a template, `{column}` is replaced by the row's value, and doubled braces are literal braces. Unlike `str.format`, a
name in braces is only a column name: no row and no template can access attributes of an object.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from string import Formatter
from types import FrameType
from typing import Any

from nbtool.chat.batch.rows import LIBRARIES, MAX_NAME, FrameLibrary, column_names, dtypes_of, no_column, read_rows
from nbtool.errors import BadUsage
from nbtool.messages import Message
from nbtool.text import shorten, type_of

MAX_PROMPTS = 1_000_000
"""Maximum prompts of one batch."""

EXAMPLE = '"Classify {text}"'
"""A template, for errors."""

OutputShape = Callable[[list[Any]], Any]
Pieces = Sequence[tuple[str, str | None]]


@dataclass(frozen=True, slots=True)
class PromptItem:
    """One prompt, its index from 0, and the label of its row; `problem` is why it cannot be sent.

    `key` is where its turn is in the journal, if it was counted among the prompts of other chunks.
    """

    index: int
    label: Any
    prompt: str | Message = ""
    problem: BadUsage | None = None
    key: str = ""


@dataclass(frozen=True, slots=True)
class PromptSet:
    """All prompts in order; `shape` converts their answers to a list, or to a column if the input was one.

    `library` is that of the frame or column of the input, None for others; `index` is the index of one of pandas.
    """

    items: Sequence[PromptItem]
    shape: OutputShape
    library: FrameLibrary | None = None
    index: Any = None


def parse_prompts(prompts: Any, rows: Any = None) -> PromptSet:
    """Parse the input of `Chat.map`: prompts or a column, or a template and its rows; warn if there are none.

    Raises:
        BadUsage: the input is of another type, or the template names a column that does not exist.
    """
    table = prompts if rows is None else rows
    items = _items(prompts, rows, is_streamed=False)
    index, shape = _index_of(table)
    prompts_of_table = _prompt_set(_bounded(items), None if index is None else list(index), shape)
    return replace(prompts_of_table, library=_library_of(table), index=index)


def stream_prompts(prompts: Iterable[Any] | str, rows: Iterable[Any] | None = None) -> Iterator[PromptItem]:
    """Return prompts one at a time, from anything that yields prompts, or a template and its rows (`read_rows`).

    Raises:
        BadUsage: the input is of another type, or the template names a column that does not exist; a row that does not
            fit is a `problem` of its prompt.
    """
    return _items(prompts, rows, is_streamed=True)


def _library_of(table: Any) -> FrameLibrary | None:
    module = type(table).__module__.partition(".")[0]
    return next((name for name in LIBRARIES if name == module), None)


def _items(prompts: Any, rows: Any, *, is_streamed: bool) -> Iterator[PromptItem]:
    if rows is None:
        _check_prompts(prompts)
        return _noticed((_prompt_item(index, value) for index, value in enumerate(prompts)), "prompts", prompts)
    if not isinstance(prompts, str):
        raise BadUsage("With rows, the prompt is one text: a template.", fix=f"For example {EXAMPLE}.")
    pieces = _pieces(prompts)
    wanted = _wanted_columns(pieces)
    table_rows = read_rows(rows, wanted, literal=_literal_names(pieces), is_streamed=is_streamed)
    return _noticed((_from_row(index, row, pieces) for index, row in enumerate(table_rows)), "rows", rows)


def _check_prompts(prompts: Any) -> None:
    """Refuse what is one prompt, or has rows, or is neither.

    Raises:
        BadUsage: it is.
    """
    if (columns := column_names(prompts)) is not None:
        column = shorten(columns[0], MAX_NAME) if columns else "text"
        raise BadUsage(
            f"{type(prompts).__name__} objects have rows, not prompts.",
            fix=f'Pass a template before it, such as "Classify {{{column}}}".',
        )
    if isinstance(prompts, str | bytes | Message | Mapping | type) or not isinstance(prompts, Iterable):
        raise BadUsage(f"This takes many prompts, not {type_of(prompts)}.", fix="Pass a list or a column, or add rows.")


def _noticed(items: Iterable[PromptItem], noun: str, source: Any) -> Iterator[PromptItem]:
    """Yield items, and warn if there are none: an iterator that was read before, or rows that a query did not find."""
    is_empty = True
    for item in items:
        is_empty = False
        yield item
    if is_empty and (isinstance(source, Iterator) or hasattr(source, "fetchone")):
        warn_caller(f"No {noun}: the iterator is exhausted or empty.")
    elif is_empty and noun == "rows":
        warn_caller(f"No rows: the {type(source).__name__} is empty.")


def prompt_bytes(prompt: str | Message) -> int:
    """Return about how much memory a prompt takes."""
    if isinstance(prompt, str):
        return sys.getsizeof(prompt)
    return sum(sys.getsizeof(getattr(part, "text", "")) + len(getattr(part, "data", b"")) for part in prompt.parts)


def find_caller() -> tuple[str, int]:
    """Return the file and the line outside nbtool that called it."""
    frame: FrameType | None = sys._getframe()
    while frame and frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] == "nbtool":
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame else (__file__, 1)


def warn_caller(text: str, caller: tuple[str, int] | None = None) -> None:
    """Warn each time, not once, at the line outside nbtool that asked for it."""
    file, line = caller or find_caller()
    warnings.warn_explicit(text, UserWarning, file, line, registry={})


def _wanted_columns(pieces: Pieces) -> list[str]:
    """Return the columns that a template names.

    Raises:
        BadUsage: there is none.
    """
    if wanted := list(dict.fromkeys(name for _, name in pieces if name is not None)):
        return wanted
    raise BadUsage(
        "The template has no {column}, so every row would send the same prompt.", fix=f"Name one, as in {EXAMPLE}."
    )


def _from_row(index: int, row: Any, pieces: Pieces) -> PromptItem:
    if not isinstance(row, Mapping):
        column = next((shorten(name, MAX_NAME) for _, name in pieces if name is not None), "")
        fix = f"Pass dicts: [{{{column!r}: value}} for value in rows]."
        return PromptItem(index, index, problem=BadUsage(f"This row is {type_of(row)}, not a dict.", fix=fix))
    missing = next((name for _, name in pieces if name is not None and name not in row), None)
    if missing is not None:
        return PromptItem(index, index, problem=_no_key(missing, row, pieces))
    if empty := [name for _, name in pieces if name is not None and _is_missing(row[name])]:
        return PromptItem(index, index, problem=BadUsage(f"This row has no value for {shorten(empty[0], MAX_NAME)!r}."))
    return PromptItem(index, index, "".join(f"{text}{'' if name is None else row[name]}" for text, name in pieces))


def _no_key(name: str, row: Mapping[Any, Any], pieces: Pieces) -> BadUsage:
    return no_column(name, [str(key) for key in row], is_literal=name in _literal_names(pieces))


def _literal_names(pieces: Pieces) -> set[str]:
    """Return what is in braces that may be meant as text: no word, or braces as in LaTeX and code."""
    return {
        name
        for text, name in pieces
        if name is not None and (not name.isidentifier() or text[-1:].isalnum() or text[-1:] in ("\\", "^", "_", "$"))
    }


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
            raise _no_column_name(name or "", form or "", conversion or "")
    return [(text, name) for text, name, _, _ in parsed]


def _no_column_name(name: str, form: str, conversion: str) -> BadUsage:
    """Return the error for what is in braces and no name: a name with a format, as in `str.format`, or a text."""
    rule = "In a template, braces contain only the name of a column"
    is_text = not name or name[0] in "\"'" or form[:1].isspace()
    if is_text:
        return BadUsage(f"{rule}.", fix="Double literal braces: {{ }}")
    given = shorten(f"{name}{f'!{conversion}' if conversion else ''}{f':{form}' if form else ''}", MAX_NAME)
    return BadUsage(
        f"{rule}, without a format: {{{given}}}.",
        fix=f"Format the values in a column of their own, and name that. If {{{given}}} is text, double its braces.",
    )


def _prompt_item(index: int, value: Any) -> PromptItem:
    if isinstance(value, str | Message):
        return PromptItem(index, index, value)
    if _is_missing(value):
        return PromptItem(index, index, problem=BadUsage(f"Prompt {index} has no value.", fix="Leave it out."))
    fix = f"Pass texts, or a template such as {EXAMPLE} and rows."
    return PromptItem(index, index, problem=BadUsage(f"Prompt {index} is {type_of(value)}, not a text.", fix=fix))


def _prompt_set(items: list[PromptItem], labels: Sequence[Any] | None, shape: OutputShape) -> PromptSet:
    if labels is None:
        return PromptSet(items, shape)
    return PromptSet([PromptItem(item.index, labels[item.index], item.prompt, item.problem) for item in items], shape)


def _index_of(table: Any) -> tuple[Any, OutputShape]:
    """Return the index of a pandas column or frame, and the function that builds the answer column."""
    if not type(table).__module__.startswith("pandas") or not hasattr(table, "index"):
        return None, list
    pandas: Any = sys.modules["pandas"]  # already imported: the table is one of its objects
    index = table.index
    return index, lambda values: pandas.Series(**_column(values), index=index, name="answer")


def _column(values: list[Any]) -> dict[str, Any]:
    """Return the data and the dtype of a column; failures become missing values, where it is of one type."""
    answers = [value for value in values if not isinstance(value, BaseException)]
    if (dtypes := dtypes_of(answers)) is None:
        return {"data": values, "dtype": object}
    data = [None if isinstance(value, BaseException) else value for value in values]
    return {"data": data, "dtype": dtypes[len(answers) < len(values)]}


def _bounded(items: Iterable[PromptItem]) -> list[PromptItem]:
    result = []
    for item in items:
        result.append(item)
        if len(result) > MAX_PROMPTS:
            raise BadUsage(f"More than {MAX_PROMPTS:,} prompts: split them into several batches.")
    return result

"""The values of docs/values.md, and the page: what a model reads of each kind of value, in each place.

Usage: NBTOOL_RECORD=1 pytest tests/tools/values/test_value_table.py writes the page; look at what changed.
"""

from __future__ import annotations

import csv
import datetime
import enum
import io
import re
from array import array
from collections import deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import UUID

from nbtool.tools.values.lazy_iterators import take_iterators
from nbtool.tools.values.model_text import render

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "values.md"

PLACES: dict[str, Callable[[Any], Any]] = {
    "alone": lambda value: value,
    "in a dict": lambda value: {"a": value},
    "as a key": lambda value: {value: 1},
    "in a cell": lambda value: _frame([value]),
}
"""Where a value is read: what is around it."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: the code that makes one, and in which places it may stand."""

    code: str
    places: tuple[str, ...] = tuple(PLACES)

    def value(self) -> Any:
        """Return a new value of this kind."""
        return eval(self.code, _names())

    def read(self, place: str) -> str:
        """Return what a model reads of it in one place; a mark stands for a text that is not all of the value."""
        rendered = render(PLACES[place](take_iterators(self.value())))
        text = rendered.text
        if place == "in a cell":
            text = text.partition("\n")[2].partition("\n")[2]
        return text.replace("\n", "⏎") + ("" if rendered.is_complete else f" {PART}")


PART = "◐"

BOTH = ("alone", "in a dict")

KINDS: dict[str, tuple[Kind, ...]] = {
    "Python": (
        Kind("None"), Kind("True"), Kind("7"), Kind("10**20"), Kind("0.1 + 0.2"), Kind("1e-300"),
        Kind("float('nan')"), Kind("float('inf')"), Kind("1 + 2j"), Kind("1 << 20_000"),
        Kind("'text'"), Kind("''"), Kind("'None'"), Kind("'1'"), Kind("'a\\nb'"), Kind("b'raw'"), Kind("b'\\xff\\x00'"),
        Kind("date(2024, 2, 29)"), Kind("datetime(2024, 2, 29, 12, 30)"), Kind("timedelta(hours=1)"),
        Kind("Decimal('1.10')"), Kind("Fraction(1, 3)"), Kind("UUID(int=1)"), Kind("PurePosixPath('a/b')"),
        Kind("Color.RED"), Kind("(1, 'x')"), Kind("[1, 'x', None]", (*BOTH, "in a cell")), Kind("frozenset([1])"),
        Kind("{1: 'a', '1': 'b'}", BOTH), Kind("{None: 1, 'None': 2}", BOTH), Kind("deque([1])", BOTH),
        Kind("range(3)"), Kind("array('d', [0.5])", BOTH),
        Kind("memoryview(array('i', [1, 2]))", BOTH), Kind("Point(1.5, [1])", (*BOTH, "in a cell")),
        Kind("object()", (*BOTH, "in a cell")), Kind("len"), Kind("ValueError('bad')", BOTH),
    ),
    "Iterators that a tool returns": (
        Kind("map(str.upper, ['a'])", BOTH), Kind("zip([1], ['a'])", BOTH), Kind("(n for n in range(2))", BOTH),
        Kind("groupby('aab')", BOTH), Kind("csv.reader(['a,b'])", BOTH), Kind("StringIO('a')", BOTH),
    ),
    "numpy": (
        Kind("np.bool_(True)"), Kind("np.int64(7)"), Kind("np.float64(0.1)"), Kind("np.float32(0.1)"),
        Kind("np.float16(0.1)"), Kind("np.float64('nan')"), Kind("np.complex64(1 + 2j)"),
        Kind("np.datetime64('2024-02-29T12:30:00.000000001')"), Kind("np.datetime64('NaT')"),
        Kind("np.timedelta64(3, 'h')"), Kind("np.str_('text')"), Kind("np.bytes_(b'raw')"),
        Kind("np.array(5)", BOTH), Kind("np.ma.masked", (*BOTH,)),
        Kind("np.array([[1, 2], [3, 4]])", (*BOTH, "in a cell")), Kind("np.array([0.1, np.nan])", BOTH),
        Kind("np.array([0.1], 'f4')", BOTH), Kind("np.ma.array([1, 2], mask=[0, 1])", BOTH),
        Kind("np.array([(1, 'a')], [('x', 'i4'), ('y', 'U1')])", BOTH), Kind("np.array(['2024-02-29'], 'M8[D]')", BOTH),
        Kind("np.ma.array([(1, 2)], [('x', 'i4'), ('y', 'i4')], mask=[(1, 0)])", BOTH),
        Kind("np.zeros((0, 3))", BOTH), Kind("np.arange(10_000)", BOTH),
    ),
    "pandas": (
        Kind("pd.NA"), Kind("pd.NaT"), Kind("pd.Timestamp('2024-02-29 12:30:00.000000001')"),
        Kind("pd.Timestamp('2024-02-29', tz='Europe/Berlin')"), Kind("pd.Timedelta(1, 'ns')"),
        Kind("pd.Period('2024-02')"), Kind("pd.Interval(0, 0.5)"), Kind("pd.offsets.MonthEnd()"),
        Kind("pd.StringDtype()", BOTH),
        Kind("pd.Series([0.1, None])", BOTH), Kind("pd.Series([1], index=['a'], name='n')", BOTH),
        Kind("pd.Series(['x', 'x']).value_counts()", BOTH), Kind("pd.Series(['a', None], dtype='category')", BOTH),
        Kind("pd.Series([1, None], dtype='Int64')", BOTH), Kind("pd.Series(['', None, 'None'], dtype=object)", BOTH),
        Kind("pd.Series([0, 1], dtype='Sparse[int]')", BOTH), Kind("pd.Index([0.1], name='k')", BOTH),
        Kind("pd.DataFrame({'id': [123456789012, None], 'v': [1234567.891, 2.0]})", BOTH),
        Kind("pd.DataFrame([[1, 2]], columns=['a', 'a'])", BOTH), Kind("pd.DataFrame({'a': [1]}, index=['r'])", BOTH),
        Kind("pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([('a', 'x'), ('a', 'y')]))", BOTH),
        Kind("pd.DataFrame({'v': [1]}, index=pd.MultiIndex.from_tuples([('a', 1)], names=['k', 'n']))", BOTH),
        Kind("pd.DataFrame({'d': pd.to_datetime(['2024-02-29', None]).as_unit('ns')})", BOTH),
        Kind("pd.DataFrame({'a': [1, '1', None, 0.5]}, dtype=object)", BOTH),
        Kind("pd.DataFrame({'a': [pd.DataFrame({'b': [1]})]})", BOTH), Kind("pd.DataFrame()", BOTH),
        Kind("pd.DataFrame({'a': range(10_000)})", BOTH), Kind("pd.DataFrame({'a': [0.123456789]}).style", BOTH),
    ),
    "polars": (
        Kind("pl.Series('s', [1, None])", BOTH), Kind("pl.Series([0.1], dtype=pl.Float32)", BOTH),
        Kind("pl.DataFrame({'s': ['', None, 'null'], 'n': [1, None, 3]})", BOTH),
        Kind("pl.DataFrame({'l': [[1, 2]], 's': [{'c': None}]})", BOTH),
        Kind("pl.DataFrame({'t': pl.Series([1], dtype=pl.Datetime('ns'))})", BOTH),
    ),
    "pyarrow": (
        Kind("pa.scalar(1.5)", BOTH), Kind("pa.array([1, None])", BOTH), Kind("pa.table({'a': ['', None]})", BOTH),
    ),
    "xarray": (
        Kind("xr.DataArray([[0.1, 2]], dims=('x', 'y'), coords={'x': [10]}, name='q')", BOTH),
        Kind("xr.Dataset({'a': ('x', [0.123456789, 2])})", BOTH), Kind("xr.DataArray(1.5)", BOTH),
        Kind("xr.DataArray(1.5, name='q', coords={'x': 10}, attrs={'units': 'K'})", BOTH),
        Kind("xr.DataArray([[1, 2]], coords={'x': ['a'], 'y': [3, 4]}, dims=('x', 'y')).stack(p=('x', 'y'))", BOTH),
        Kind("xr.Dataset({'a': ('x', np.arange(10_000))}, attrs={'units': 'K'})", BOTH),
    ),
    "What a notebook displays": (
        Kind("Markdown('**hi**')", BOTH), Kind("HTML('<b>hi</b>')", BOTH), Kind("Math('x^2')", BOTH),
        Kind("JSON({'a': 1})", BOTH), Kind("SVG('<svg></svg>')", BOTH), Kind("Pretty('hi')", BOTH),
        Kind("go.Figure([go.Bar(y=[1, 0.5])])", BOTH), Kind("Figure(figsize=(4, 3))", BOTH),
        Kind("PIL.Image.new('RGB', (4, 2))", BOTH),
    ),
}  # fmt: skip
"""The kinds of values, by where their types come from."""

HEAD = """# What a model reads of a value

The result of a tool, a variable that is read and the output of a script are read in one way. A text is itself; a
table is CSV below a line with its type and shape, an array JSON below such a line, and everything else JSON, in which
NaN and the infinities are written as Python's `json` writes them. No display option of a library counts: every digit
that tells a number from its neighbours is there.

- In CSV a text is in quotes where it could be read as something else: `""` is an empty text, and `NaN`, `<NA>`, `NaT`,
  `None` and `null` without quotes are missing values. Other fields are in quotes if they contain a comma. The labels
  of rows are the first columns, unless they only count the rows; levels of a label are joined by ` / `.
- In JSON a table is `columns` and `rows`, with `index` if its rows have labels; a series or an array is a list. A key
  is the `str()` of what it is; if two have the same text, the other than the text gets its type, or a number.
- What is larger than the limits (8,000 characters for a result) is a part, with a line that says how much of it;
  inside a container a large table or array is its type and shape, so that what stands beside it is read. ◐ marks here
  what is not all of the value: the text for the model then says `Shown in part` and not `Whole result`.
- The items of an iterator that a tool returns are taken once, 10,000 at most, and the result is a list. An iterator
  that you expose is not read, because that would use it up; nor is one that can be closed, such as a file or a
  cursor.
- A representation in angle brackets is a description and not the value. What an object displays in a notebook is read
  where there is text or data: Markdown, LaTeX, JSON, HTML, the data of a chart.
- Pictures (matplotlib, PIL, bytes, objects that draw themselves with `_repr_png_`; also in lists and dicts) are
  attached for a model that sees: eight of up to 4.19 MB. They pass the gate of the result, and the policy, like its
  text. To a model that takes none, the result says so.
- A class says what a model reads by `_repr_llm_`. Records (pydantic, msgspec, attrs, dataclasses) are what their
  class lets out, also as arguments of an exception whose text Python makes of them.

`NBTOOL_RECORD=1 pytest tests/tools/values/test_value_table.py` writes this page, and the tests compare it with what
is read, under the oldest and the newest versions of the libraries.
"""


def page() -> str:
    """Return the page."""
    return HEAD + "".join(_section(name, kinds) for name, kinds in KINDS.items())


def _section(name: str, kinds: tuple[Kind, ...]) -> str:
    libraries = {"Iterators that a tool returns": "Python", "What a notebook displays": "plotly"}
    library = libraries.get(name, name)
    versions = "" if library == "Python" else f" ({library} {versions_of(library)})"
    lines = ["", f"## {name}{versions}", "", f"| value | {' | '.join(PLACES)} |", "|---" * (len(PLACES) + 1) + "|"]
    return "\n".join([*lines, *(row(kind) for kind in kinds), ""])


def row(kind: Kind) -> str:
    """Return the row of a value."""
    cells = [_code(kind.code), *(_code(kind.read(place)) if place in kind.places else "" for place in PLACES)]
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    shown = text.replace("|", "\\|")
    return f"{fence}{shown if len(shown) <= 160 else f'{shown[:160]}…'}{fence}" if text else ""


def versions_of(library: str) -> str:
    """Return the oldest and the newest version of a library under which the tests run."""
    locks = [(ROOT / name).read_text("utf-8") for name in ("requirements-oldest-core.lock", "requirements.lock")]
    found = [one for lock in locks for one in re.findall(rf"^{library}==([\d.]+)", lock, re.MULTILINE)]
    ordered = sorted(found, key=lambda text: [*map(int, text.split("."))])
    return f"{ordered[0]} to {ordered[-1]}"


def _frame(cells: list[Any]) -> Any:
    import pandas as pd  # noqa: PLC0415 - as the values

    return pd.DataFrame({"a": pd.Series(cells, dtype=object)})


def _names() -> dict[str, Any]:
    return {**_libraries(), **_STANDARD}


def _libraries() -> dict[str, Any]:
    import matplotlib.figure  # noqa: PLC0415 - slow to import
    import numpy as np  # noqa: PLC0415
    import pandas as pd  # noqa: PLC0415
    import PIL.Image  # noqa: PLC0415
    import plotly.graph_objects as go  # noqa: PLC0415
    import polars as pl  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415
    import xarray as xr  # noqa: PLC0415
    from IPython import display  # noqa: PLC0415

    shown = {name: getattr(display, name) for name in ("Markdown", "HTML", "Math", "JSON", "SVG", "Pretty")}
    names = {"np": np, "pd": pd, "pl": pl, "pa": pa, "xr": xr, "go": go, "PIL": PIL}
    return {**names, **shown, "Figure": partial(matplotlib.figure.Figure, dpi=100)}


Point = namedtuple("Point", "x y")

_STANDARD: dict[str, Any] = {
    "csv": csv, "array": array, "deque": deque, "date": datetime.date, "datetime": datetime.datetime,
    "timedelta": datetime.timedelta, "Decimal": Decimal, "Fraction": Fraction, "StringIO": io.StringIO,
    "groupby": groupby, "PurePosixPath": PurePosixPath, "UUID": UUID, "Point": Point,
    "Color": enum.Enum("Color", {"RED": "red"}),
}  # fmt: skip

"""The rows of a template, from every kind of table, in `Chat.map` and in `Chat.map_into`."""

from __future__ import annotations

import io
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars
import pyarrow
import pytest
from pyarrow import dataset, feather, ipc, parquet

from nbtool import Chat
from nbtool.chat.batch.prompts import parse_prompts, stream_prompts
from nbtool.chat.batch.rows import BATCH_ROWS
from nbtool.errors import BadUsage
from nbtool.testing import ScriptedWire

HAS_BATCHES = hasattr(polars.LazyFrame, "collect_batches")
ROWS = [{"n": 1, "text": "a"}, {"n": 2, "text": "b"}]
TABLE = pyarrow.Table.from_pylist(ROWS)
SELECT = "SELECT 1 AS n, 'a' AS text UNION ALL SELECT 2, 'b'"
DATABASE = sqlite3.connect(":memory:", check_same_thread=False)
CSV = "n,text\n1,a\n2,b\n"

Read = Callable[[str, Any], list[Any]]


def mapped(template: str, rows: Any) -> list[Any]:
    return list(parse_prompts(template, rows).items)


def streamed(template: str, rows: Any) -> list[Any]:
    return list(stream_prompts(template, rows))


@pytest.fixture(params=[mapped, streamed], ids=["map", "map_into"])
def read(request: pytest.FixtureRequest) -> Read:
    found: Read = request.param
    return found


def cursor(query: str = SELECT, row_factory: Any = None) -> sqlite3.Cursor:
    found = DATABASE.cursor()
    found.row_factory = row_factory
    return found.execute(query)


class PlainCursor:
    """A cursor with no more than PEP 249 requires: it cannot be iterated."""

    def __init__(self) -> None:
        self._cursor = cursor()
        self.description = self._cursor.description

    def fetchone(self) -> Any:
        return self._cursor.fetchone()


def parquet_path(tmp_path: Path) -> Path:
    parquet.write_table(TABLE, tmp_path / "in.parquet", row_group_size=1)
    return tmp_path / "in.parquet"


def arrow_file(tmp_path: Path) -> ipc.RecordBatchFileReader:
    feather.write_feather(TABLE, str(tmp_path / "in.arrow"), chunksize=1)
    return ipc.open_file(str(tmp_path / "in.arrow"))


MAKE: dict[str, Callable[[Path], Any]] = {
    "table": lambda _: TABLE,
    "batch": lambda _: TABLE.to_batches()[0],
    "reader": lambda _: TABLE.to_reader(max_chunksize=1),
    "batches": lambda _: iter(TABLE.to_batches(max_chunksize=1)),
    "dataset": lambda path: dataset.dataset(parquet_path(path)),
    "dataset in memory": lambda _: dataset.dataset(TABLE),
    "scanner": lambda _: dataset.dataset(TABLE).scanner(),
    "Parquet file": lambda path: parquet.ParquetFile(parquet_path(path)),
    "Arrow file": arrow_file,
    "dataset of an Arrow file": lambda path: [arrow_file(path), dataset.dataset(path / "in.arrow", format="feather")][
        1
    ],
    "cursor": lambda _: cursor(),
    "cursor of named rows": lambda _: cursor(row_factory=sqlite3.Row),
    "cursor of dicts": lambda _: cursor(row_factory=lambda _, row: {"n": row[0], "text": row[1]}),
    "cursor without iteration": lambda _: PlainCursor(),
    "frames": lambda _: pd.read_csv(io.StringIO(CSV), chunksize=1),
    "frames of Polars": lambda _: iter(polars.DataFrame(ROWS).iter_slices(1)),
    "two other columns of one name": lambda _: pd.DataFrame(
        [[1, "a", 3, 4], [2, "b", 4, 5]], columns=["n", "text", "m", "m"]
    ),
}


@pytest.mark.parametrize("kind", MAKE)
def test_rows_come_from_every_kind_of_table(read: Read, kind: str, tmp_path: Path) -> None:
    items = read("{n}: {text}", MAKE[kind](tmp_path))

    assert [(one.index, one.prompt) for one in items] == [(0, "1: a"), (1, "2: b")]


def test_a_query_is_computed_without_a_warning(read: Read) -> None:
    if read is streamed and not HAS_BATCHES:
        pytest.skip("refused with this polars")

    assert [one.prompt for one in read("{n}: {text}", polars.LazyFrame(ROWS))] == ["1: a", "2: b"]


def test_columns_whose_names_are_numbers_are_found(read: Read) -> None:
    assert [one.prompt for one in read("{0}", pd.DataFrame([["a"], ["b"]]))] == ["a", "b"]


def test_a_table_is_read_in_order_beyond_one_batch(read: Read) -> None:
    table = pyarrow.table({"n": range(2 * BATCH_ROWS + 1)})

    assert [one.prompt for one in read("{n}", table)] == [str(n) for n in range(2 * BATCH_ROWS + 1)]


def test_a_frame_among_others_without_the_column_is_a_problem_of_its_rows(read: Read) -> None:
    items = read("{text}", iter([pd.DataFrame(ROWS), pd.DataFrame({"n": [3]})]))

    assert [one.prompt for one in items[:2]] == ["a", "b"]
    assert [bool(one.problem) for one in items] == [False, False, True]
    assert all(part in str(items[2].problem) for part in ("'text'", "Columns: n."))


IMPORTS = """
import sys
from nbtool.chat.batch.prompts import parse_prompts
parse_prompts("{text}", [{"text": "a"}])
print([name for name in ("pyarrow", "pandas", "polars") if name in sys.modules])
"""


def test_no_library_of_tables_is_imported_for_dicts() -> None:
    assert subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True).stdout == "[]\n"


def rows_function() -> Iterator[Any]:
    yield {"text": "a"}


NO_ROWS: list[tuple[Any, str]] = [
    (5, r"not an int\. Pass dicts: \[\{'text': value\}\]"),
    ("in.arrow", r"not a str\. Open the file: pyarrow\.dataset\.dataset\('in\.arrow', format='feather'\)\."),
    ("in.parquet", r"not a str\. Open the file: pyarrow\.parquet\.ParquetFile\('in\.parquet'\)\."),
    (Path("in.csv"), r"not a [A-Za-z]+Path\. Open the file: pandas\.read_csv\('in\.csv'\)\."),
    ("reviews", r"Open the file: for example pandas\.read_csv\('reviews'\)\."),
    (b"in.jsonl", r"Open the file: pandas\.read_json\('in\.jsonl', lines=True\)\."),
    ({"text": ["a"]}, r"list of dicts, not a dict of columns\. Pass pandas\.DataFrame\(rows\), or \["),
    ({"text": "a"}, r"not a dict\. Pass \[rows\]"),
    (rows_function, r"not a function\. Call it: rows\(\)"),
    (polars.Series("name", ["a"]), r"not a Series.*rows\.to_frame\('name'\) with \{name\}"),
    (DATABASE.cursor(), "has run no query"),
]


@pytest.mark.parametrize(("rows", "message"), NO_ROWS)
def test_what_has_no_rows_is_refused_before_anything_is_sent_or_written(
    rows: Any, message: str, tmp_path: Path
) -> None:
    with ScriptedWire([]) as wire:
        with pytest.raises(BadUsage, match=message):
            Chat(wire=wire).map("Kind? {text}", rows)
        with pytest.raises(BadUsage, match=message):
            Chat(wire=wire).map_into(tmp_path / "a.sqlite", "Kind? {text}", rows)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "make_rows",
    [
        lambda: pd.DataFrame(ROWS),
        lambda: polars.DataFrame(ROWS),
        lambda: TABLE,
        lambda: TABLE.to_reader(),
        cursor,
        lambda: pd.read_csv(io.StringIO(CSV), chunksize=1),
        pytest.param(
            lambda: polars.LazyFrame(ROWS), marks=pytest.mark.skipif(not HAS_BATCHES, reason="refused before")
        ),
    ],
    ids=["pandas", "polars", "arrow", "reader", "cursor", "frames", "query"],
)
def test_an_unknown_column_is_refused_with_the_near_one_before_anything_is_sent_or_written(
    make_rows: Callable[[], Any], tmp_path: Path
) -> None:
    message = r"There is no column 'txt'\. Did you mean text\?$"
    with ScriptedWire([]) as wire:
        with pytest.raises(BadUsage, match=message):
            Chat(wire=wire).map("Kind? {txt}", make_rows())
        with pytest.raises(BadUsage, match=message):
            Chat(wire=wire).map_into(tmp_path / "a.sqlite", "Kind? {txt}", make_rows())

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("template", [r"\frac{a}{b} {text}", r"\d{3} {text}", '{"kind"} {text}'])
def test_braces_that_may_be_text_are_advised_to_be_doubled(template: str, read: Read) -> None:
    with pytest.raises(BadUsage, match=r"Columns: n, text\. Double literal braces: \{\{ \}\}$"):
        read(template, TABLE)


def test_a_word_in_braces_is_only_a_column(read: Read) -> None:
    with pytest.raises(BadUsage, match=r"There is no column 'price'\. Columns: n, text\.$"):
        read("Kind? {price}", TABLE)


def test_a_template_without_a_column_gets_an_example(read: Read) -> None:
    with pytest.raises(BadUsage, match=r'the same prompt\. Name one, as in "Classify \{text\}"\.$'):
        read("Kind?", ROWS)


@pytest.mark.parametrize("table", [pd.DataFrame(ROWS), TABLE, polars.LazyFrame(ROWS), cursor()])
def test_a_table_in_place_of_prompts_is_refused_with_the_fix(table: Any) -> None:
    for read_prompts in (parse_prompts, stream_prompts):
        with pytest.raises(BadUsage, match=r'have rows, not prompts\. .*"Classify \{n\}"'):
            read_prompts(table)


EMPTY: list[tuple[Callable[[], Any], str]] = [
    (lambda: iter([]), "No rows: the iterator is exhausted or empty."),
    (lambda: cursor(f"{SELECT} LIMIT 0"), "No rows: the iterator is exhausted or empty."),
    (list, "No rows: the list is empty."),
    (lambda: pd.DataFrame({"text": []}), "No rows: the DataFrame is empty."),
    (lambda: TABLE.slice(2), "No rows: the Table is empty."),
]


@pytest.mark.parametrize(("make_rows", "said"), EMPTY)
def test_no_rows_are_a_warning_at_the_line_that_asked(make_rows: Callable[[], Any], said: str) -> None:
    chat, rows = Chat(wire=ScriptedWire([])), [make_rows(), make_rows()]
    with pytest.warns(UserWarning, match=f"^{re.escape(said)}$") as of_map:
        values = chat.map("Kind? {text}", rows[0]).values
    with pytest.warns(UserWarning, match=f"^{re.escape(said)}$") as of_map_into:
        totals = chat.map_into([].append, "Kind? {text}", rows[1])

    assert [one.filename for one in (*of_map, *of_map_into)] == [__file__] * 2
    assert list(values) == []
    assert str(totals) == "0 prompts"


def test_an_exhausted_iterator_of_prompts_is_a_warning_each_time() -> None:
    prompts = iter(["a"])
    list(prompts)
    for _ in range(2):
        with pytest.warns(UserWarning, match="No prompts: the iterator is exhausted or empty"):
            parse_prompts(prompts)


def rows_of_a_join() -> sqlite3.Cursor:
    connection = sqlite3.connect(":memory:")
    return connection.execute("SELECT 7 AS c, 8 AS c")


@pytest.mark.parametrize(
    "make_rows",
    [
        lambda: pd.DataFrame([[7, 8]], columns=["c", "c"]),
        lambda: pd.DataFrame([[7, 8]], columns=[1, "1"]).rename(columns=lambda _: "c"),
        lambda: pyarrow.table([[7], [8]], names=["c", "c"]),
        rows_of_a_join,
        lambda: iter([pd.DataFrame([[7, 8]], columns=["c", "c"])]),
        lambda: iter([pd.DataFrame({"c": [1]}), pd.DataFrame([[7, 8]], columns=["c", "c"])]),
    ],
)
def test_a_name_of_two_columns_is_refused(make_rows: Callable[[], Any]) -> None:
    with pytest.raises(BadUsage, match=r"^Two columns are named 'c'\. Rename them first"):
        parse_prompts("Classify {c}", make_rows())


def test_columns_of_one_name_that_no_template_names_are_no_problem() -> None:
    frame = pd.DataFrame([["x", 7, 8]], columns=["text", "c", "c"])

    assert [item.prompt for item in parse_prompts("Classify {text}", frame).items] == ["Classify x"]


def test_a_number_and_its_text_as_names_are_two_columns_of_one_name() -> None:
    with pytest.raises(BadUsage, match="Two columns are named '1'"):
        parse_prompts("Classify {1}", pd.DataFrame([[7, 8]], columns=[1, "1"]))

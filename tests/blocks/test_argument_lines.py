"""Arguments read the same on a page, in a saved notebook and in a terminal, and stay what the model wrote."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtool.blocks.argument_lines import INDENT_LIMIT, long_arguments, omitted_arguments, short_arguments

TABLE = Path(__file__).parents[2] / "js" / "tests" / "arguments.json"
"""Arguments with both of their forms; js/tests/text.test.ts reads it too."""

IS_WRITTEN = "NBTOOL_RECORD" in os.environ
"""Whether the table is written anew."""

NUMBERS = [
    "1.10", "1.0", "-0", "0.1e-7", "1E5", "1e400", "12345678901234567890", "0.30000000000000004", "9" * 5_000,
]  # fmt: skip
TEXTS = [
    "", " ", "ACME", "a \\\"quoted\\\", {brace}: x", "\\u00e9", "é", "日本語", "😀", "\\ud83d\\ude00", "\\ud800",
    "\\n\\t", "\\\\", "a\u202eb", "x\u200by", "\u0301" * 3, "\u00a0", "\u3000wide", "w" * 90, "😀" * 90, "e " * 300,
    *(f"$VAR_REF{{{{{name}}}}}" for name in ("df", "df[0]:1", "größe", "नमस्ते", "")),
    "see $VAR_REF{{df}}", "\\\"$VAR_REF{{df}}",
]  # fmt: skip
KEYS = ["a", "a_1", "a-b", "a b", "größe", "名", "", "a.b", 'a\\"b', "\\u0061", "$VAR_REF{{df}}", "__proto__"]
NESTED = [
    "null", "true", "[]", "{}", "[1, 2]", '{"b": [1, {"c": null}]}', '[ 1 ,\n2 ]', '{"b" : 1.50 , "b":2}',
    "[" * (INDENT_LIMIT - 1) + "]" * (INDENT_LIMIT - 1), "[" * INDENT_LIMIT + "]" * INDENT_LIMIT,
    "[" * 3_000 + "]" * 3_000,
]  # fmt: skip
NO_OBJECTS = [
    "", "  \n", "{}", " {} ", "\u00a0{}", "\ufeff{}", "[1, 2]", "1.10", "null", '"text"', '{"tick', '{"a": }', "plain",
    '{"a": NaN}', '{"a": Infinity}', '{"a": 01}', '{"a": 1,}', "{'a': 1}", '{"a": "x\ny"}', '{"a": 1} {"a": 2}', "{}x",
    "\u2028",
]  # fmt: skip


def inputs() -> Iterator[str]:
    """Yield arguments of each kind: every number, text, key and nesting, alone and among others."""
    yield from NO_OBJECTS
    values = [*NUMBERS, *(f'"{text}"' for text in TEXTS), *NESTED]
    for value in values:
        yield f'{{"x": {value}}}'
        yield f'{{"before":1.10,"x":{value},"x":{value}}}'
    for key in KEYS:
        yield f'{{"{key}": 1}}'
        yield f'{{"{key}" :{{"{key}":"v"}},"n":2}}'


def table() -> list[list[str]]:
    return [[text, short_arguments(text), long_arguments(text)] for text in inputs()]


def test_the_page_is_tested_with_what_a_saved_notebook_says() -> None:
    if IS_WRITTEN:
        TABLE.write_text(json.dumps(table(), indent=0) + "\n", encoding="utf-8")

    assert json.loads(TABLE.read_text(encoding="utf-8")) == table()
    assert len(table()) > 100


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"x": 1.10, "n": 12345678901234567890}', "x=1.10, n=12345678901234567890"),
        ('{"a": 1, "a": 2}', "a=1, a=2"),
        ('{"a": "\\u00e9"}', 'a="\\u00e9"'),
        ('{"df": "$VAR_REF{{df}}", "n": {"m": [1, 2.50]}}', 'df=df, n={"m": [1, 2.50]}'),
        ('{"a b": 1, "c\\"d": 2}', '"a b"=1, "c\\"d"=2'),
        ('{"a": NaN}', '{"a": NaN}'),
        ("", ""),
    ],
)
def test_one_line_says_what_the_model_wrote(text: str, line: str) -> None:
    assert short_arguments(text) == line


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), JSON, max_size=3), st.sampled_from([None, 1, 4]))
def test_arguments_in_full_are_the_same_object(values: dict[str, object], indent: int | None) -> None:
    written = json.dumps(values, indent=indent, ensure_ascii=True)
    text = long_arguments(written)

    assert json.loads(text) == values
    assert "".join(text.split()) == "".join(written.split())
    assert long_arguments(text) == text


def test_what_one_line_leaves_out_is_counted() -> None:
    text = json.dumps({"q": "w" * 200})

    assert len(short_arguments(text)) == 80
    assert omitted_arguments(text) == len(" ".join(long_arguments(text).split())) - 80
    assert omitted_arguments('{"q": 1.10}') == 0

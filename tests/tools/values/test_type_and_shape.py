"""What is told of a value without telling the value: descriptions, errors, plain lines."""

# ruff: noqa: T201 - what is printed is the subject

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from nbtool.text import format_number
from nbtool.tools.content_hash.object_token import object_token
from nbtool.tools.values.model_text import format_error
from nbtool.tools.values.output_suppression import suppress_output
from nbtool.tools.values.sanitize import single_line, strip_controls, without_addresses, without_paths
from nbtool.tools.values.type_and_shape import describe
from nbtool.tools.values.type_names import dtype_name
from tests.cpu_time import run_within


class Order(BaseModel):
    item: str
    key: SecretStr = SecretStr("SECRET")


class Plain:
    pass


@pytest.mark.parametrize(
    "value",
    [pd.DataFrame({"a": ["SENTINEL"]}), pd.Series(["SENTINEL"]), ["SENTINEL"], {"SENTINEL": 1}, "SENTINEL", b"SENTINEL",
     {"SENTINEL"}, ("SENTINEL",), np.array(["SENTINEL"]), Order(item="SENTINEL")],
)  # fmt: skip
def test_a_description_never_contains_a_value(value: Any) -> None:
    assert "SENTINEL" not in describe(value)


def test_an_identity_is_never_given_twice() -> None:
    first = object_token(Plain())
    stored = Plain()

    assert object_token(stored) == object_token(stored)
    assert first != object_token(stored)
    assert object_token(5).isdigit()


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("bad"), "ValueError: bad"),
        (ValueError(), "ValueError"),
        (FileNotFoundError(2, "No such file", "/home/ada/x.csv"), "FileNotFoundError: [Errno 2] No such file: 'x.csv'"),
        (RuntimeError("in C:\\Users\\ada\\x.csv"), "RuntimeError: in x.csv"),
        (RuntimeError("see https://example.org/a/b"), "RuntimeError: see https://example.org/a/b"),
        (RuntimeError("<A object at 0x7f00aa11>\x1b[2J"), "RuntimeError: <A object>"),
        (ExceptionGroup("g", [ValueError("a")]), "ExceptionGroup: g (1 sub-exception); ValueError: a"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
    ],
)  # fmt: skip
def test_an_error_is_a_line_without_paths(error: BaseException, expected: str) -> None:
    assert format_error(error) == expected


def test_an_error_whose_text_raises_is_known_by_its_type() -> None:
    class Bad(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert format_error(Bad()) == "Bad"


@given(st.text())
def test_plain_text_has_no_control_characters(text: str) -> None:
    plain = strip_controls(text)

    assert not any((ord(char) < 32 and char not in "\n\t") or 127 <= ord(char) < 160 for char in plain)
    assert strip_controls(plain) == plain
    plain.encode()


def test_names_become_one_line() -> None:
    assert single_line(" a\n\tb\x1b[1m ") == "a b"
    assert without_addresses("<A at 0x7fff1234>") == "<A>"
    assert without_paths("open /etc/secret/key.pem failed") == "open key.pem failed"


def test_silence_is_for_one_thread_only(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    with suppress_output(), suppress_output():
        print("not this")
        other = threading.Thread(target=print, args=("but this",))
        other.start()
        other.join()
        assert sys.stdout.encoding
    print("and this")

    assert sys.stdout is before
    assert capsys.readouterr().out == "but this\nand this\n"


def test_silence_bears_a_missing_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with suppress_output():
        print("nothing")

    assert sys.stderr is None


def test_numbers_are_grouped() -> None:
    assert format_number(1204332) == "1,204,332"


def test_a_control_string_ends_at_the_next_escape_and_takes_time_in_proportion() -> None:
    text = "a" + "\x90" * 200_000 + "title\x1b[0mb"

    assert run_within(3, lambda: strip_controls(text)) == "ab"  # each of them read to the end took minutes


def test_a_tensor_is_described_by_its_type_and_shape() -> None:
    class Tensor:
        dtype = "torch.float32"
        shape = (2, 3)

    Tensor.__module__ = "torch"

    assert describe(Tensor()) == "Tensor, float32, shape (2, 3)"


def test_a_column_type_of_another_library_is_named_without_its_text() -> None:
    class Currency:
        def __str__(self) -> str:
            raise AssertionError

    assert dtype_name(Currency()) == "Currency"


def test_an_object_whose_shape_raises_is_described_by_its_type() -> None:
    class DataFrame:
        @property
        def shape(self) -> tuple[int, int]:
            raise ValueError

    DataFrame.__module__ = "pandas.core"
    image = type("Image", (), {"__module__": "PIL.Image", "width": 3, "height": 2, "mode": "RGB"})()

    assert describe(DataFrame()) == "DataFrame"
    assert describe(image) == "image (Image), 3 by 2 pixels, RGB"

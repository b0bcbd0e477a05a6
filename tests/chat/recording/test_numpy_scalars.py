from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from nbtool.chat.recording.numpy_scalars import TYPE_SIZE, restore_types, split_types
from nbtool.chat.recording.serialize import MAX_VALUE, is_json_value
from nbtool.errors import BadRecording


class Length(np.float64):
    """A number of a class of the user's own."""


@pytest.mark.parametrize(
    "value",
    [
        np.float64("nan"), np.float64("inf"), np.longdouble(1) / 3, np.complex128(1j), np.datetime64("2026-01-02"),
        np.uint64(2**64 - 1), np.array([1.5]), np.array(1.5, dtype=">f8"), np.ma.masked, Length(1.5),
        np.array(None), {np.int64(1): "a key"}, (np.float64(1.5),),
    ],
    ids=repr,
)  # fmt: skip
def test_what_json_and_a_type_do_not_give_back_is_no_number(value: Any) -> None:
    assert not is_json_value(value)
    assert not is_json_value({"inside": [value]})


def test_the_types_count_toward_the_size_of_a_result() -> None:
    most = MAX_VALUE // (8 + TYPE_SIZE) - 1

    assert is_json_value([np.float64(0.5)] * most)
    assert not is_json_value([np.float64(0.5)] * (most + 1))


@pytest.mark.parametrize("name", ["a", "", "a/b", "~1", "/", "0", "é"])
def test_each_place_of_a_number_is_found_again(name: str) -> None:
    value = {name: [np.int8(1), {"x": np.float32(0.1), "y": 1}], "other": np.bool_(False)}

    plain, places = split_types(value)
    restored = restore_types(plain, places)

    assert plain == {name: [1, {"x": float(np.float32(0.1)), "y": 1}], "other": False}
    assert restored == value
    assert [type(item) for item in (restored[name][0], restored[name][1]["x"], restored["other"])] == [
        np.int8,
        np.float32,
        np.bool_,
    ]
    assert type(restored[name][1]["y"]) is int


@pytest.mark.parametrize(
    ("value", "places"),
    [
        (1.5, {"int64": [""]}),
        (300, {"int8": [""]}),
        (-1, {"uint8": [""]}),
        (1e300, {"float16": [""]}),
        (0.1, {"float32": [""]}),
        (1, {"float64": [""]}),
        (True, {"float64": [""]}),
        ("1", {"float64": [""]}),
        (None, {"float64": [""]}),
        (None, {"bool": [""]}),
        (1, {"object": [""]}),
        (1, {"O[]": [""]}),
        (1, {"int64[][]": [""]}),
        ({"a": 1}, {"int64": ["/b"]}),
        ({"a": 1}, {"int64": [""]}),
        ([1], {"int64": ["/-1"]}),
    ],
)
def test_a_forged_type_or_place_is_refused(value: Any, places: dict[str, list[str]]) -> None:
    with pytest.raises(BadRecording, match="cannot be read"):
        restore_types(value, places)


def test_without_numpy_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)

    with pytest.raises(BadRecording, match="pip install numpy"):
        restore_types(1.5, {"float64": [""]})

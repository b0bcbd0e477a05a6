from __future__ import annotations

import pytest

from nbtool.text import leaves, map_text, type_of, with_article

SAMPLE = {"a": "x", "b": [{"c": "y"}, ("z", 1, True, None)]}


def test_every_text_in_json_data_is_changed_and_nothing_else() -> None:
    assert map_text(SAMPLE, str.upper) == {"a": "X", "b": [{"c": "Y"}, ["Z", 1, True, None]]}
    assert SAMPLE["a"] == "x"


def test_keys_and_numbers_are_changed_where_a_function_is_passed_for_them() -> None:
    changed = map_text(SAMPLE, str, keys=str.upper, number=lambda value: f"<{value}>")

    assert changed == {"A": "x", "B": [{"C": "y"}, ["z", "<1>", True, None]]}


def test_the_leaves_of_json_data_are_found_at_every_depth() -> None:
    assert sorted(leaves({"a": "x", "b": [{"c": "y"}, ["z"]]})) == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("int", "an int"), ("str", "a str"), ("UUID", "a UUID"), ("UserDict", "a UserDict"), ("ndarray", "an ndarray")],
)
def test_a_name_gets_the_article_that_it_is_read_with(name: str, expected: str) -> None:
    assert with_article(name) == expected
    assert with_article(name, capital=True) == f"A{expected[1:]}"


def test_a_type_is_named_with_its_article() -> None:
    assert [type_of(value) for value in (1, [], None)] == ["an int", "a list", "None"]

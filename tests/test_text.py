from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtool.text import (
    as_text,
    clean_text,
    format_size,
    leaves,
    list_names,
    map_media_text,
    map_text,
    shorten,
    type_of,
    with_article,
)

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


LONE = "\ud800\udbff\udc00\udfff"
any_text = st.lists(st.characters() | st.sampled_from(LONE), max_size=80).map("".join)


@given(text=any_text, limit=st.integers(0, 50))
def test_a_text_that_is_cut_is_its_first_letters_and_how_many_more_there_are(text: str, limit: int) -> None:
    shown = shorten(text, limit)

    assert shown.startswith(text[:limit])
    assert len(shown) <= len(text)
    assert shown == text or shown[limit:].startswith(f"[… {len(text) - limit} character")


@given(names=st.lists(st.text("ab", min_size=1, max_size=3), max_size=8), limit=st.integers(0, 8))
def test_names_that_are_cut_are_counted(names: list[str], limit: int) -> None:
    shown = list_names(names, limit)

    assert shown.partition(" and ")[0] == ", ".join(names[:limit])
    assert shown.endswith(f"and {len(names) - limit} more") is (len(names) > limit)


@given(text=any_text)
def test_a_text_without_lone_surrogates_can_be_sent_and_has_changed_nowhere_else(text: str) -> None:
    cleaned = clean_text(text)

    assert cleaned.encode().decode() == cleaned == clean_text(cleaned)
    assert (cleaned == text) is not any("\ud800" <= letter <= "\udfff" for letter in text)


json_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(data=json_data)
def test_a_change_of_every_text_changes_each_leaf_that_is_one_and_nothing_else(data: object) -> None:
    changed = map_text(data, lambda text: f"<{text}>")

    wanted = [f"<{leaf}>" if isinstance(leaf, str) else leaf for leaf in leaves(data)]
    assert list(leaves(changed)) == wanted
    assert map_text(changed, lambda text: text[1:-1]) == data


@given(
    text=st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0\ufeff"), min_size=1, max_size=20),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
)
def test_bytes_that_are_a_text_are_read_and_restored_byte_for_byte(text: str, encoding: str) -> None:
    data = text.encode(encoding)
    read = as_text(data)

    assert read
    assert read[0].removeprefix("\ufeff") == text
    assert read[0].encode(read[1]) == data
    assert map_media_text(data, "text/plain", lambda one: f"{one}!") == data + "!".encode(read[1])


@given(data=st.binary(max_size=40), mime=st.sampled_from(["text/plain", "application/json", "image/png", "x/y"]))
def test_bytes_of_which_no_text_is_changed_stay_as_they_are(data: bytes, mime: str) -> None:
    assert map_media_text(data, mime, str) == data


@given(one=st.integers(0, 10**15), other=st.integers(0, 10**15))
def test_a_size_in_words_is_near_the_size_and_never_larger_for_a_smaller_one(one: int, other: int) -> None:
    def read(size: int) -> float:
        number, unit = format_size(size).split(" ")
        return float(number) * 1000 ** ["byte", "kB", "MB", "GB", "TB"].index(unit.replace("bytes", "byte"))

    assert abs(read(one) - one) <= 0.005 * one + 0.5
    assert one > other or read(one) <= read(other)

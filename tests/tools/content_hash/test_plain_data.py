"""Plain data is read at once, and tells as much as one object after the other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbtool.tools.content_hash.change_token import change_token, tool_change_token
from nbtool.tools.content_hash.hasher import MAX_DEPTH
from nbtool.tools.content_hash.plain_data import plain_data

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
PLAIN = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers(), inner, max_size=3),
    max_leaves=4,
)


def exact(value: Any) -> Any:
    """Return what tells values that are equal and of other types, or in another order, from each other."""
    if isinstance(value, dict):
        return dict, [(exact(key), exact(item)) for key, item in value.items()]
    return (list, [exact(item) for item in value]) if isinstance(value, list) else (type(value), repr(value))


@given(PLAIN.map(lambda value: [value]), PLAIN.map(lambda value: [value]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_equal_data_has_equal_bytes_and_other_data_others(one: list[Any], other: list[Any]) -> None:
    first, second = plain_data(one), plain_data(other)

    assert first is not None
    assert second is not None
    assert (first.data == second.data) == (exact(one) == exact(other))


def test_an_equal_text_of_another_object_is_the_same_data() -> None:
    text, made = "interned_text", "".join(["interned", "_text"])

    assert plain_data([text, text]) == plain_data([text, text])
    one, other = plain_data([text, text]), plain_data([text, made])
    assert one is not None
    assert other is not None
    assert one.data == other.data


class Text(str):
    pass


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


SHARED: list[int] = []
CIRCULAR: list[Any] = []
CIRCULAR.append(CIRCULAR)


@pytest.mark.parametrize(
    "value",
    [[{1}], [Text("x")], [bytearray(b"x")], [print], [SHARED, SHARED], CIRCULAR, nested(MAX_DEPTH + 1)],
    ids=["set", "subclass", "buffer", "function", "shared list", "circular list", "deep"],
)
def test_other_data_is_read_one_object_after_the_other(value: Any) -> None:
    assert plain_data(value) is None
    assert change_token(value) == change_token(value)


def test_too_much_data_is_not_read_as_one_block() -> None:
    assert plain_data(["ab", "c"], max_leaves=2, max_chars=3) is not None
    assert plain_data(["ab", "c"], max_leaves=1) is None
    assert plain_data(["ab", "c"], max_chars=2) is None


def test_a_list_in_two_places_of_a_tool_differs_from_two_equal_lists() -> None:
    names: dict[str, Any] = {"__name__": "__main__", "one": [1], "other": [1]}
    exec("def act(n): return one, other", names)
    before = tool_change_token(names["act"])
    names["other"] = names["one"]

    assert tool_change_token(names["act"]) != before

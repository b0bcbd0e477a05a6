from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool.messages import Media, ToolCall
from nbtool.plugins.masks import MAX_MASKS, Masks, mask_part
from nbtool.plugins.pii_patterns import PII_TYPES, select_types

LETTERS = {"a": "ab+", "b": "b+c?", "c": "[bc]{2}|_+", "d": r"__MASK|\d"}


def some_masks() -> Masks:
    return Masks(select_types((), (), LETTERS))


def test_the_same_value_keeps_its_mask() -> None:
    masks = Masks(select_types(PII_TYPES, (), {}))

    assert masks.mask("a@example.org b@example.org a@example.org").split() == [
        "__MASK_EMAIL_1__", "__MASK_EMAIL_2__", "__MASK_EMAIL_1__",
    ]  # fmt: skip
    assert masks.mask("b@example.org") == "__MASK_EMAIL_2__"


def test_overlapping_matches_become_one_mask_so_that_no_end_of_them_leaks() -> None:
    masks = Masks(select_types((), (), {"first": "aab", "second": "bcc"}))

    assert masks.mask("xaabccx") == "x__MASK_FIRST_1__x"
    assert masks.restore("x__MASK_FIRST_1__x") == "xaabccx"


def test_a_pattern_never_matches_inside_a_mask() -> None:
    masks = Masks(select_types(["email"], (), {"word": "MASK|EMAIL|_+"}))
    once = masks.mask("a@example.org")

    assert once == "__MASK_EMAIL_1__"
    assert masks.mask(once) == once


def test_a_mask_that_is_not_known_stays() -> None:
    assert some_masks().restore("__MASK_A_7__") == "__MASK_A_7__"


@settings(max_examples=300)
@given(st.lists(st.text("abc_ 1", max_size=12), max_size=5))
def test_whatever_is_masked_is_restored(texts: list[str]) -> None:
    masks = some_masks()

    masked = [masks.mask(text) for text in texts]

    assert [masks.restore(text) for text in masked] == texts
    assert [masks.mask(text) for text in masked] == masked


def test_beyond_the_bound_the_value_that_was_met_longest_ago_is_forgotten() -> None:
    masks = Masks(select_types((), (), {"n": r"\d+"}))
    for number in range(MAX_MASKS):
        masks.mask(str(number))
    masks.mask("0")  # met again, so the next one to go is 1

    masks.mask("new 5000")

    assert masks.evicted == 1
    assert masks.restore("__MASK_N_1__ __MASK_N_2__") == "0 __MASK_N_2__"
    assert masks.mask("1") == f"__MASK_N_{MAX_MASKS + 2}__"


def test_arguments_are_masked_by_what_they_say_and_stay_json() -> None:
    masks = Masks(select_types(["card"], ['J"R', "Müller"], {}))
    call = ToolCall("pay", r'{"to": "M\u00fcller", "by": "J\"R", "card": 4111111111111111, "n": 3}')

    masked = mask_part(call, masks)

    assert isinstance(masked, ToolCall)
    assert json.loads(masked.arguments) == {
        "to": "__MASK_NAME_1__", "by": "__MASK_NAME_2__", "card": "__MASK_CARD_1__", "n": 3,
    }  # fmt: skip
    assert masked.args == json.loads(masked.arguments)


def test_arguments_without_anything_private_stay_as_they_were_written() -> None:
    call = ToolCall("pay", '{"n":  3}')

    assert mask_part(call, Masks(select_types(PII_TYPES, (), {}))) == call


def test_attached_texts_are_masked_and_images_are_not() -> None:
    masks = Masks(select_types(["email"], (), {}))
    text = Media("text/csv", b"ada@example.org", name="of ada@example.org.csv")
    image = Media("image/png", b"ada@example.org", name="plot.png")

    assert mask_part(text, masks) == Media("text/csv", b"__MASK_EMAIL_1__", name="of __MASK_EMAIL_2__")
    assert mask_part(image, masks) == image

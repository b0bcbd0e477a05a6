from __future__ import annotations

from nbtool.blocks.display_limits import BoundedText, omitted_marker, truncate


def test_a_text_grows_to_its_limit_and_counts_what_it_leaves_out() -> None:
    text = BoundedText(10)

    shown = [text.add("abcdef"), text.add("ghijkl"), text.add("mn")]

    assert shown == ["abcdef", "ghij", ""]
    assert str(text) == "abcdefghij"
    assert text.omitted == 4


def test_a_cut_never_halves_a_character() -> None:
    stored, omitted = truncate("日本語", 7)

    assert stored == "日本"
    assert omitted == 1


def test_after_a_cut_nothing_more_is_shown_even_where_it_would_fit() -> None:
    text = BoundedText(4, "日本")

    assert text.add("x") == ""
    assert text.omitted == 2


def test_the_mark_of_a_cut_names_the_number() -> None:
    assert omitted_marker(12345) == "… 12,345 characters more"
    assert omitted_marker(0) == ""

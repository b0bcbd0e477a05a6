from __future__ import annotations

from types import SimpleNamespace

import pytest

from nbtool.magics.kernel import page_lines
from nbtool.magics.kernel.page_lines import LINE_WIDTH, wrap_for_page

TEXT = (
    "map_190dda73 continues here as 'main': 1 turn on its line. Tools added again: act, pay. 1 result was lost with the"
    " earlier kernel. `%chat open chat_443d79f6` continues it; see `%chat history chats`."
)


def test_a_page_gets_lines_that_break_between_words_and_in_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_lines, "has_front_end", lambda _: True)
    lines = wrap_for_page(SimpleNamespace(kernel=object()), f"{TEXT}\n\nShort.").split("\n")

    assert " ".join(lines) == f"{TEXT}  Short."
    assert max(map(len, lines)) <= LINE_WIDTH
    assert all(line.count("`") % 2 == 0 for line in lines)
    assert lines[-2:] == ["", "Short."]


def test_elsewhere_a_text_stays_as_it_is() -> None:
    assert wrap_for_page(SimpleNamespace(kernel=None), TEXT) == TEXT

from __future__ import annotations

from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter

from nbtool.wire.providers.model_data import default_model_of


@pytest.fixture
def tab(shell: Any) -> Any:
    """Give what Tab offers at the end of a cell's text, as the kernel is asked for it."""

    def offered(text: str) -> set[str]:
        with provisionalcompleter():
            return {completion.text for completion in shell.Completer.completions(text, len(text))}

    return offered


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%%chat --app", {"--append", "--approve"}),
        ("%%chat --history n", {"native", "none"}),
        ("%%chat -t dou", {"double"}),
        ("%%chat -t double ro", {"rows"}),
        ("%%chat -t nbtool:i", {"nbtool:inspection"}),
        ("%%chat -v fr", {"frame"}),
        ("%%chat -m prac", {"practice:default"}),
        ("%%chat -q\nHow many rows has $`fra", {"frame"}),
        ("%%chat -q\nPlease use &`dou", {"double"}),
        ("%chat appro", {"approvals", "approve"}),
        ("%chat config max", {"max_rounds"}),
    ],
)
def test_tab_offers_what_can_stand_there(tab: Any, text: str, expected: set[str]) -> None:
    assert tab(text) == expected


def test_tab_after_a_dot_offers_the_tools_of_a_toolset(shell: Any, tab: Any) -> None:
    shell.run_cell("from nbtool import Toolset\nmore = Toolset('numbers', [double])\nboth = Toolset('both', [more])")

    assert tab("%%chat -t more.") == {"more.double"}
    assert tab("%%chat -T more.dou") == {"more.double"}
    assert tab("%%chat -t numbers.") == {"numbers.double"}
    assert not any("." in word for word in tab("%%chat -t mor"))


def test_tab_after_the_flag_that_takes_tools_away_offers_those_of_the_chats(shell: Any, tab: Any) -> None:
    shell.run_cell("from nbtool import Toolset\nmore = Toolset('numbers', [double])\ndel double")
    shell.run_cell("%%chat -q -m practice:fast -t more\nHello")

    assert "double" in tab("%%chat -T dou")


def test_tab_after_a_command_offers_the_turns_there_are(shell: Any, tab: Any) -> None:
    shell.run_cell("%%chat -q -m practice:fast -o hello\nHello")

    assert tab("%chat show ") == {shell.user_ns["hello"].turn_id}


def test_tab_after_chat_offers_the_chats_there_are(shell: Any, tab: Any) -> None:
    shell.run_cell("%%chat -q -m practice:fast -c weather\nHello")

    assert "weather" in tab("%%chat -c ")


def test_tab_elsewhere_is_left_to_ipython(tab: Any) -> None:
    assert "frame" in tab("x = $`fra") or "frame" in tab("fra")
    assert "--append" not in tab("x = --app")


def test_tab_asks_no_server(shell: Any, tab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")  # a way out would fail: the tests have no network

    assert f"openai:{default_model_of('openai')}" in tab("%%chat -m openai:")
    assert shell.run_cell("1").success

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter

from nbtool.chat.journal import journal
from nbtool.ids import short_id
from nbtool.magics.commands.dispatch import COMMANDS
from nbtool.magics.completion_candidates import MAX_HELP, NO_BREAK_HYPHEN, NO_BREAK_SPACE
from nbtool.wire.providers.model_data import default_model_of


@pytest.fixture
def tab(shell: Any) -> Any:
    """Give what Tab offers at the end of a cell's text, as the kernel is asked for it."""

    def offered(text: str) -> set[str]:
        with provisionalcompleter():
            return {completion.text for completion in shell.Completer.completions(text, len(text))}

    return offered


@pytest.fixture
def kinds(shell: Any) -> Any:
    """Give what Tab offers, each with its kind and help."""

    def offered(text: str) -> dict[str, str]:
        with provisionalcompleter():
            types = {one.text: one.type for one in shell.Completer.completions(text, len(text))}
        assert not any(mark in kind for kind in types.values() for mark in " -"), "a line of the menu would break there"
        return {name: kind.replace(NO_BREAK_SPACE, " ").replace(NO_BREAK_HYPHEN, "-") for name, kind in types.items()}

    return offered


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%%chat --app", {"--set append_turns=true", "--approve"}),
        ("%%chat --set history=n", {"native", "none"}),
        ("%%chat -t dou", {"double"}),
        ("%%chat -t double ro", {"rows"}),
        ("%%chat -t nbtool:i", {"nbtool:inspection"}),
        ("%%chat -v fr", {"frame"}),
        ("%%chat -m prac", {"practice:default"}),
        ("%%chat -q\nHow many rows has $`fra", {"frame`"}),
        ("%%chat -q\nPlease use &`dou", {"double`"}),
        ("%chat appro", {"approvals", "approve"}),
        ("%chat config max", {"max_calls", "max_repeats", "max_rounds"}),
    ],
)
def test_tab_offers_what_can_be_written_there(tab: Any, text: str, expected: set[str]) -> None:
    assert tab(text) == expected


def test_tab_below_comments_offers_what_the_cell_magic_takes(shell: Any, tab: Any) -> None:
    shell.run_cell("def price(ticker: str) -> float:\n    'Price.'\n    return 1.5")

    assert "--model" in tab("# a note\n%%chat --mod")
    assert "price`" in tab("# a note\n%%chat\nUse &`pri")


def test_tab_after_a_dot_offers_the_tools_of_a_toolset(shell: Any, tab: Any) -> None:
    shell.run_cell("from nbtool import Toolset\nmore = Toolset('numbers', [double])\nboth = Toolset('both', [more])")

    assert tab("%%chat -t more.") == {"more.double"}
    assert tab("%%chat -t !more.dou") == {"!more.double"}
    assert tab("%%chat -t numbers.") == {"numbers.double"}
    assert not any("." in word for word in tab("%%chat -t mor"))


def test_tab_after_the_flag_that_takes_tools_away_offers_those_of_the_chats(shell: Any, tab: Any) -> None:
    shell.run_cell("from nbtool import Toolset\nmore = Toolset('numbers', [double])\ndel double")
    shell.run_cell("%%chat -q -m practice:fast -t more\nHello")

    assert "!double" in tab("%%chat -t !dou")


def test_tab_says_the_kind_and_one_line_of_help(shell: Any, kinds: Any) -> None:
    shell.run_cell("from nbtool import Toolset\nnumbers = Toolset('numbers', [double])\nfrom datetime import date")
    shell.run_cell("%%chat -q -m practice:fast -c weather\nHow warm is it?\nIn Rome.")

    assert kinds("%%chat --new") == {"--new": "flag: start a new conversation in this chat"}
    assert kinds("%%chat -t dou") == {"double": "function: Twice a number."}
    assert kinds("%%chat -t numbers.") == {"numbers.double": "tool: Twice a number."}
    assert kinds("%%chat -t numb") == {"numbers": "toolset"}
    assert kinds("%%chat -v fra") == {"frame": "variable: Frame"}
    assert kinds("%%chat\nLook at $`fra") == {"frame`": "variable: Frame"}
    assert kinds("%chat bra")["branch"].startswith("command: Start a branch after a turn, or switch")
    assert set(kinds("%chat show ").values()) == {"turn: How warm is it?"}
    assert kinds("%chat show --w") == {"--whole": "option"}
    assert kinds("%chat config max_r")["max_rounds"].startswith("setting: Maximum requests")
    assert kinds("%%chat -c wea") == {"weather": "chat"}


def test_tab_offers_what_can_be_taken_away_after_the_mark(shell: Any, tab: Any) -> None:
    shell.run_cell("%%chat -q -m practice:fast -t double -v frame\nHello")

    assert tab("%%chat -t !dou") == {"!double"}
    assert tab("%%chat -v !") == tab("%%chat --read !") == {"!frame"}
    assert "web_search" in tab("%%chat -t web")


def test_tab_offers_settings_and_their_values_after_set(kinds: Any) -> None:
    assert set(kinds("%%chat --set max_r")) == {"max_repeats=", "max_rounds="}
    assert kinds("%%chat --set max_rou")["max_rounds="].startswith("setting: Maximum requests")
    assert set(kinds("%%chat --set approve=")) == {
        f"approve={value}" for value in ("ask", "later", "auto", "deny", "input", "park", "default")
    }
    assert set(kinds("%%chat --set quiet=true stream=")) == {"stream=true", "stream=false", "stream=default"}
    assert kinds("%%chat --set nosuch=") == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%chat help sto", {"stop"}),
        ("%chat history er", {"erase"}),
        ("%chat approvals ", {"revoke"}),
        ("%chat env ", {"allow", "forget"}),
        ("%chat status --", {"--check"}),
        ("%chat record --", {"--only"}),
        ("%chat export p", {"py"}),
        ("%chat export --c", {"--cell"}),
        ("%chat stop ", set()),
        ("%chat nosuch ", set()),
    ],
)
def test_tab_after_a_command_offers_its_words_and_options(
    tab: Any, text: str, expected: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert tab(text) - {"-c"} == expected


def test_tab_offers_no_former_command_and_no_former_flag(kinds: Any) -> None:
    assert kinds("%chat canc") == {}
    assert kinds("%%chat --app") == {"--approve": kinds("%%chat --appr")["--approve"]}


def test_tab_says_the_kind_of_everything_that_it_offers(shell: Any, kinds: Any) -> None:
    from nbtool.magics.commands.dispatch import COMMANDS
    from nbtool.magics.flags.flag_table import cell_parser

    shell.run_cell("%%chat -q -m practice:fast\nHello")
    flags = [name for action in cell_parser().flags() for name in action.option_strings]
    offered: dict[str, str] = {}
    for start in (
        "%%chat ",
        "%chat ",
        *(f"%%chat {flag} " for flag in flags),
        *(f"%chat {name} " for name in COMMANDS),
    ):
        offered |= kinds(start)

    assert set(flags) | set(COMMANDS) <= set(offered)
    assert not [word for word, kind in offered.items() if kind in ("", "<unknown>")]


def test_every_flag_says_what_it_does(kinds: Any) -> None:
    assert all(kind.startswith("flag: ") for kind in kinds("%%chat ").values())


@pytest.mark.parametrize(
    "cell",
    [
        "from nbtool import tool, Progress, Chat, Turn\nfrom datetime import date\nfrom nbtool.toolsets import files",
        "import math",
    ],
)
def test_tab_offers_as_tools_what_a_model_could_use(shell: Any, tab: Any, cell: str) -> None:
    shell.run_cell(cell)
    for start in ("%%chat -t ", "%%chat\nUse &`"):
        names = {word.removesuffix("`") for word in tab(start)}
        assert {"double", "rows", "frame"} <= names
        assert not names & {"tool", "Progress", "Chat", "Turn", "date", "math", "received"}
        assert ("files" in names) == ("files" in cell)


def test_a_mention_offers_no_name_that_a_mention_cannot_have(shell: Any, tab: Any) -> None:
    from nbtool.magics.flags.flag_parser import mentions

    shell.run_cell("from nbtool import Toolset\nnumbers = Toolset('numbers', [double])")
    for start in ("&`", "&`numbers.", "$`"):
        offered = tab(f"%%chat\nUse {start}")
        assert offered
        for word in offered:
            found = mentions(start[:2] + word)
            assert [word.removesuffix("`")] == [*found.tools, *found.variables]


@pytest.mark.parametrize(
    ("rest", "expected"), [("", "frame`"), ("`", "frame"), (" is", "frame`"), ("me`", "frame"), (" and `x`", "frame`")]
)
def test_tab_closes_the_backtick_of_a_mention_once(shell: Any, rest: str, expected: str) -> None:
    text = "%%chat -q\nHow many rows has $`fra"
    with provisionalcompleter():
        offered = {completion.text for completion in shell.Completer.completions(text + rest, len(text))}

    assert offered == {expected}


@pytest.mark.parametrize(
    "text",
    [
        "%%chat\nHow many ro",
        "%%chat\nimport ma",
        "%%chat\nprint(fra",
        "%%chat -o fra",
        "%%chat\n$`nothing",
        "%chat tools ",
    ],
)
def test_tab_offers_no_python_where_there_is_none(tab: Any, text: str) -> None:
    assert tab(text) == set()


def test_tab_after_attach_offers_files_and_variables(tab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("frames.png").touch()

    assert tab("%%chat -a fra") == {"frame", "frames.png"}


def test_tab_shows_each_command_with_a_whole_short_line_of_help(kinds: Any) -> None:
    shown = kinds("%chat ")

    assert set(shown) == set(COMMANDS)
    assert [
        name for name, kind in shown.items() if kind.endswith(" …") or len(kind) > len("command: ") + MAX_HELP
    ] == []
    assert [name for name, kind in shown.items() if not kind.endswith(".")] == []


def test_tab_shortens_a_long_help_and_says_so(shell: Any, kinds: Any) -> None:
    shell.run_cell("def long(n: int):\n    pass\nlong.__doc__ = '\\x1b[31m' + 'word ' * 1000")

    kind = kinds("%%chat -t lon")["long"]
    assert kind.startswith("function: word word")
    assert kind.endswith(" …")
    assert len(kind) <= len("function: ") + MAX_HELP


def test_tab_survives_an_object_that_refuses_to_be_read(
    shell: Any, tab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell(
        "class Closed:\n    def __getattribute__(self, name):\n        raise RuntimeError('closed')\nclosed = Closed()"
    )

    assert "double" in tab("%%chat -t ")
    assert "frame" in tab("%%chat -v ")
    assert "RuntimeError" not in capsys.readouterr().err


def test_tab_after_a_command_offers_the_turns_there_are(shell: Any, tab: Any) -> None:
    shell.run_cell("%%chat -q -m practice:fast -o hello\nHello")

    shell.run_cell("%%chat -q -m practice:fast -c other -o elsewhere\nHello")

    assert tab("%chat show ") == {"1", shell.user_ns["elsewhere"].turn_id}


def test_tab_after_chat_offers_the_chats_there_are(shell: Any, tab: Any) -> None:
    shell.run_cell("%%chat -q -m practice:fast -c weather\nHello")

    assert "weather" in tab("%%chat -c ")


def test_tab_elsewhere_is_left_to_ipython(tab: Any) -> None:
    assert "frame" in tab("x = $`fra") or "frame" in tab("fra")
    assert "--set append_turns=true" not in tab("x = --app")


def test_tab_asks_no_server(shell: Any, tab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")  # a way out would fail: the tests have no network

    assert f"openai:{default_model_of('openai')}" in tab("%%chat -m openai:")
    assert shell.run_cell("1").success


@pytest.mark.usefixtures("own_journal")
def test_tab_after_open_offers_the_chats_of_the_journal_and_files_only_where_none_begins_like_that(
    shell: Any, kinds: Any, tab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "talk.json").write_text("{}", encoding="utf-8")
    shell.run_cell("%%chat -q -m practice:fast\nA marmot, please")
    chat_id = short_id(shell.magics_manager.registry["ChatMagics"].chats["main"].chat_id)

    assert kinds("%chat open ") == {chat_id: "chat: A marmot, please"}
    assert tab(f"%chat open {chat_id[:8]}") == {chat_id}
    assert tab("%chat open tal") == {"talk.json"}
    assert tab("%chat history erase ") == {chat_id}


@pytest.mark.usefixtures("own_journal")
def test_tab_after_open_names_the_notebook_of_other_chats_and_not_their_prompts(
    shell: Any, kinds: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, path in (("other", "/far/away/other.ipynb"), ("mine", "/here/mine.ipynb")):
        monkeypatch.setenv("JPY_SESSION_NAME", path)
        journal.cache_clear()
        shell.run_cell(f"%%chat -q -c {name} -m practice:fast\nA badger")

    of_journal = {name: kind for name, kind in kinds("%chat open ").items() if name.startswith("chat_")}
    assert sorted(of_journal.values()) == ["chat: A badger", "chat: other.ipynb"]

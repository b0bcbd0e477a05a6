"""What the page of a saved turn requests: another version in its place, and the code of its calls."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool.blocks.render.mimebundle import TURN_MIME
from nbtool.ids import short_id
from nbtool.magics.notebook.cell_changes import CellChange
from nbtool.magics.saved_turn_requests import answer_page
from tests.magics.commands.past_chats.test_next_day import PRICE

pytestmark = pytest.mark.usefixtures("own_journal")


@pytest.fixture
def versions(shell: Any, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Give the ids of two versions of one turn with a call; the second one is current."""
    shell.run_cell(PRICE)
    ids: list[str] = []
    for rest in ("-t price\nUse &`price` for AAPL.", "--rerun {first}"):
        cell = f"%%chat -q -m practice:fast -o answer --approve auto {rest.format(first=(ids or [''])[0])}"
        assert shell.run_cell(cell).success
        ids.append(str(shell.user_ns.pop("answer").turn_id))
    capsys.readouterr()
    return ids


def chats_of(shell: Any) -> Any:
    return shell.magics_manager.registry["ChatMagics"].kernel_chats


def ask(shell: Any, kind: str, turn: str, **more: Any) -> Any:
    return answer_page(chats_of(shell), {"v": 1, "kind": kind, "chat": "main", "turn": turn, **more})


def current_version(shell: Any) -> str:
    return str(chats_of(shell).chats["main"].tree.active_path[-1].turn.turn_id)


def restart(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_line_magic("reload_ext", "nbtool")
    shell.run_line_magic("config", "NbTool.model = 'practice:fast'")
    capsys.readouterr()


def test_the_turns_beside_the_current_line_are_named_and_unknown_ones_are_not(shell: Any, versions: list[str]) -> None:
    shell.run_cell("%%chat -q -m practice:fast -o later --edit 1\nAnother question.")
    later, (_, second) = shell.user_ns["later"].turn_id, versions
    asked = {"v": 1, "kind": "line", "turns": [second, later, "turn_of_nobody"]}

    before = answer_page(chats_of(shell), asked)
    switched = ask(shell, "switch", second)
    after = answer_page(chats_of(shell), asked)

    assert before is not None
    assert after is not None
    assert [bool(before["notes"][turn]) for turn in (second, later)] == [True, False]
    assert [bool(after["notes"][turn]) for turn in (second, later)] == [False, True]
    assert switched["ok"]
    assert len(after["notes"]) == 2


@pytest.mark.parametrize(("name", "is_ok"), [("other", True), ("not a name", False), ("price", False)])
def test_the_branch_of_a_turn_is_named_down_to_its_end(shell: Any, versions: list[str], name: str, is_ok: bool) -> None:
    shell.run_cell("%%chat -q -m practice:fast\nAnd now?")
    shell.run_cell("%%chat -q -m practice:fast --edit 1\nAnother question.")

    answer = ask(shell, "name", versions[1], name=name)

    assert answer["ok"] is is_ok
    made = chats_of(shell).chats.get(name)
    assert made is None or [node.turn.prompt.text for node in made.tree.active_path][1:] == ["And now?"]
    assert (made is not None) is is_ok


def test_another_version_is_shown_with_its_versions_and_the_chat_goes_on_from_it(
    shell: Any, versions: list[str]
) -> None:
    first, second = versions

    answer = ask(shell, "version", second, other=first)

    head = answer["data"][TURN_MIME]["head"]
    assert (answer["ok"], "1 of 2" in answer["text"]) == (True, True)
    assert (head["turn_id"], head["version"], head["versions"], head["turns"]) == (first, 1, 2, versions)
    assert current_version(shell) == first
    assert "2 of 2" in ask(shell, "version", first, other=second)["text"]
    assert current_version(shell) == second


def test_the_models_for_its_prompt_are_listed_as_first_lines_of_a_cell(
    shell: Any, versions: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (_, turn) = versions

    answer = ask(shell, "models", turn, action="edit")

    first, *others = answer["models"]
    assert first == {
        "name": "practice:fast", "note": "the model of this chat", "magic": f"%%chat --edit {short_id(turn)}",
    }  # fmt: skip
    lines = {one["name"]: one["magic"] for one in others}
    assert lines["practice:default"] == f"%%chat --edit {short_id(turn)} -m practice:default"
    assert [name for name in lines if name.startswith("openai:")]
    assert not any(line for name, line in lines.items() if name.startswith("openai:")), "there is no key"
    assert ask(shell, "models", turn, action="code") is None
    restart(shell, capsys)
    assert ask(shell, "models", turn, action="rerun")["models"] == []
    assert chats_of(shell).chats.keys() == set(), "nothing was continued"


def test_the_next_day_the_turn_is_found_in_the_journal(
    shell: Any, versions: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = versions
    restart(shell, capsys)

    answer = ask(shell, "version", second, other=first)

    assert answer["ok"]
    assert "'main': 1 turn" in answer["text"]
    assert "AAPL" in answer["data"]["text/plain"]
    assert current_version(shell) == first
    assert "price(" in ask(shell, "code", first)["source"]


def test_the_next_day_its_code_is_read_without_continuing_its_chat(
    shell: Any, versions: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    restart(shell, capsys)

    answer = ask(shell, "code", versions[0])

    assert answer["ok"]
    assert "price(" in answer["source"]
    assert "only read: `%chat open chat_" in answer["text"]
    assert not any(chat.tree.roots for chat in chats_of(shell).chats.values())


def test_the_code_is_that_of_the_calls_and_nothing_runs(shell: Any, versions: list[str]) -> None:
    before = dict(shell.user_ns)

    answer = ask(shell, "code", versions[0])

    assert answer["ok"]
    assert "price(ticker='AAPL')" in answer["source"].replace('"', "'")
    assert "%chat" not in answer["source"]
    assert {name: value for name, value in shell.user_ns.items() if not name.startswith("_")} == {
        name: value for name, value in before.items() if not name.startswith("_")
    }


def test_restore_of_changed_cells_is_a_cell_and_the_text_says_only_what_that_does(
    shell: Any, versions: list[str]
) -> None:
    turn = versions[1]
    chats_of(shell).names.changes.record_cells(turn, [CellChange("edited", "one", former="x = 1", source="x = 2")])

    answer = ask(shell, "undo", turn)

    assert answer["source"] == f"%chat undo {short_id(turn)}"
    assert answer["text"] == "It takes back what this turn changed."


def test_a_version_that_is_not_one_of_this_turn_is_refused(shell: Any, versions: list[str]) -> None:
    shell.run_cell("%%chat -q -m practice:fast -o answer\nHello")
    elsewhere = str(shell.user_ns.pop("answer").turn_id)

    answer = ask(shell, "version", versions[0], other=elsewhere)

    assert (answer["ok"], "`%chat undo`" in answer["text"]) == (False, True)
    assert current_version(shell) == elsewhere


def test_a_forged_turn_is_refused_and_starts_no_chat(shell: Any) -> None:
    answer = answer_page(chats_of(shell), {"v": 1, "kind": "code", "chat": "forged", "turn": "turn_0"})

    assert answer is not None
    assert not answer["ok"]
    assert "`%chat open FILE`" in answer["text"]
    assert chats_of(shell).chats == {}


def test_a_turn_of_an_earlier_chat_is_shown_beside_a_chat_that_has_turns(
    shell: Any, versions: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    restart(shell, capsys)
    shell.run_cell("%%chat -q -m practice:fast\nHello")

    answer = ask(shell, "version", versions[1], other=versions[0])

    assert answer["ok"]
    assert "1 of 2. chat_" in answer["text"]
    assert "'earlier'" in answer["text"]
    assert answer["data"][TURN_MIME]["head"]["chat"] == "earlier"


VALID = {"v": 1, "kind": "version", "chat": "main", "turn": "turn_1", "other": "turn_2"}


@pytest.mark.parametrize(
    "content",
    [
        None, [], "version", {}, {**VALID, "v": 2}, {**VALID, "kind": "delete"}, {**VALID, "kind": ["version"]},
        {**VALID, "chat": ""}, {**VALID, "chat": "a b"}, {**VALID, "chat": "-x"}, {**VALID, "turn": ""},
        {**VALID, "turn": "x" * 65}, {**VALID, "turn": 7}, {**VALID, "other": "a;b"}, {**VALID, "extra": 1},
        {key: value for key, value in VALID.items() if key != "other"}, {**VALID, "kind": "code"},
    ],
)  # fmt: skip
def test_what_is_no_request_is_not_answered(shell: Any, content: Any) -> None:
    assert answer_page(chats_of(shell), content) is None


@pytest.fixture
def turn_of_cell(shell: Any, capsys: pytest.CaptureFixture[str]) -> Any:
    """Give the turn of a cell with an id, as a page sends one."""
    shell.run_cell(PRICE)
    assert shell.run_cell(
        "%%chat -q -m practice:fast -o answer -t price --approve auto\nUse &`price` for AAPL."
    ).success
    turn = shell.user_ns["answer"]
    node = chats_of(shell).chats["main"].tree.active_path[-1]
    node.cell_id = turn.cell_id = "cell-1"
    capsys.readouterr()
    return turn


@pytest.mark.parametrize(
    ("cell", "typed", "in_place"),
    [
        ("cell-1", "Use &`price` for AAPL.", True),
        ("cell-1", "\nUse &`price` for AAPL.\n", True),
        ("cell-1", "Use &`price` for NVDA.", False),
        ("cell-1", "Use &`price`", False),
        ("cell-2", "Use &`price` for AAPL.", False),
        ("cell-1", "\n", False),
    ],
)
def test_a_turn_is_repeated_by_its_own_cell_with_its_own_prompt(
    shell: Any, turn_of_cell: Any, cell: str, typed: str, in_place: bool
) -> None:
    answer = ask(shell, "repeat", turn_of_cell.turn_id, cell=cell, typed=typed)

    assert (answer["ok"], answer["in_place"]) == (True, in_place)


def test_a_turn_beside_the_current_line_is_on_it_before_its_cell_repeats_it(shell: Any, turn_of_cell: Any) -> None:
    assert shell.run_cell("%%chat -q -m practice:fast -o other --edit 1\nHello.").success

    answer = ask(shell, "repeat", turn_of_cell.turn_id, cell="cell-1", typed="Use &`price` for AAPL.")

    assert answer["in_place"] is True
    assert current_version(shell) == turn_of_cell.turn_id


def test_a_result_of_a_saved_turn_is_bound_and_replaces_no_other_name(shell: Any, turn_of_cell: Any) -> None:
    reference = turn_of_cell.calls[0].reference

    bound = ask(shell, "bind", turn_of_cell.turn_id, reference=reference)
    value = shell.user_ns[reference]
    shell.user_ns[reference] = "mine"
    refused = ask(shell, "bind", turn_of_cell.turn_id, reference=reference)

    assert (bound["ok"], value) == (True, turn_of_cell.calls[0].result)
    assert (refused["ok"], shell.user_ns[reference]) == (False, "mine")
    assert ask(shell, "bind", turn_of_cell.turn_id, reference="a; import os") is None


def test_the_earlier_chat_of_a_notebook_is_continued_and_what_it_lacks_is_named(
    shell: Any, turn_of_cell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    chat_id = chats_of(shell).chats["main"].chat_id
    del shell.user_ns["price"]
    restart(shell, capsys)

    answer = ask(shell, "continue", chat_id)

    assert (answer["ok"], answer["missing"]) == (True, ["price"])
    assert current_version(shell) == turn_of_cell.turn_id
    assert ask(shell, "continue", "chat_0000000000000000")["ok"] is False

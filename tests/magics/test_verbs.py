from __future__ import annotations

import re
from typing import Any

import pytest

from nbtool.chat.chat import Chat
from nbtool.chat.turn import Turn
from nbtool.errors import LimitReached
from nbtool.events import ReplyEnd, UsageDelta
from nbtool.messages import Usage
from nbtool.testing import ScriptedWire, call


def chat_of(shell: Any) -> Chat:
    chat: Chat = shell.magics_manager.registry["ChatMagics"].chats["main"]
    return chat


def line(shell: Any) -> list[Turn]:
    return [node.turn for node in chat_of(shell).tree.active_path if node.turn]


def test_a_rerun_needs_no_text_and_makes_a_new_version(shell: Any) -> None:
    shell.run_cell("%%chat -q -m practice:fast\nHello")
    (first,) = line(shell)

    assert shell.run_cell("%%chat -q --rerun -o again").success

    again = shell.user_ns["again"]
    assert again.prompt == first.prompt
    assert chat_of(shell).tree.active_path[0].versions == (first, again)


def test_a_rerun_names_its_turn_and_may_repeat_its_text(shell: Any) -> None:
    shell.run_cell("%%chat -q -m practice:fast\nHello")
    shell.run_cell("%%chat -q\nAnd now?")
    first, second = line(shell)

    assert shell.run_cell(f"%%chat -q --rerun {first.turn_id}\nHello").success

    assert [len(node.versions) for node in chat_of(shell).tree.active_path] == [2, 1]
    assert line(shell)[1] is second


def test_a_rerun_that_says_something_else_is_refused(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%chat -q -m practice:fast\nHello")

    shell.run_cell("%%chat -q --rerun\nGoodbye")

    assert "--edit TURN" in capsys.readouterr().err
    assert [turn.prompt.text for turn in line(shell)] == ["Hello"]


def test_an_edit_is_a_branch(shell: Any) -> None:
    shell.run_cell("%%chat -q -m practice:fast\nHello")
    (first,) = line(shell)

    assert shell.run_cell(f"%%chat -q --edit {first.turn_id}\nGoodbye").success

    assert [turn.prompt.text for turn in line(shell)] == ["Goodbye"]
    assert len(chat_of(shell).tree.roots) == 2


def test_tools_run_again_where_that_is_asked_for_and_nowhere_else(shell: Any) -> None:
    shell.run_cell(
        "ran = []\n@tool(run='auto')\ndef triple(n: int) -> int:\n    'Thrice.'\n    ran.append(n)\n    return 3 * n"
    )
    shell.run_cell("%%chat -q -m practice:fast -t triple\nUse triple with n=7")
    (first,) = line(shell)
    assert shell.user_ns["ran"] == [7]

    assert shell.run_cell("%%chat -q --rerun :2").success
    assert shell.user_ns["ran"] == [7]
    assert shell.run_cell("%%chat -q --rerun :tools").success

    assert shell.user_ns["ran"] == [7, 7]
    assert [record.shown for turn in chat_of(shell).tree.active_path[0].versions for record in turn.calls] == ["21"] * 3
    assert line(shell)[0].text == first.text


@pytest.mark.parametrize(
    ("flags", "actual"),
    [
        ("--rerun --edit turn_a", "not allowed with argument --rerun"),
        ("--rerun :0", "--rerun has no '0'."),
        ("--rerun :again", "--rerun has no 'again'."),
        ("--rerun :resume", "is complete, so nothing is pending."),
        ("--rerun :tools", "called no tools from round 1 on"),
        ("--rerun turn_x", "The turn turn_x is neither in this chat nor in the journal"),
        ("--rerun :9", "has 1 round, and no round 9"),
    ],
)
def test_a_verb_that_makes_no_sense_is_one_line(
    shell: Any, capsys: pytest.CaptureFixture[str], flags: str, actual: str
) -> None:
    shell.run_cell("%%chat -q -m practice:fast\nHello")
    capsys.readouterr()

    shell.run_cell(f"%%chat -q {flags}")

    err = capsys.readouterr().err
    assert actual in err
    assert "Traceback" not in err


def test_the_advice_of_a_spent_budget_continues_its_own_turn_after_others(shell: Any) -> None:
    spent = [call("look"), UsageDelta(Usage(60_000, 0)), ReplyEnd("tools", "tool_calls")]
    chat = shell.user_ns["mine"] = Chat(wire=ScriptedWire([spent, "Something else.", "Done."]))
    shell.run_cell("from nbtool import tool\n@tool(run='auto')\ndef look() -> str:\n    'Look.'\n    return 'seen'")
    shell.run_cell("%%chat -q -c mine -t look --budget 50000\nLook.")
    shell.run_cell("%%chat -q -c mine\nAnother prompt.")
    first = chat.tree.active_path[0].turn
    assert first is not None
    assert isinstance(first.error, LimitReached)
    advice = re.search("`(.*)` with", first.error.fix)
    assert advice is not None

    assert shell.run_cell(f"{advice[1]} -q -c mine --budget 500000").success

    assert [turn.text for turn in chat.tree.active_path[0].versions] == ["", "Done."]

from __future__ import annotations

import threading
from typing import Any

import pytest

from nbtool.ids import short_id
from nbtool.magics.views.pageless_views import NullView
from nbtool.testing import call
from nbtool.tools.approval import Approved
from tests.magics.commands.saying import run_command
from tests.magics.parking import SECONDS, ParkingChat, payment_replies, wait_end


def park_turn(shell: Any, *replies: Any, chat: str = "main", is_shown: bool = True) -> tuple[ParkingChat, Any]:
    """Park a turn in a chat of this kernel; its cell prints the question, if it is shown."""
    parking = ParkingChat(*replies)
    shell.magics_manager.registry["ChatMagics"].chats[chat] = parking.chat
    turn = parking.park()
    if is_shown:
        NullView(parking.chat.approvals.mark_shown).on_parked(turn)
    return parking, turn


def test_an_approval_that_was_remembered_is_listed_and_can_be_revoked(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("@tool(run='ask_once')\ndef once(n: int) -> int:\n    'Once.'\n    return n")
    shell.run_cell("%%chat -q --approve auto -m practice:fast\nUse &`once` with 3.")
    assert "once" not in run_command(shell, "approvals", capsys)
    chat = shell.magics_manager.registry["ChatMagics"].chats["main"]
    chat.approver = lambda _: Approved()
    chat.send("Use &`once` with 3.")
    shell.run_cell("%%chat -q --approve deny -o denied\nUse &`once` with 3.")
    assert shell.user_ns["denied"].calls[0].status == "denied"
    listed = run_command(shell, "approvals", capsys)
    approval_id = listed.split()[0]

    assert "once" in listed
    assert f"`%chat approvals revoke {approval_id}`" in listed
    assert "Revoked" in run_command(shell, f"approvals revoke {approval_id}", capsys)
    assert "once" not in run_command(shell, "approvals", capsys)


def test_an_approval_of_a_tool_is_listed_as_what_it_covers(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    parking, turn = park_turn(shell)
    parking.chat.approvals.decide(parking.waiting, Approved(remember="tool"))
    wait_end(turn)

    listed = run_command(shell, "approvals", capsys)
    (_, covered), (_, way) = (line.split("  ", 1) if "  " in line else ("", line) for line in listed.splitlines())
    assert "pay" in covered
    assert way.startswith("`%chat approvals revoke pay`")


def test_the_name_of_a_tool_revokes_all_that_is_remembered_of_it(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    parking = ParkingChat(*payment_replies(3), *payment_replies(4), "Done.")
    shell.magics_manager.registry["ChatMagics"].chats["main"] = parking.chat
    for _ in range(2):
        turn = parking.park()
        parking.chat.approvals.decide(parking.waiting, Approved(remember="call"))
        wait_end(turn)
    ids = [one.approval_id for one in parking.chat.approvals.remembered()]
    shell.run_cell("%chat approvals revoke payment")
    refused = "".join(capsys.readouterr())

    said = run_command(shell, "approvals revoke pay", capsys)

    assert "'payment'" in refused
    assert said.startswith("Revoked; pay ")
    assert [short_id(one) in said for one in ids] == [True, True]
    assert parking.chat.approvals.remembered() == ()


def test_the_beginning_of_an_id_revokes_only_where_it_is_unique(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    parking, turn = park_turn(shell)
    parking.chat.approvals.decide(parking.waiting, Approved(remember="call"))
    wait_end(turn)
    (remembered,) = parking.chat.approvals.remembered()

    run_command(shell, "approvals revoke approval_", capsys)  # of every id
    assert parking.chat.approvals.remembered() == (remembered,)
    assert "Revoked; pay " in run_command(shell, f"approvals revoke {remembered.approval_id[:14]}", capsys)
    assert parking.chat.approvals.remembered() == ()


def test_a_parked_call_is_approved_without_its_id_when_it_waits_alone(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    parking, turn = park_turn(shell)

    actual = run_command(shell, "approve", capsys)

    assert actual.startswith("Approved: pay(amount=3).")
    assert (wait_end(turn).status, len(parking.threads)) == ("completed", 1)
    assert turn.calls[0].decisions[0].by == "%chat approve"


def test_where_several_wait_an_id_is_asked_for_and_names_one(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    parking, turn = park_turn(shell, *payment_replies(1, 2))
    ids = [line.split()[0] for line in run_command(shell, "approvals", capsys).splitlines()]

    without = shell.run_cell("%chat approve")
    actual = run_command(shell, f"approve {ids[1]}", capsys)

    assert not without.success
    assert actual.startswith("Approved: pay(amount=2).")
    run_command(shell, "deny not this one", capsys)
    assert [(call.status, call.reason.split()) for call in wait_end(turn).calls] == [
        ("denied", ["not", "this", "one"]),
        ("ok", []),
    ]
    assert len(parking.threads) == 1


def test_an_id_that_names_nothing_approves_nothing(shell: Any) -> None:
    parking, turn = park_turn(shell)

    assert not shell.run_cell("%chat approve ffff0000ffff").success
    assert not shell.run_cell(f"%chat approve {parking.waiting[:3]}").success
    assert turn.status == "parked"
    turn.abort()


def test_a_denial_names_its_question_by_an_id_or_none_and_the_rest_is_the_reason(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    parking, turn = park_turn(shell)

    run_command(shell, f"deny {parking.waiting[:8]} too much", capsys)

    assert wait_end(turn).calls[0].reason == "too much"


def test_what_waits_in_another_chat_is_listed_and_decided_too(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    _, turn = park_turn(shell, chat="side")

    listed = run_command(shell, "approvals", capsys)
    run_command(shell, f"approve {listed.split()[0]}", capsys)

    assert "side: Run pay(" in listed
    assert wait_end(turn).status == "completed"


def test_a_result_that_waits_is_released_or_withheld(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("@tool(run='auto', result='always')\ndef secret() -> str:\n    'Tell.'\n    return 'told'")
    parking = ParkingChat(call("secret"), "Done.")
    parking.chat.tools.add(shell.user_ns["secret"])
    shell.magics_manager.registry["ChatMagics"].chats["main"] = parking.chat
    turn = parking.park()
    run_command(shell, "approvals", capsys)

    assert run_command(shell, "deny keep it", capsys).startswith("Withheld: ")
    assert (wait_end(turn).calls[0].status, turn.calls[0].reason) == ("withheld", "keep it")


def test_approve_and_wait_attaches_the_thread_of_the_cell(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    parking, turn = park_turn(shell)

    actual = run_command(shell, "approve --wait", capsys)

    assert "has ended" in actual
    assert turn.done.done()
    assert parking.threads == [threading.main_thread()]


def test_cancel_stops_a_parked_turn_and_the_chat_is_free_again(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    _, turn = park_turn(shell)
    refused = shell.run_cell("%%chat -q\nAnd now?")

    assert not refused.success
    assert run_command(shell, "stop", capsys) == "Stopped.\n"
    assert (turn.status, turn.calls[0].status) == ("cancelled", "cancelled")
    assert "Stopped" not in run_command(shell, "stop", capsys)


def test_a_parked_turn_is_not_thrown_away_by_a_new_conversation(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    _, turn = park_turn(shell)
    capsys.readouterr()

    assert not shell.run_cell("%%chat --new -q -m practice:fast\nHello").success
    actual = capsys.readouterr()
    assert "%chat approve" in actual.out + actual.err
    turn.abort()


def test_reloading_stops_a_parked_turn_that_nobody_could_answer_any_more(shell: Any) -> None:
    parking, turn = park_turn(shell)

    shell.run_line_magic("reload_ext", "nbtool")

    assert wait_end(turn).status == "cancelled"
    assert parking.threads == []


@pytest.mark.promise("shown-is-run")
def test_a_decision_without_an_id_is_about_this_chat_only(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    parking, turn = park_turn(shell, chat="side")

    without = (
        shell.run_cell("%chat approve"),
        shell.run_cell("%chat -c main deny"),
        shell.run_cell("%chat -c main approve"),
    )
    refused = "".join(capsys.readouterr())

    assert [one.success for one in without] == [False] * 3
    assert "'main'" in refused
    assert f"{parking.waiting[:12]} " in refused
    assert "side: Run pay(amount=3)?" in refused
    assert run_command(shell, "-c side approve", capsys).startswith("Approved: pay(amount=3).")
    assert wait_end(turn).status == "completed"


@pytest.mark.promise("shown-is-run")
def test_an_id_with_a_chat_is_looked_for_in_that_chat_only(shell: Any) -> None:
    parking, turn = park_turn(shell, chat="side")

    assert not shell.run_cell(f"%chat -c main approve {parking.waiting}").success
    assert shell.run_cell(f"%chat -c side approve {parking.waiting}").success
    assert wait_end(turn).status == "completed"


@pytest.mark.promise("shown-is-run")
@pytest.mark.parametrize("verb", ["approve", "deny"])
def test_a_question_that_nobody_saw_is_shown_and_not_decided(
    shell: Any, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    parking, turn = park_turn(shell, is_shown=False)

    without = shell.run_cell(f"%chat {verb}")
    refused = "".join(capsys.readouterr())
    again = shell.run_cell(f"%chat {verb}")

    assert (without.success, again.success, turn.status) == (False, False, "parked")
    assert f"{parking.waiting[:12]} " in refused
    assert "Run pay(amount=3)?" in refused
    assert "pay(amount=3)" in run_command(shell, f"{verb} {parking.waiting[:12]}", capsys)
    wait_end(turn)


@pytest.mark.promise("shown-is-run")
def test_the_next_question_of_a_turn_needs_to_be_shown_too(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    parking, turn = park_turn(shell, call("pay", amount=1), call("pay", amount=2), "Done.")
    first, second = parking.waiting, threading.Event()
    turn.add_listener(lambda event: second.set() if event.kind == "turn_parked" and event.digest != first else None)
    run_command(shell, "approve", capsys)
    assert second.wait(SECONDS)

    without = shell.run_cell("%chat approve")
    stale = shell.run_cell(f"%chat deny {first[:12]} not that one")
    output = "".join(capsys.readouterr())

    assert (without.success, stale.success) == (False, False)
    assert "has changed" in output
    assert run_command(shell, f"approve {parking.waiting[:12]}", capsys).startswith("Approved: pay(amount=2).")
    assert [call.status for call in wait_end(turn).calls] == ["ok", "ok"]


def test_a_chat_with_two_names_has_each_question_once(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    parking, turn = park_turn(shell)
    shell.magics_manager.registry["ChatMagics"].chats["alias"] = parking.chat

    assert run_command(shell, "approvals", capsys).count("Run pay(amount=3)?") == 1
    assert run_command(shell, "approve", capsys).startswith("Approved: pay(amount=3).")
    wait_end(turn)


def test_what_was_decided_is_named_in_bounds_and_says_what_is_left_out(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("@tool\ndef write(**names: str) -> str:\n    'Write.'\n    return 'written'")
    parking = ParkingChat(call("write", **{f"n{at}": "x" * 10_000 for at in range(9)}), "Done.")
    parking.chat.tools.add(shell.user_ns["write"])
    shell.magics_manager.registry["ChatMagics"].chats["main"] = parking.chat
    turn = parking.park()
    run_command(shell, "approvals", capsys)

    actual = run_command(shell, "approve", capsys)

    assert actual.startswith("Approved: write(")
    assert "…" in actual
    assert len(actual) < 1_000
    wait_end(turn)

"""`%config NbTool.reviewer`: a model reviews the calls of every cell, by the rules of the settings."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.core.error import UsageError

from nbtool.events import CallDecided
from nbtool.settings import data_dir
from tests.chaos import finish, head, serve_each, text
from tests.magics.test_models_of_cells import configure

ASK = "Use &`pay` with amount=3."


def answer(decision: str) -> list[Any]:
    return [head(), text(f'{{"decision": "{decision}", "reason": "It pays 3."}}'), finish()]


@pytest.fixture
def shell(shell: Any) -> Any:
    """Give a shell with a tool, whose model is the practice model."""
    shell.run_cell("def pay(amount: int) -> int:\n    'Pay.'\n    return amount")
    configure(shell, model="practice:fast")
    return shell


def use_lab(url: str) -> None:
    """Make a server a provider of the person's own."""
    (data_dir() / "providers.toml").write_text(f'[lab]\nbase_url = "{url}"\n')


def decisions(turn: Any) -> list[tuple[str, str]]:
    return [(event.verdict, event.by) for event in turn.log if isinstance(event, CallDecided)]


@pytest.mark.feature("let a model review calls first")
@pytest.mark.parametrize(("decision", "status"), [("approve", "ok"), ("hand_on", "denied")])
def test_the_calls_of_a_cell_are_reviewed_by_the_model_of_the_settings(shell: Any, decision: str, status: str) -> None:
    with serve_each([*answer(decision)]) as server:
        use_lab(server.url)
        configure(shell, reviewer="lab:small", review_rules="Approve payments below five.")
        shell.run_cell_magic("chat", "-t pay -o turn", ASK)
        turn = shell.user_ns["turn"]

    assert turn.calls[0].status == status
    assert (("approved", "reviewer") in decisions(turn)) is (status == "ok")
    assert "It pays 3." in turn.calls[0].decisions[0].reason


def test_a_reviewer_without_rules_is_refused_before_anything_is_sent(shell: Any) -> None:
    configure(shell, reviewer="practice:fast", review_rules=" ")

    with pytest.raises(UsageError, match="review_rules"):
        shell.run_cell_magic("chat", "-t pay -o turn", ASK)

    assert "turn" not in shell.user_ns


@pytest.mark.promise("reviewer-approves-only")
def test_the_practice_model_approves_nothing(shell: Any) -> None:
    """It answers what fits the form that it is given, which would be an approval."""
    configure(shell, reviewer="practice:fast", review_rules="Approve payments below five.")

    shell.run_cell_magic("chat", "-t pay -o turn", ASK)

    assert shell.user_ns["turn"].calls[0].status == "denied"


@pytest.mark.parametrize("line", ["--approve auto", "--approve deny"])
def test_a_cell_that_asks_nobody_asks_no_reviewer(shell: Any, line: str) -> None:
    configure(shell, reviewer="practice:fast", review_rules="Approve payments below five.")

    shell.run_cell_magic("chat", f"-t pay -o turn {line}", ASK)

    assert {by for _, by in decisions(shell.user_ns["turn"])} <= {"policy"}

"""After a kill everything before it is known, a call that ran has an unknown outcome, and nothing runs by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.earlier import TOOLS, copy_history, earlier_kernel, open_latest
from tests.contract.notebook import Notebook, start_kernel
from tests.contract.simulator import Provider, call, simulate


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Have a kernel killed while a call of its runs, and give the folder of its history."""
    folder = tmp_path_factory.mktemp("killed")
    with simulate(call("pay", amount=7), "Seven is paid.", [call("pay", amount=8), call("die")]) as model:
        earlier_kernel(folder, model, "%%chat -t pay die\nPay 7.", "%%chat\nPay 8 and die.", is_killed=True)
    return folder


@pytest.mark.promise("written-first")
@pytest.mark.promise("killed-kernel")
def test_after_a_kill_everything_before_it_is_in_the_history(killed: Path, home: Path, notebook: Notebook) -> None:
    copy_history(killed, home)

    open_latest(notebook)
    shown = notebook.run("%chat history").text + notebook.run("%chat show 1").everything

    assert "Pay 7." in shown
    assert "Pay 8 and die." in shown
    assert "Seven is paid." in shown


@pytest.mark.promise("killed-kernel")
def test_a_call_whose_kernel_died_has_an_unknown_outcome_and_does_not_run_again(
    killed: Path, home: Path, model: Provider, notebook: Notebook
) -> None:
    copy_history(killed, home)
    model.say("I do not know.")
    notebook.run(TOOLS)

    open_latest(notebook)
    notebook.ask("Was it paid?", "-t pay die -m ollama:tiny")

    assert "unknown" in notebook.run("%chat show 2 --whole").everything
    assert "unknown" in model.requests[0].text
    assert notebook.names["ran"] == []


@pytest.mark.promise("killed-kernel")
def test_nothing_runs_by_itself_when_a_chat_is_opened_after_a_kill(
    killed: Path, home: Path, model: Provider, notebook: Notebook
) -> None:
    copy_history(killed, home)
    notebook.run(TOOLS)

    open_latest(notebook)
    for command in ("show", "history", "status", "approvals"):
        assert not notebook.run(f"%chat {command}").error

    assert model.requests == []
    assert notebook.names["ran"] == []


ASKING_TOOLS = TOOLS.replace('run="auto"', 'run="ask_always"')


@pytest.fixture(scope="module", params=["while its approved call ran", "while a question was parked"])
def ended(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Have a kernel with a person at it killed, and give the folder of its history and the outcome of its call."""
    folder = tmp_path_factory.mktemp("ended")
    is_parked = request.param == "while a question was parked"
    with (
        simulate(call("pay", amount=9) if is_parked else call("die")) as model,
        start_kernel(folder, OLLAMA_HOST=model.host, NBTOOL_MODEL="ollama:tiny") as kernel,
    ):
        assert not kernel.run(ASKING_TOOLS).error
        if is_parked:
            assert "pay(amount=9)" in kernel.run("%%chat -t pay --approve later\nPay 9.").text
            kernel.kill()
        else:
            kernel.run_until_killed("%%chat -t die --approve input\nEnd it.", "y")
    return folder, "not run" if is_parked else "unknown"


@pytest.mark.promise("killed-kernel")
@pytest.mark.promise("parked")
@pytest.mark.parametrize("way", ["look", "resume"])
def test_an_approval_and_a_question_end_with_their_kernel(
    ended: tuple[Path, str], home: Path, model: Provider, notebook: Notebook, way: str
) -> None:
    folder, outcome = ended
    copy_history(folder, home)
    model.say("I do not know.")
    notebook.run(ASKING_TOOLS)

    open_latest(notebook)
    assert notebook.run("%chat approve").error
    assert outcome in notebook.run("%chat show 1 --whole").everything
    assert model.requests == []
    turn = notebook.ask(
        "" if way == "resume" else "Was it paid?", f"-m ollama:tiny{' --rerun :resume' * (way == 'resume')}"
    )

    assert (turn.text, [one.status for one in turn.calls if one.status == "ok"]) == ("I do not know.", [])
    assert outcome == "not run" or "outcome is unknown" in model.requests[0].text
    assert notebook.names["ran"] == []

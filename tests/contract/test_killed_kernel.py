"""After a kill everything before it is known, a call that ran has an unknown outcome, and nothing runs by itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.contract.earlier import (
    ASKING_TOOLS,
    KILLER,
    TOOLS,
    copy_history,
    earlier_kernel,
    effects,
    open_latest,
)
from tests.contract.notebook import Notebook, start_kernel
from tests.contract.simulator import Call, Provider, call, simulate


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
    assert effects(home) == ["pay 7", "pay 8", "die"]


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
    assert effects(home) == ["pay 7", "pay 8", "die"]


@dataclass(frozen=True)
class Kill:
    """When a kernel with a person at it is killed, and what is known of its call afterwards."""

    tool: str = "pay"
    kind: str = ""
    flags: str = "--approve input"
    outcome: str = "unknown"
    effects: tuple[str, ...] = ()

    @property
    def call(self) -> Call:
        """The call that the model makes."""
        return call("die") if self.tool == "die" else call("pay", amount=9)


KILLS = {
    "while its approved call runs": Kill(tool="die", effects=("die",)),
    "while a question is parked": Kill(flags="--approve later", outcome="not run"),
    "between the approval and the start of the call": Kill(kind="call_decided", outcome="not run"),
    "between the start of the call and its effect": Kill(kind="call_started"),
}


@pytest.fixture(scope="module", params=list(KILLS))
def ended(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Kill]:
    """Have a kernel with a person at it killed, and give the folder of its history."""
    folder, kill = tmp_path_factory.mktemp("ended"), KILLS[request.param]
    with (
        simulate(kill.call) as model,
        start_kernel(folder, OLLAMA_HOST=model.host, NBTOOL_MODEL="ollama:tiny") as kernel,
    ):
        assert not kernel.run(ASKING_TOOLS).error
        assert not kernel.run(KILLER.format(kind=kill.kind)).error
        cell = f"%%chat -t {kill.tool} {kill.flags}\nDo it."
        if kill.flags == "--approve input":
            kernel.run_until_killed(cell, "y")
        else:
            assert "pay(amount=9)" in kernel.run(cell).text
            kernel.kill()
    assert effects(folder) == list(kill.effects)
    return folder, kill


WAYS = {"another prompt": ("Was it done?", ""), "the turn is resumed": ("", "--rerun :resume")}


@pytest.mark.sampled(1)
@pytest.mark.promise("killed-kernel")
@pytest.mark.promise("parked")
@pytest.mark.parametrize("way", list(WAYS))
def test_an_approval_and_a_question_end_with_their_kernel(
    ended: tuple[Path, Kill], home: Path, model: Provider, notebook: Notebook, way: str
) -> None:
    folder, kill = ended
    copy_history(folder, home)
    model.say("I do not know.")
    notebook.run(ASKING_TOOLS)

    open_latest(notebook)
    assert notebook.run("%chat approve").error
    assert kill.outcome in notebook.run("%chat show 1 --whole").everything
    assert model.requests == []
    prompt, flags = WAYS[way]
    turn = notebook.ask(prompt, f"-m ollama:tiny {flags}")

    assert (turn.text, [one.status for one in turn.calls if one.status == "ok"]) == ("I do not know.", [])
    assert ("outcome is unknown" in model.requests[0].text) is (kill.outcome == "unknown")
    assert effects(home) == list(kill.effects)


@pytest.mark.promise("killed-kernel")
@pytest.mark.promise("once")
@pytest.mark.parametrize("way", list(WAYS))
def test_the_same_call_that_the_model_makes_after_a_kill_is_a_call_that_nobody_has_approved(
    ended: tuple[Path, Kill], home: Path, model: Provider, notebook: Notebook, way: str
) -> None:
    folder, kill = ended
    copy_history(folder, home)
    notebook.run(ASKING_TOOLS)
    model.say(kill.call, "I may not.")

    open_latest(notebook)
    prompt, flags = WAYS[way]
    turn = notebook.ask(prompt, f"-m ollama:tiny -t {kill.tool} {flags}")

    assert (turn.text, turn.calls[-1].status) == ("I may not.", "denied")
    assert effects(home) == list(kill.effects)


@pytest.mark.sampled(1)
@pytest.mark.promise("killed-kernel")
@pytest.mark.promise("once")
@pytest.mark.parametrize(
    "ended", ["while its approved call runs", "between the approval and the start of the call"], indirect=True
)
def test_after_a_kill_a_person_is_asked_once_more_and_each_yes_has_one_effect(
    ended: tuple[Path, Kill], tmp_path: Path, model: Provider
) -> None:
    folder, kill = ended
    copy_history(folder, tmp_path)
    is_asked_by_the_model = kill.outcome == "unknown"  # a call that did not start is asked about by the resumption
    model.say(*[call("pay", amount=9)] * is_asked_by_the_model, "Nine is paid.")

    with start_kernel(tmp_path, OLLAMA_HOST=model.host, NBTOOL_MODEL="ollama:tiny") as kernel:
        kernel.run(ASKING_TOOLS)
        open_latest(kernel)
        output = kernel.run("%%chat -m ollama:tiny -t pay --approve input --rerun :resume", ["y"])

    assert ["pay" in question for question in output.inputs] == [True]
    assert "Nine is paid." in output.text
    assert effects(tmp_path) == [*kill.effects, "pay 9"]

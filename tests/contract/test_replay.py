"""A recorded turn is replayed without a request and without running a tool; `--set replay=only` never sends."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest

from nbtool import Approved, Chat, tool
from nbtool.errors import NotRecorded
from nbtool.plugins import Privacy
from nbtool.testing import ScriptedApprover
from tests.contract.notebook import Notebook, process_environment, start_kernel
from tests.contract.simulator import KEY, MODEL, Provider, call
from tests.contract.tools import approve

pytest_plugins = ["pytester"]

FEATURE = "replay a notebook without a model"
KEEP = "keep the answers on Run All"
ran: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


@tool(run="auto")
def price(ticker: str) -> int:
    "The price of a ticker."
    ran.append(ticker)
    return 10


def recorded(
    model: Provider, path: Path, *, name: str = MODEL, tools: Sequence[Any] = (price,), **settings: Any
) -> Any:
    """Make a chat that records to a file and replays from it."""
    chat = model.chat(name, tools=tools, **settings)
    chat.record(path)
    return chat


NUMBERS = [
    np.float64(10.5), np.float32(0.1), np.float16(0.1), np.int64(-(2**62)), np.uint8(7), np.bool_(True), np.array(2.5),
    np.array(True), np.array(3, dtype="int16"), np.float64(3),
]  # fmt: skip


@pytest.mark.feature(FEATURE)
@pytest.mark.parametrize("form", ["alone", "inside"])
@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_a_number_of_numpy_is_replayed_as_the_same_type_without_running_its_tool(
    model: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: Any, form: str
) -> None:
    @tool  # it asks, so that it cannot run again where only replays are allowed
    def measure() -> float:
        "Measure it."
        ran.append("")
        return number if form == "alone" else {"a/~": [number, 1.5]}  # type: ignore[return-value]

    model.say(call("measure"), "Done.")
    recorded(model, tmp_path / "r.json", tools=[measure], approver=approve).send("How long?")
    monkeypatch.setenv("NBTOOL_REPLAY", "only")

    turn = recorded(model, tmp_path / "r.json", tools=[measure]).send("How long?")

    assert (turn.status, turn.error, len(ran)) == ("completed", None, 1)
    again = turn.calls[0].result if form == "alone" else turn.calls[0].result["a/~"][0]
    assert type(again) is type(number)
    assert again == number
    assert again.dtype == number.dtype


@pytest.mark.parametrize("number", [np.float64(10.5), np.int64(3), np.bool_(True), np.array(2.5)], ids=repr)
def test_a_number_of_numpy_is_sent_as_a_number(model: Provider, number: Any) -> None:
    @tool(run="auto")
    def measure() -> float:
        "Measure it."
        return number  # type: ignore[no-any-return]

    model.say(call("measure"), "Done.")

    turn = model.chat(tools=[measure]).send("How long?")

    assert turn.calls[0].shown == str(number)
    assert f"\n{number}\n" in model.requests[1].text


@pytest.mark.promise("free-replay")
@pytest.mark.feature(FEATURE)
def test_a_recorded_turn_is_replayed_without_a_request(model: Provider, tmp_path: Path) -> None:
    model.say(call("price", ticker="A"), "It costs 10.")
    first = recorded(model, tmp_path / "r.json").send("What does A cost?")

    second = recorded(model, tmp_path / "r.json").send("What does A cost?")

    assert (second.text, second.calls[0].result) == (first.text, 10)
    assert len(model.requests) == 2
    assert ran == ["A"]
    assert second.replayed
    assert not first.replayed


@pytest.mark.promise("free-replay")
@pytest.mark.parametrize("change", ["prompt", "model", "system", "options", "history", "tool"])
def test_a_turn_whose_inputs_changed_is_sent(model: Provider, tmp_path: Path, change: str) -> None:
    @tool(run="auto", name="price")
    def other_price(ticker: str) -> int:
        "The price of a ticker."
        return 11

    model.say("Ten.", "Eleven.", "Twelve.")
    recorded(model, tmp_path / "r.json").send("What does A cost?")
    chat = recorded(
        model, tmp_path / "r.json", name="large" if change == "model" else MODEL,
        system="Be brief." if change == "system" else "", options={"temperature": 0.5} if change == "options" else {},
    )  # fmt: skip
    if change == "tool":
        chat.tools = model.chat(tools=[other_price]).tools
    if change == "history":
        chat.send("Hello?")

    turn = chat.send("What does B cost?" if change == "prompt" else "What does A cost?")

    assert not turn.replayed
    assert turn.text == ("Twelve." if change == "history" else "Eleven.")


@pytest.mark.promise("free-replay")
def test_a_recorded_call_that_was_approved_is_replayed_without_a_question_and_does_not_run(
    model: Provider, tmp_path: Path, pay: Any, paid: list[Any]
) -> None:
    model.say(call("pay", amount=7), "Paid.")
    recorded(model, tmp_path / "r.json", tools=[pay], approver=approve).send("Pay 7.")

    with ScriptedApprover([]) as person:
        turn = recorded(model, tmp_path / "r.json", tools=[pay], approver=person).send("Pay 7.")

    assert turn.replayed
    assert (turn.text, turn.calls[0].status, turn.calls[0].shown) == ("Paid.", "ok", "paid 7")
    assert (person.questions, paid, len(model.requests)) == ([], [7], 2)


@pytest.mark.promise("free-replay")
@pytest.mark.promise("once")
def test_a_replay_approves_nothing_that_is_sent_later(
    model: Provider, tmp_path: Path, pay: Any, paid: list[Any]
) -> None:
    model.say(call("pay", amount=7), "Paid.", call("pay", amount=7), "I may not.")
    remember = Approved(remember="tool")
    recorded(model, tmp_path / "r.json", tools=[pay], approver=lambda question: remember).send("Pay 7.")
    chat = recorded(model, tmp_path / "r.json", tools=[pay])

    assert chat.send("Pay 7.").replayed
    turn = chat.send("Pay 7 again.")

    assert (turn.calls[0].status, paid) == ("denied", [7])


@pytest.mark.promise("free-replay")
@pytest.mark.feature(FEATURE)
def test_replaying_only_never_asks_a_model(model: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model.say("Ten.")
    recorded(model, tmp_path / "r.json").send("What does A cost?")
    monkeypatch.setenv("NBTOOL_REPLAY", "only")
    chat = recorded(model, tmp_path / "r.json")

    assert chat.send("What does A cost?").text == "Ten."
    other = chat.send("What does B cost?")

    assert isinstance(other.error, NotRecorded)
    assert len(model.requests) == 1


@pytest.mark.promise("free-replay")
def test_a_file_that_is_only_replayed_is_not_written(model: Provider, tmp_path: Path) -> None:
    model.say("Ten.", "Eleven.")
    recorded(model, tmp_path / "r.json").send("What does A cost?")
    content = (tmp_path / "r.json").read_bytes()
    chat = model.chat(tools=[price])
    chat.replay(tmp_path / "r.json")

    assert chat.send("What does A cost?").text == "Ten."
    chat.send("What does B cost?")

    assert (tmp_path / "r.json").read_bytes() == content


@pytest.mark.promise("free-replay")
@pytest.mark.feature(FEATURE)
def test_a_notebook_records_and_replays_its_cells(notebook: Notebook, model: Provider, tmp_path: Path) -> None:
    model.say("Ten.")
    path = tmp_path / "notebook.nbtool.json"
    notebook.run(f"%chat record {path}")
    notebook.ask("What does A cost?")
    notebook.run("%chat new")

    assert notebook.ask("What does A cost?").text == "Ten."
    assert len(model.requests) == 1


@pytest.mark.promise("free-replay")
@pytest.mark.feature(FEATURE)
def test_a_cell_that_is_not_recorded_fails_where_only_replays_are_allowed(
    notebook: Notebook, model: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook.run(f"%chat record {tmp_path / 'r.json'}")
    monkeypatch.setenv("NBTOOL_REPLAY", "only")

    output = notebook.run("%%chat\nWhat does A cost?")

    assert output.error
    assert model.requests == []


@pytest.mark.promise("free-replay")
@pytest.mark.parametrize("way", ["setting of the cell", "record --only"])
def test_a_cell_that_only_replays_sends_nothing(notebook: Notebook, model: Provider, tmp_path: Path, way: str) -> None:
    model.say("Ten.")
    notebook.run(f"%chat record {tmp_path / 'r.json'}")
    notebook.ask("What does A cost?")
    notebook.run("%chat new")
    if way == "record --only":
        notebook.run(f"%chat record {tmp_path / 'r.json'} --only")

    flags = "--set replay=only" if way == "setting of the cell" else ""
    replayed = notebook.ask("What does A cost?", flags)
    notebook.run(f"%%chat {'--set replay=only' if way == 'setting of the cell' else '--new'}\nWhat does A cost?")

    assert replayed.text == "Ten."
    assert len(model.requests) == 1


def test_a_recording_is_readable_and_has_no_key_and_no_masked_value(model: Provider, tmp_path: Path) -> None:
    @tool(run="auto")
    def look_up(name: str) -> str:
        "Look somebody up."
        return f"{name}, grace@navy.example, {KEY}"

    model.say(call("look_up", name="Grace"), "Found.")
    chat = model.chat(tools=[look_up], plugins=[Privacy(names=["Grace"])])
    chat.record(tmp_path / "r.json")

    chat.send("Look up Grace.")

    content = (tmp_path / "r.json").read_text(encoding="utf-8")
    assert json.loads(content)
    assert all(word not in content for word in (KEY, "grace@navy.example", "Grace"))


@pytest.mark.promise("forged-history")
@pytest.mark.parametrize("name", ["delete_all", "os.system"])
def test_a_recorded_call_of_another_tool_is_shown_and_not_run(model: Provider, tmp_path: Path, name: str) -> None:
    @tool(run="auto")
    def delete_all(ticker: str) -> str:
        "Delete everything."
        ran.append("deleted")
        return "deleted"

    model.say(call("price", ticker="A"), "It costs 10.")
    path = tmp_path / "r.json"
    chat = model.chat(tools=[price, delete_all])
    chat.record(path)
    chat.send("What does A cost?")
    forged = json.loads(path.read_text(encoding="utf-8"))
    for event in forged["turns"][0]["events"]:
        if event["kind"] in {"call_ready", "call_finished"}:
            event["name"] = name
    path.write_text(json.dumps(forged), encoding="utf-8")
    ran.clear()

    replaying = model.chat(tools=[price, delete_all])
    replaying.record(path)
    turn = replaying.send("What does A cost?")

    assert turn.replayed
    assert [(one.name, one.result) for one in turn.calls] == [(name, 10)]
    assert ran == []


@pytest.mark.promise("free-replay")
@pytest.mark.feature("replay without a key")
def test_a_recorded_turn_is_replayed_where_its_model_has_no_key(
    model: Provider, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "providers.toml").write_text(f'[uni]\nbase_url = "{model.url}"\nwire = "chat"\nkeys = ["UNI_KEY"]\n')
    monkeypatch.setenv("UNI_KEY", KEY)
    model.say("It costs 10.")
    first = Chat("uni:large")
    first.record(tmp_path / "r.json")
    first.send("What does A cost?")
    monkeypatch.delenv("UNI_KEY")

    second = Chat("uni:large")
    second.replay(tmp_path / "r.json")
    turn = second.send("What does A cost?")

    assert (turn.text, len(model.requests)) == ("It costs 10.", 1)
    assert turn.replayed


# --- pytest ---------------------------------------------------------------------------------------------------

APP = """
import os
from nbtool import Chat

def ask(prompt):
    return Chat("tiny", wire="chat", base_url=os.environ["LAB_URL"], api_key=os.environ.get("LAB_KEY")).send(prompt)
"""
TEST = """
from app import ask

def test_price(nbtool_replay):
    assert ask("What does A cost?").text == "It costs 10."
"""


@pytest.fixture
def team(pytester: pytest.Pytester, model: Provider, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Give the folder of somebody whose tests use a model."""
    pytester.makepyfile(app=APP, test_shop=TEST)
    monkeypatch.setenv("LAB_URL", model.url)
    monkeypatch.setenv("LAB_KEY", KEY)
    return pytester


@pytest.mark.timeout(120)
@pytest.mark.promise("free-replay")
@pytest.mark.feature("replay turns in your own tests")
def test_tests_are_recorded_once_and_run_without_a_model_from_then_on(
    team: pytest.Pytester, model: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.say("It costs 10.")

    team.runpytest_subprocess("--nbtool-record").assert_outcomes(passed=1)
    monkeypatch.delenv("LAB_KEY")
    team.runpytest_subprocess().assert_outcomes(passed=1)

    assert len(model.requests) == 1
    (recording,) = (team.path / "recordings").rglob("*.json")
    assert "It costs 10." in recording.read_text(encoding="utf-8")


@pytest.mark.sampled(0)
@pytest.mark.timeout(120)
@pytest.mark.feature("replay turns in your own tests")
def test_a_test_whose_turn_is_not_recorded_fails_and_names_the_option(team: pytest.Pytester, model: Provider) -> None:
    result = team.runpytest_subprocess()

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "--nbtool-record" in result.stdout.str()
    assert model.requests == []


@pytest.mark.nightly
@pytest.mark.feature(KEEP)
def test_a_cell_that_runs_first_in_a_kernel_gets_its_kept_answer_and_then_asks(model: Provider, tmp_path: Path) -> None:
    model.say("Ten.", "Eleven.")
    provider = {"OLLAMA_HOST": model.host, "NBTOOL_MODEL": f"ollama:{MODEL}"}
    cell = "%%chat -o turn\nWhat does A cost?"
    shown = "print(turn.text, turn.replayed is not None)"
    with start_kernel(tmp_path, **provider) as first:
        first.run("%config NbTool.keep_answers = True")
        first.run(cell, cell_id="a")
    with start_kernel(tmp_path, **provider) as second:
        second.run("%config NbTool.keep_answers = True")
        replayed = second.run(cell, cell_id="a")
        assert "Ten. True" in second.run(shown).text
        second.run("%config NbTool.replace_names = True")
        second.run("%chat new")
        second.run(cell, cell_id="a")
        assert "Eleven. False" in second.run(shown).text

    assert "Kept answer of" in replayed.everything
    assert len(model.requests) == 2


@pytest.mark.nightly
@pytest.mark.feature(KEEP)
def test_a_notebook_that_runs_headless_gets_its_kept_answers(model: Provider, tmp_path: Path) -> None:
    model.say("Ten.", "Eleven.", "Twelve.")
    cells = ["%load_ext nbtool", "%config NbTool.keep_answers = True", "%%chat\nWhat does A cost?", "%%chat\nAnd B?"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    nbformat.write(notebook, tmp_path / "prices.ipynb")

    def run_all(**environment: str) -> str:
        provider = {"OLLAMA_HOST": model.host, "NBTOOL_MODEL": f"ollama:{MODEL}"}
        command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "prices.ipynb"]
        ran = subprocess.run(
            [*command, "--output", "ran.ipynb"], cwd=tmp_path, check=False, capture_output=True, text=True, timeout=120,
            env=process_environment(tmp_path, **provider, **environment),
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        return (tmp_path / "ran.ipynb").read_text(encoding="utf-8")

    first, second = run_all(), run_all()

    assert "Ten." in first
    assert all(text in second for text in ("Ten.", "Eleven.", "Kept answer of"))
    assert len(model.requests) == 2
    model.say("Thirteen.")
    assert "Twelve." in run_all(NBTOOL_REPLAY="off")
    assert len(model.requests) == 4


@pytest.mark.feature(KEEP)
def test_answers_are_kept_only_if_the_setting_says_so(notebook: Notebook, model: Provider, home: Path) -> None:
    model.say("Ten.", "Eleven.")
    notebook.ask("What does A cost?")
    notebook.run("%chat new")
    notebook.run("%config NbTool.keep_answers = True")

    assert notebook.ask("What does A cost?").text == "Eleven."
    assert home.exists()

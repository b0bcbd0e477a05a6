"""What `Privacy` masks leaves in no spelling and on no way, is in no file, and is restored in the answer."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved, Denied, tool
from nbtool.plugins import Privacy
from tests.contract.notebook import Notebook
from tests.contract.simulator import Provider, Request, call
from tests.contract.tools import written_cell

EMAIL = "grace.hopper@navy.example"
FEATURE = "mask private values, limit cost, trace"


@pytest.mark.promise("masked")
@pytest.mark.feature(FEATURE)
def test_a_masked_value_does_not_leave_and_is_restored_in_the_answer(model: Provider) -> None:
    model.say(lambda request: f"I wrote to {_mask(request)}.")

    turn = model.chat(plugins=[Privacy()]).send(f"Write to {EMAIL}, please.")

    assert EMAIL not in model.everything
    assert turn.text == f"I wrote to {EMAIL}."


def _mask(request: Request) -> str:
    """Find what stands where the value was."""
    return request.text.split("Write to ", 1)[1].split(", please", 1)[0]


@pytest.mark.promise("masked")
@pytest.mark.parametrize(
    "written",
    [
        EMAIL, EMAIL.upper(), "grace.hopper%40navy.example", "grace.hopper&#64;navy.example",
        "grace.hopper [at] navy (dot) example", "grace\u200b.hopper@navy.example", "**grace.hopper**@navy.example",
        "\uff47\uff52\uff41\uff43\uff45.hopper@navy.example",
        base64.b64encode(EMAIL.encode()).decode(), EMAIL.encode().hex(),
    ],
    ids=ascii,
)  # fmt: skip
def test_no_spelling_of_a_value_leaves(model: Provider, written: str) -> None:
    model.say("Fine.")

    model.chat(plugins=[Privacy()]).send(f"Write to {written}, please.")

    assert written not in model.everything
    assert "hopper" not in model.everything.lower()


@pytest.mark.promise("masked")
@pytest.mark.parametrize(
    ("kind", "value"),
    [("phone", "+49 30 901820"), ("card", "4111 1111 1111 1111"), ("iban", "DE89 3704 0044 0532 0130 00"),
     ("ip", "203.0.113.77"), ("name", "Grace Hopper")],
)  # fmt: skip
def test_every_kind_of_value_is_masked(model: Provider, kind: str, value: str) -> None:
    model.say("Fine.")

    model.chat(plugins=[Privacy(names=["Grace Hopper"])]).send(f"Use {value} for it.")

    assert value not in model.everything
    assert value.replace(" ", "") not in model.everything


@pytest.mark.promise("masked")
def test_a_value_in_a_result_does_not_leave_and_the_next_tool_gets_it(model: Provider) -> None:
    received: list[str] = []

    @tool(run="auto")
    def find() -> dict[str, str]:
        "Find somebody."
        return {"email": EMAIL}

    @tool(run="auto")
    def send(to: str) -> str:
        "Send a mail."
        received.append(to)
        return f"sent to {to}"

    def send_there(request: Request) -> Any:
        result = next(one for one in request.json["messages"] if one["role"] == "tool")["content"]
        return call("send", to=result.split('"email":', 1)[1].split('"')[1])

    model.say(call("find"), send_there, "Sent.")

    turn = model.chat(tools=[find, send], plugins=[Privacy()]).send("Find and write.")

    assert [one.status for one in turn.calls] == ["ok", "ok"]
    assert received == [EMAIL]
    assert EMAIL not in model.everything


@pytest.mark.promise("masked")
@pytest.mark.parametrize("place", ["system", "docstring", "row of a map", "attachment", "denial"])
def test_no_way_out_has_a_masked_value(model: Provider, place: str, tmp_path: Any) -> None:
    note = tmp_path / "note.txt"
    note.write_text(f"Write to {EMAIL}.", encoding="utf-8")

    def send(text: str = "") -> str:
        "Send."
        return "sent"

    send.__doc__ = f"Send to {EMAIL}." if place == "docstring" else "Send."
    model.say(call("send"), "Fine.")
    chat = model.chat(
        tools=[send], plugins=[Privacy()], system=f"You work for {EMAIL}." if place == "system" else "",
        approver=lambda question: Denied(f"Ask {EMAIL}.") if place == "denial" else Approved(),
    )  # fmt: skip
    if place == "row of a map":
        chat.map("Write to {who}", [{"who": EMAIL}], progress=False)
    else:
        chat.send("Go.", attach=[note] if place == "attachment" else [])

    assert model.requests
    assert EMAIL not in model.everything


@pytest.mark.promise("masked")
def test_no_file_that_nbtool_writes_has_a_masked_value(
    home: Path, notebook: Notebook, model: Provider, tmp_path: Path
) -> None:
    @tool(run="auto")
    def find(name: str) -> dict[str, str]:
        "Find somebody."
        return {"email": EMAIL}

    model.say(call("find", name="Grace"), f"Write to {EMAIL}.")
    chat = model.chat(tools=[find], plugins=[Privacy()])
    chat.record(tmp_path / "recording.json")
    notebook.names["lab"] = chat

    chat.send(f"Who is {EMAIL}?")
    for kind in ("md", "json", "py", "ipynb"):
        assert not notebook.run(f"%chat -c lab export {kind} {tmp_path / ('export.' + kind)}").error

    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    names = {path.name for path in written}
    assert {"recording.json", "export.md", "export.json", "export.py", "export.ipynb", "journal.sqlite"} <= names
    assert [path.name for path in written if EMAIL.encode() in path.read_bytes()] == []


@pytest.mark.promise("masked")
def test_the_code_that_is_written_into_a_cell_has_the_values(notebook: Notebook, model: Provider) -> None:
    received: list[str] = []

    @tool(run="auto")
    def send(to: str) -> str:
        "Send a mail."
        received.append(to)
        return "sent"

    model.say(lambda request: call("send", to=_mask(request)), "Sent.")
    notebook.names["lab"] = model.chat(tools=[send], plugins=[Privacy()])
    notebook.names["lab"].send(f"Write to {EMAIL}, please.")

    output = notebook.run("%chat -c lab export py --cell")

    assert received == [EMAIL]
    assert EMAIL in written_cell(notebook, output)


@pytest.mark.promise("masked")
@pytest.mark.feature(FEATURE)
def test_masking_can_be_set_for_all_cells(notebook: Notebook, model: Provider) -> None:
    model.say("Fine.")
    notebook.run("%config NbTool.privacy = True")

    notebook.ask(f"Write to {EMAIL}, please.")

    assert EMAIL not in model.everything

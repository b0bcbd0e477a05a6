"""A key of an endpoint is in no error, log, file, saved output or request, also if a server or a tool repeats it."""

from __future__ import annotations

import base64
import json
import logging
import os
import urllib.parse
from pathlib import Path
from typing import Any

import pytest

from nbtool import tool
from nbtool.errors import NbtoolError
from nbtool.plugins import EventLog
from tests.contract.notebook import Notebook
from tests.contract.simulator import KEY, Provider, Refusal, call, simulate

TOKEN = "tkn-a81f5c7d93e2"


@pytest.mark.promise("no-secret-told")
@pytest.mark.parametrize("key", [KEY, "palm-tree-and-sunset", "7d41 c0ff ee"])
@pytest.mark.parametrize("write", [str, urllib.parse.quote, lambda key: base64.b64encode(key.encode()).decode()])
def test_an_error_of_a_server_that_repeats_the_key_does_not_show_it(model: Provider, key: str, write: Any) -> None:
    model.say(Refusal(401, f"Incorrect API key provided: {write(key)}"))

    turn = model.chat(api_key=key).send("Hello?")

    assert turn.status == "error"
    for shown in (str(turn.error), repr(turn.error), repr(vars(turn.error))):
        assert key not in shown
        assert write(key) not in shown


@pytest.mark.promise("no-secret-told")
def test_a_chat_does_not_show_its_key(model: Provider) -> None:
    model.say("Hello.")
    chat = model.chat(headers={"X-Secret": TOKEN})
    turn = chat.send("Hello?")

    for shown in (repr(chat), str(chat), repr(turn), repr(chat.model), str(turn._repr_mimebundle_())):
        assert KEY not in shown
        assert TOKEN not in shown


@pytest.mark.promise("no-secret-told")
def test_no_log_has_a_key(model: Provider, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    logging.getLogger("nbtool").setLevel(logging.DEBUG)
    model.say(Refusal(500, f"failed with {KEY}"), "Hello.")

    model.chat(headers={"X-Secret": TOKEN}).send("Hello?")

    assert KEY not in caplog.text
    assert TOKEN not in caplog.text


@pytest.mark.promise("no-secret-told")
def test_no_file_that_nbtool_writes_has_a_key_that_a_tool_returned(
    home: Path, notebook: Notebook, model: Provider, tmp_path: Path
) -> None:
    @tool(run="auto")
    def read_settings() -> str:
        "Read the settings."
        return f"key = {KEY}"

    model.say(call("read_settings"), f"The key is {KEY}.")
    chat = model.chat(tools=[read_settings], plugins=[EventLog(tmp_path / "events.jsonl")])
    chat.record(tmp_path / "recording.json")
    notebook.names["lab"] = chat
    os.chdir(tmp_path)

    chat.send("What is the key?")
    for kind in ("md", "json", "py"):
        assert not notebook.run(f"%chat -c lab export {kind} {tmp_path / ('export.' + kind)}").error

    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"events.jsonl", "recording.json", "export.md", "export.json", "export.py"} <= {one.name for one in written}
    assert "journal.sqlite" in {one.name for one in written}
    assert [one.name for one in written if KEY.encode() in one.read_bytes()] == []


@pytest.mark.promise("no-secret-told")
def test_what_a_key_command_prints_is_not_in_its_error(model: Provider) -> None:
    command = ["python3", "-c", f"import sys; print('{TOKEN}'); print('{TOKEN}', file=sys.stderr); sys.exit(3)"]

    with pytest.raises(NbtoolError) as failed:
        raise model.chat(api_key=None, key_command=command).send("Hello?").error or AssertionError

    assert TOKEN not in str(failed.value)
    assert model.requests == []


OTHER_KEY = "sk-other-99887766554433"
"""What looks like a key, and is that of no endpoint of this kernel."""


@pytest.mark.promise("no-secret-told")
def test_a_key_that_a_person_types_in_a_prompt_is_in_no_request_file_or_output(
    home: Path, notebook: Notebook, model: Provider, tmp_path: Path
) -> None:
    model.say("Hello.")
    notebook.names["lab"] = model.chat()

    turn = notebook.ask(f"My keys are {KEY} and {OTHER_KEY}.", "-c lab")
    shown = [
        notebook.output,
        *(notebook.run(f"%chat -c lab {line}") for line in ("show 1 --whole", "history", "explore --static")),
    ]
    shown += [notebook.run(f"%chat -c lab export {kind} {tmp_path / kind}") for kind in ("md", "json", "ipynb", "py")]

    assert [notice.text for notice in turn.notices if "•••" in notice.text]
    written = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for contents in (
        [request.text for request in model.requests],
        [output.everything for output in shown],
        [content.decode("utf-8", "replace") for content in written.values()],
    ):
        assert KEY not in "".join(contents)
        assert OTHER_KEY in "".join(contents)  # a text like any other: docs/threats.md says so
    assert any(OTHER_KEY.encode() in content for path, content in written.items() if path.parent == home)


def test_the_history_is_a_file_that_only_its_user_can_read(home: Path, model: Provider) -> None:
    model.say("Noted.")

    model.chat().send("Remember the number 7.")

    assert (home / "journal.sqlite").stat().st_mode & 0o077 == 0


def forms_of_key(key: str) -> dict[str, Any]:
    """Return what a tool may return with a key in it."""
    return {
        "text": f"key = {key}",
        "key of a dict": {key: "the key"},
        "nested": {"servers": [{"name": "lab", "auth": f"Bearer {key}"}]},
        "JSON": f'{{"auth": "{key}"}}',
        "base64": base64.b64encode(f"user:{key}".encode()).decode(),
        "address": f"https://lab.example/?token={urllib.parse.quote(key, safe='')}",
        "bytes": f"KEY={key}".encode(),
    }


@pytest.mark.promise("no-secret-told")
@pytest.mark.parametrize("key", [KEY, "palm/tree and+sunset", 'with "quotes" 77'])
@pytest.mark.parametrize("form", list(forms_of_key("")))
def test_no_model_gets_the_key_that_a_tool_returns(model: Provider, key: str, form: str) -> None:
    @tool(run="auto")
    def read_settings() -> Any:
        """Read the settings."""
        return forms_of_key(key)[form]

    model.say(call("read_settings"), "Read.")
    turn = model.chat(api_key=key, tools=[read_settings]).send("Which servers are there?")

    assert turn.status == "completed"
    packed = [base64.b64encode(f"{before}{key}".encode()).decode()[4:-4] for before in ("", "x", "xx", "user:")]
    for spelled in (key, urllib.parse.quote(key, safe=""), json.dumps(key)[1:-1], *packed):
        assert spelled not in model.requests[1].text
    assert "•••" in model.requests[1].text
    assert any("read_settings" in notice.text and "•••" in notice.text for notice in turn.notices)


@pytest.mark.promise("no-secret-told")
def test_no_model_gets_the_key_of_another_host(model: Provider) -> None:
    with simulate("Hello.") as other:
        other.chat(api_key=TOKEN).send("Hello?")

    @tool(run="auto")
    def fail() -> str:
        """Fail."""
        raise ValueError(f"401 for {TOKEN}")

    model.say(call("fail"), "Sorry.", "Hm.")
    chat = model.chat(tools=[fail])
    chat.send("Ask the other one.")
    chat.send(f"Is {TOKEN} wrong?")

    assert [TOKEN in request.content.decode() for request in model.requests] == [False] * 3
    assert "Is ••• wrong?" in model.requests[2].text


@pytest.mark.promise("no-secret-told")
def test_a_key_in_a_default_or_in_the_instructions_is_not_sent(model: Provider) -> None:
    @tool(run="auto")
    def fetch(path: str, token: str = KEY) -> str:
        """Fetch a page."""
        return path

    model.say("Yes.")
    turn = model.chat(tools=[fetch], system=f"The key is {KEY}.").send("Ready?")

    assert KEY not in model.requests[0].content.decode()
    assert [notice.text for notice in turn.notices if "•••" in notice.text] == [
        "The system text and the definition of fetch contained a key or a value of a header or query of this kernel:"
        " the model gets ••• for it."
    ]


def test_what_looks_like_a_key_and_is_none_of_this_kernel_reaches_the_model(model: Provider) -> None:
    @tool(run="auto")
    def read() -> str:
        """Read a file."""
        return f"the id is {OTHER_KEY}"

    model.say(call("read"), "Read.")
    turn = model.chat(tools=[read]).send("What is the id?")

    assert OTHER_KEY in model.requests[1].text
    assert not turn.notices

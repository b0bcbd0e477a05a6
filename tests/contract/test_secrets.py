"""A key of an endpoint is in no error, log, file or saved output, also if a server or a tool repeats it.

What a tool returns is sent to the model as it is, unless `Privacy` masks it (test_saved_values.py).
"""

from __future__ import annotations

import base64
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
from tests.contract.simulator import KEY, Provider, Refusal, call

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


def test_the_history_is_a_file_that_only_its_user_can_read(home: Path, model: Provider) -> None:
    model.say("Noted.")

    model.chat().send("Remember the number 7.")

    assert (home / "journal.sqlite").stat().st_mode & 0o077 == 0

"""Situations of public reports about secrets in recordings, spans, logs and saved outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat, Progress, tool
from nbtool.plugins import Privacy
from nbtool.testing import ScriptedWire, call
from tests.chaos import DONE, head, serve_each
from tests.security.model import _stream_reply
from tests.security.sinks import Sinks, found_in

pytestmark = pytest.mark.timeout(240)  # the first export of a notebook compiles the grammars of its schema

KEY = "sk-report-4f9a8b7c6d5e4f3a2b1c"
NUMBER = 4938271605493827


def places_after(folder: Path, function: Any, key: str = KEY, **arguments: Any) -> dict[str, str]:
    """Return what stands in every place after a call of a tool, in a chat that uses the key."""
    sinks = Sinks(folder)
    replies = [call(function.__name__, **arguments), "Done."]
    with serve_each(*([head(), *_stream_reply(reply), DONE] for reply in replies)) as server:
        chat = sinks.watch(
            Chat("openai:m", base_url=server.url, api_key=key, wire="chat", tools=[function], plugins=sinks.plugins())
        )
        turn = chat.send("Go.")
    assert turn.status == "completed", turn.error
    return sinks.of(chat, turn)


@pytest.mark.promise("no-secret-told")
def test_a_token_in_the_body_of_a_response_is_not_in_the_recording(tmp_path: Path) -> None:
    """getsentry/seer#1703: the body of a response holds tokens; a cassette is stored with them. Right: it is stored
    without. Before: wrong."""

    @tool(run="auto")
    def fetch() -> Any:
        """Fetch."""
        return {"status": 200, "body": f'{{"access_token": "{KEY}", "expires_in": 3600}}'}

    assert found_in(places_after(tmp_path, fetch), KEY) == []


@pytest.mark.promise("no-secret-told")
def test_a_search_for_the_token_in_all_files_finds_nothing(tmp_path: Path) -> None:
    """vcr/vcr#704: a `grep` for the token finds it in the cassettes of a run. Right: nothing is found. Before:
    right."""

    @tool(run="auto")
    def headers() -> Any:
        """Give the headers of a request."""
        return [("Authorization", f"token {KEY}"), ("host", KEY)]

    places_after(tmp_path, headers)

    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) >= 2
    assert [path.name for path in written if KEY.encode() in path.read_bytes()] == []


@pytest.mark.promise("masked")
def test_a_user_name_that_a_server_echoes_is_masked_in_the_recording(tmp_path: Path) -> None:
    """AnalogJ/lexicon#299: an API echoes the user's name in a header of each response. Right: it is not recorded.
    Before: right."""

    @tool(run="auto")
    def request() -> Any:
        """Send a request."""
        return {"name": "ada@example.org", "X-LW-User": "ada@example.org", "id": {"ada@example.org": 1}}

    path = tmp_path / "turns.nbtool.json"
    chat = Chat(wire=ScriptedWire([call("request"), "Done."]), tools=[request], plugins=[Privacy(["email"])])
    chat.record(path)
    chat.send("Go.")

    assert "__MASK_EMAIL_1__" in path.read_text()
    assert "ada@example.org" not in path.read_text()


@pytest.mark.promise("no-secret-told")
def test_a_token_as_the_name_of_a_member_is_hidden_too(tmp_path: Path) -> None:
    """ScriptedAlchemy/agent-bundle#437: a key of a JSON object is the token itself; only values are redacted. Right: it
    is hidden there too. Before: wrong."""

    @tool(run="auto")
    def keys() -> Any:
        """List the keys."""
        return {KEY: True, "nested": [{KEY: {"active": True}}]}

    assert found_in(places_after(tmp_path, keys), KEY) == []


@pytest.mark.promise("no-secret-told")
def test_a_secret_that_is_a_number_is_hidden_as_a_number_too(tmp_path: Path) -> None:
    """springfall2008/batpred#5053: an id without quotes is a number, and so may a key be; both are told. Right: it is
    hidden as a number too. Before: wrong."""

    @tool(run="auto")
    def system(system_id: int) -> Any:
        """Describe a system."""
        return {NUMBER: {"system": NUMBER}, "ids": [NUMBER], "given": system_id}

    places = places_after(tmp_path, system, key=str(NUMBER), system_id=NUMBER)

    assert found_in(places, str(NUMBER)) == []


@pytest.mark.promise("no-secret-told")
def test_a_dict_in_a_list_in_a_dict_is_searched(tmp_path: Path) -> None:
    """NVIDIA-NeMo/Guardrails#2000: dicts that are items of a list in a dict are passed on as they are. Right: they are
    searched. Before: wrong."""

    @tool(run="auto")
    def messages(rows: list[dict[str, str]]) -> Any:
        """Give messages."""
        return {"messages": [[{"role": "user", "content": KEY}], {"kind": "media", "data": KEY}], "rows": rows}

    assert found_in(places_after(tmp_path, messages, rows=[{"id": KEY}]), KEY) == []


@pytest.mark.promise("no-secret-told")
def test_spans_have_no_key_in_the_input_or_the_output_of_a_tool(tmp_path: Path) -> None:
    """QwenLM/qwen-code#4097: spans with content have a command and its output verbatim. Right: without the key. Before:
    wrong."""

    @tool(run="auto")
    def run(command: str) -> str:
        """Run a command."""
        return f"+ {command}\nAPI_KEY={KEY}"

    places = places_after(tmp_path, run, command=f"API_KEY={KEY} deploy")

    assert "deploy" in places["spans"]
    assert found_in(places, KEY) == []


@pytest.mark.promise("no-secret-told")
def test_the_error_of_a_tool_contains_no_key(tmp_path: Path) -> None:
    """grafana/agento11y#164: arguments and results are redacted, and the message of an error is not. Right: the key is
    hidden there too. Before: wrong."""

    @tool(run="auto")
    def connect() -> str:
        """Connect."""
        raise ConnectionError(f"https://api.example.org/?key={KEY} refused")

    places = places_after(tmp_path, connect)

    assert "ConnectionError" in places["journal"]
    assert found_in(places, KEY) == []


@pytest.mark.promise("no-secret-told")
def test_a_key_that_is_printed_is_not_in_the_saved_output(tmp_path: Path) -> None:
    """run-llama/llama_index#20474: keys were in the outputs of notebooks that were committed. Right: they are not
    there. Before: wrong."""

    @tool(run="auto")
    def configure() -> Any:
        """Configure."""
        yield Progress(f"using {KEY}")
        return f"configured ({KEY})"

    places = places_after(tmp_path, configure)

    assert "configured" in places["saved notebook"]
    assert found_in(places, KEY) == []

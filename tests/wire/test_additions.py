"""What somebody adds, by the steps of docs/adding-models.md: a dialect, a provider; and how many places that takes."""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import nbtool
from nbtool import Chat, tool
from nbtool.errors import ProviderError
from nbtool.wire import decode, find_wire
from nbtool.wire.dialect import DIALECTS, Dialect
from nbtool.wire.endpoints.model_endpoint import make_endpoint
from tests.chaos import Received, Step, serve_by, serve_each, whole

PACKAGE = Path(nbtool.__file__).parent

LINES = Dialect("lines", "Lines", "tests.wire.added_dialect.encoder:Lines", auth="x-lines-key")
"""The row of the added dialect."""

NAMES_OF_OTHERS = {
    "wire/providers/catalog.py",
    "wire/providers/google.py",
    "wire/providers/model_id.py",
    "wire/agents/profiles.py",
}
"""Where such a name is that of a provider, a model or an agent, or belongs to the addresses of a provider."""


@pytest.fixture(autouse=True)
def lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the row, as a line of `nbtool/wire/dialect.py` does."""
    monkeypatch.setitem(DIALECTS, "lines", LINES)


def events(*values: dict[str, Any]) -> list[Step]:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    return [head, b"".join(b"data: %s\n\n" % json.dumps(value).encode() for value in values)]


CALL = {"type": "call", "id": "c1", "name": "double", "arguments": '{"number": 21}'}
END = {"type": "end"}


@tool(run="auto")
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def test_a_dialect_of_a_folder_and_a_row_answers_a_chat_and_calls_its_tools() -> None:
    def respond(request: Received) -> list[Step]:
        turn = request.json["turns"][-1]
        if "results" in turn:
            return events({"type": "say", "text": f"<think>Hm</think>It is {turn['results']['c1']}."}, END)
        return events({"type": "say", "text": "Let me see."}, CALL, {**END, "calls": True})

    with serve_by(respond) as server:
        turn = Chat("large", base_url=server.url, api_key="k", wire="lines", tools=[double]).send("Double 21.")

    assert (turn.text, turn.thinking) == ("It is 42.", "Hm")
    assert [call.result for call in turn.calls] == [42]
    assert {request.path for request in server.requests} == {"/v1/lines"}
    assert server.requests[0].json["tools"][0]["name"] == "double"


def test_an_added_dialect_is_read_in_any_pieces_as_a_document_and_with_its_errors() -> None:
    stream = events({"type": "say", "text": "Hi"}, END)[1]
    assert isinstance(stream, bytes)
    document = json.dumps({"events": [{"type": "say", "text": "Hi"}, END]}).encode()
    broken = events({"type": "say", "text": "Hi"}, {"type": "fault", "error": {"message": "no"}})[1]
    assert isinstance(broken, bytes)

    assert decode("lines", stream).text == decode("lines", document, stream=False).text == "Hi"
    assert not decode("lines", stream[:40]).complete
    with pytest.raises(ProviderError):
        decode("lines", broken)
    assert find_wire("lines").name == "lines"


def test_a_dialect_is_named_in_its_folder_in_its_row_and_beside_addresses() -> None:
    places: defaultdict[str, set[str]] = defaultdict(set)
    names = {name for name, row in DIALECTS.items() if row.is_text} - {"chat", "lines"}
    for file in PACKAGE.rglob("*.py"):
        place = file.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and node.value in names and place.startswith("wire/"):
                places[place].add(node.value)

    elsewhere = {place: found for place, found in places.items() if not place.startswith("wire/dialects/")}
    assert elsewhere.keys() - NAMES_OF_OTHERS == {"wire/dialect.py"}


def test_a_compatible_provider_is_one_table_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    monkeypatch.setenv("LAB_API_KEY", "k-123")
    reply = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}
    with serve_each([whole(200, reply)]) as server:
        table = f'[lab]\nbase_url = "{server.url}"\nkeys = ["LAB_API_KEY"]\ndefault_model = "large"\n'
        (tmp_path / "providers.toml").write_text(table, encoding="utf-8")

        turn = Chat("lab:large").send("Hi")
        endpoint = make_endpoint("lab:large")

    assert turn.text == "Hi"
    assert server.requests[0].headers["authorization"] == "Bearer k-123"
    assert (endpoint.provider, endpoint.dialect) == ("lab", "chat")

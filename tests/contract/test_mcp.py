"""The tools of a server of the Model Context Protocol ask like all others, and one that is malformed hides no other.

A server gets a form only as a person filled it in, its prompts are not sent, and its logins open no page by themselves.
"""

from __future__ import annotations

import json
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved, Denied
from nbtool.errors import McpFailed
from nbtool.testing import ScriptedApprover
from nbtool.tools.mcp import McpServers, mcp_servers
from tests.contract.notebook import Notebook
from tests.contract.simulator import Provider, call
from tests.contract.tools import PAY_CELL, approve, written_cell

FEATURE = "connect MCP servers"
SERVERS = Path(__file__).parent / "servers"


def run_server(name: str) -> Any:
    return mcp_servers({"mcpServers": {name: {"command": sys.executable, "args": [str(SERVERS / f"{name}.py")]}}})


@pytest.fixture(scope="module")
def lab() -> Iterator[McpServers]:
    """Run a server that is made with the protocol's own SDK."""
    with run_server("lab") as servers:
        yield servers


@pytest.fixture(scope="module")
def odd() -> Iterator[McpServers]:
    """Run a server that lists tools that are none."""
    with run_server("odd") as servers:
        yield servers


@pytest.mark.feature(FEATURE)
def test_a_tool_of_a_server_is_called_after_approval(model: Provider, lab: McpServers) -> None:
    model.say(call("lab_add", a=1, b=2), "3.")

    with ScriptedApprover([("lab_add", Approved())]) as person:
        turn = model.chat(tools=[lab], approver=person).send("Add 1 and 2.")

    assert turn.calls[0].status == "ok"
    assert "3" in turn.calls[0].shown
    assert len(person.questions) == 1


@pytest.mark.promise("asks-by-default")
@pytest.mark.feature(FEATURE)
def test_the_word_of_a_server_that_a_tool_only_reads_approves_nothing(model: Provider, lab: McpServers) -> None:
    model.say(call("lab_add", a=1, b=2), "I may not.")

    turn = model.chat(tools=[lab]).send("Add 1 and 2.")

    assert turn.calls[0].status == "denied"


@pytest.mark.feature(FEATURE)
def test_a_failure_of_a_server_is_reported_to_the_model(model: Provider, lab: McpServers) -> None:
    model.say(call("lab_fail"), "It failed.")

    turn = model.chat(tools=[lab], approver=approve).send("Try it.")

    assert (turn.status, turn.calls[0].status) == ("completed", "error")
    assert "no such luck" in model.requests[1].text


@pytest.mark.feature(FEATURE)
def test_one_tool_of_a_server_can_be_taken_in_a_cell(notebook: Notebook, model: Provider, lab: McpServers) -> None:
    notebook.names["servers"] = lab
    model.say("Fine.")

    notebook.ask("Hello?", "-t lab.add")

    assert [name for name in model.requests[0].tools if name.startswith("lab_")] == ["lab_add"]


def test_a_server_gets_no_variable_of_the_environment_that_its_configuration_does_not_name(
    model: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user")
    model.say(call("lab_environment"), "Fine.")

    with run_server("lab") as servers:
        turn = model.chat(tools=[servers], approver=approve).send("List it.")

    assert "PATH" in turn.calls[0].shown
    assert "OPENAI_API_KEY" not in turn.calls[0].shown


def test_a_server_that_cannot_be_started_is_an_error_that_names_it() -> None:
    with pytest.raises(McpFailed, match="gone"):
        mcp_servers({"mcpServers": {"gone": {"command": sys.executable, "args": ["-c", "raise SystemExit(3)"]}}})


@pytest.mark.promise("forms")
@pytest.mark.parametrize(
    ("decision", "reported"), [(Approved({"city": "Oslo"}), "Oslo"), (Denied(), "decline"), (None, "decline")], ids=repr
)
def test_what_a_server_asks_for_is_sent_only_if_somebody_fills_it_in(
    model: Provider, lab: McpServers, decision: Any, reported: str
) -> None:
    def decide(question: Any) -> Any:
        return decision if question.is_form else Approved()

    model.say(call("lab_travel"), "Fine.")

    turn = model.chat(tools=[lab], approver=decide).send("Travel.")

    assert reported in turn.calls[0].shown, turn.calls[0]
    assert ("Oslo" in model.everything) is (reported == "Oslo")


@pytest.mark.promise("forms")
def test_approving_everything_in_a_cell_fills_in_no_form(notebook: Notebook, model: Provider, lab: McpServers) -> None:
    notebook.names["servers"] = lab
    model.say(call("lab_travel"), "Fine.")

    turn = notebook.ask("Travel.", "-t servers --approve auto")

    assert "accept" not in turn.calls[0].shown


@pytest.mark.promise("one-tool")
def test_a_malformed_tool_of_a_server_is_left_out_and_named_and_hides_no_other(
    model: Provider, odd: McpServers
) -> None:
    model.say(call("odd_good"), "Good.")

    turn = model.chat(tools=[odd], approver=approve).send("Use it.")

    assert turn.calls[0].status == "ok"
    assert "good result" in turn.calls[0].shown
    assert "odd_no_schema" not in model.requests[0].tools
    assert any("no_schema" in notice for notice in map(str, odd["odd"].notices))


@pytest.mark.promise("one-tool")
def test_two_tools_whose_names_are_the_same_for_a_model_are_both_offered(model: Provider, odd: McpServers) -> None:
    model.say("Fine.")

    model.chat(tools=[odd]).send("Hello?")

    names = [name for name in model.requests[0].tools if name.startswith("odd_get")]
    assert len(names) == len(set(names)) == 2


def write_prompt(notebook: Notebook) -> str:
    """Let a prompt of a server be written into a cell, and give the cell."""
    output = notebook.run('%chat prompt lab.review code="x = 1"')
    return written_cell(notebook, output)


@pytest.mark.promise("prompts")
@pytest.mark.feature(FEATURE)
def test_a_prompt_of_a_server_is_written_into_a_cell_and_not_sent(
    notebook: Notebook, model: Provider, lab: McpServers
) -> None:
    notebook.names.update(servers=lab, salaries=["Zanzibar"])
    notebook.run(PAY_CELL)
    model.say("Fine.", "Fine.")
    notebook.ask("Hello?", "-t servers")
    sent = len(model.requests)

    cell = write_prompt(notebook)

    assert "x = 1" in cell
    assert len(model.requests) == sent


@pytest.mark.promise("prompts")
def test_a_prompt_of_a_server_mentions_no_variable_and_no_tool(
    notebook: Notebook, model: Provider, lab: McpServers
) -> None:
    notebook.names.update(servers=lab, salaries=["Zanzibar"])
    model.say("Fine.", "Fine.")
    notebook.ask("Hello?", "-t servers")
    cell = write_prompt(notebook)

    notebook.run("%%chat" + cell.split("%%chat", 1)[1])

    assert "x = 1" in model.requests[1].text
    assert "1 item" not in model.requests[1].text
    assert "salaries" not in model.requests[1].tools
    assert notebook.run("%chat tools").text.count("salaries") == 0


# --- logins ---------------------------------------------------------------------------------------------------


class LoginServer:
    """Requires a login, and says where."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.port = 0

    def answer(self, path: str) -> tuple[int, dict[str, str], Any]:
        self.asked.append(path)
        base = f"http://127.0.0.1:{self.port}"
        if "oauth-protected-resource" in path:
            return 200, {}, {"resource": f"{base}/mcp", "authorization_servers": [base]}
        if "oauth-authorization-server" in path or "openid-configuration" in path:
            endpoints = {name: f"{base}/{name}" for name in ("authorize", "token", "register")}
            return 200, {}, {
                "issuer": base, **{f"{name}_endpoint": url for name, url in endpoints.items() if name != "register"},
                "registration_endpoint": endpoints["register"], "authorization_endpoint": endpoints["authorize"],
                "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
                "grant_types_supported": ["authorization_code"], "token_endpoint_auth_methods_supported": ["none"],
            }  # fmt: skip
        if path == "/register":
            return 201, {}, {"client_id": "nbtool", "redirect_uris": ["http://127.0.0.1:1/callback"]}
        if path.startswith("/mcp"):
            where = f'Bearer resource_metadata="{base}/.well-known/oauth-protected-resource/mcp"'
            return 401, {"WWW-Authenticate": where}, {"error": "login"}
        return 404, {}, {"error": "nothing"}


@contextmanager
def login_server() -> Iterator[LoginServer]:
    about = LoginServer()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Log nothing."""

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, headers, body = about.answer(self.path)
            content = json.dumps(body).encode()
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815 - so http.server calls it

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    about.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield about
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.promise("logins")
def test_no_page_of_a_login_is_opened_where_nobody_can_be_asked(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url, *_, **__: opened.append(url))

    with login_server() as server, pytest.raises(McpFailed):
        mcp_servers({"mcpServers": {"desk": {"url": f"http://127.0.0.1:{server.port}/mcp", "auth": "oauth"}}})

    assert opened == []
    assert not any(path.startswith(("/authorize", "/token")) for path in server.asked)
    assert not any("access_token" in path.read_text(errors="replace") for path in home.rglob("*") if path.is_file())


@pytest.mark.promise("logins")
def test_a_person_sees_where_a_login_leads_before_anything_is_opened(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[str] = []
    seen: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url, *_, **__: opened.append(url))

    def ask(request: Any, *_: Any) -> bool:
        seen.append(str(request))
        assert opened == []
        return False

    with login_server() as server, pytest.raises(McpFailed):
        mcp_servers(
            {"mcpServers": {"desk": {"url": f"http://127.0.0.1:{server.port}/mcp", "auth": "oauth"}}}, ask_login=ask
        )

    assert f"127.0.0.1:{server.port}" in seen[0]
    assert opened == []

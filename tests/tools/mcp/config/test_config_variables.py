"""`${VAR}` in a configuration: from the environment, with a default, named where it is missing, never shown."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from nbtool import Approved
from nbtool.errors import BadUsage, McpFailed
from nbtool.tools.mcp import mcp_servers
from nbtool.tools.mcp.config import read_config
from nbtool.tools.mcp.connection.http_transport import public_url
from tests.chaos import serve, whole
from tests.tools.calling import ask_for, make_harness
from tests.tools.mcp.serving import HttpServer, http_server
from tests.tools.mcp.test_servers import hostile

SECRET = "s3cr3t-t0ken"
KEYS = {
    "command": ({"command": "${IT}"}, lambda spec: spec.command),
    "args": ({"command": "x", "args": ["${IT}"]}, lambda spec: spec.args[0]),
    "cwd": ({"command": "x", "cwd": "${IT}"}, lambda spec: spec.folder),
    "env.A": ({"command": "x", "env": {"A": "${IT}"}}, lambda spec: spec.env["A"].get_secret_value()),
    "headers.A": ({"url": "http://127.0.0.1/", "headers": {"A": "${IT}"}},
                  lambda spec: spec.headers["A"].get_secret_value()),
    "url": ({"url": "http://127.0.0.1/${IT}"}, lambda spec: spec.url.rpartition("/")[2]),
}  # fmt: skip


@pytest.fixture
def web() -> Iterator[HttpServer]:
    with http_server() as server:
        yield server


def server_config(entry: dict[str, Any], text: str) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(json.dumps(entry).replace("${IT}", text))
    return {"mcpServers": {"it": whole}}


@pytest.mark.parametrize("key", KEYS)
def test_a_variable_is_expanded_wherever_a_text_is(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entry, read = KEYS[key]
    monkeypatch.setenv("IT_KEY", SECRET)
    monkeypatch.delenv("OTHER", raising=False)
    monkeypatch.setenv("EMPTY", "")
    values = [
        read(read_config(server_config(entry, text))[0])
        for text in ("${IT_KEY}", "a${IT_KEY}b", "${OTHER:-plain}", "${EMPTY:-plain}", "${IT_KEY:-plain}")
    ]

    assert values == [SECRET, f"a{SECRET}b", "plain", "plain", SECRET]
    assert SECRET not in repr(read_config(server_config(entry, "${IT_KEY}")))


@pytest.mark.parametrize("key", KEYS)
def test_a_variable_that_is_not_set_is_one_line_that_names_it(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IT_KEY", raising=False)
    with pytest.raises(BadUsage) as raised:
        read_config(server_config(KEYS[key][0], "${IT_KEY}"))

    assert all(f" {part} " in raised.value.message.replace(",", " ") for part in (key, "IT_KEY"))
    assert 'os.environ["IT_KEY"]' in raised.value.fix
    assert "\n" not in str(raised.value)


def test_another_value_of_a_variable_is_not_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    specs = []
    for value in ("one", "two"):
        monkeypatch.setenv("IT_KEY", value)
        specs += read_config(server_config(KEYS["args"][0], "${IT_KEY}"))

    assert specs[0].args != specs[1].args
    assert specs[0].identity == specs[1].identity
    assert specs[0].identity != read_config(server_config(KEYS["args"][0], "else"))[0].identity


def test_a_header_that_no_header_can_hold_is_refused_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IT_KEY", f"{SECRET}\r\nHost: evil")
    with pytest.raises(BadUsage, match="the header 'A' has invalid characters") as raised:
        read_config(server_config(KEYS["headers.A"][0], "${IT_KEY}"))

    assert SECRET not in str(raised.value)


def test_a_key_reaches_its_server_and_no_error_and_no_log(
    web: HttpServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("IT_KEY", SECRET)
    url = f"{web.url}/${{IT_KEY}}?key=${{IT_KEY}}"
    entry = {"url": url, "headers": {"Authorization": "Bearer ${IT_KEY}"}}
    with mcp_servers({"mcpServers": {"it": entry}}) as servers:
        harness = make_harness(servers, approver=lambda _: Approved())
        assert harness.run(ask_for("it_say")).status == "ok"
        web.fails, web.fails_at = "401", "tools/call"
        refused = harness.run(ask_for("it_say"))
        texts = [refused.shown, repr(servers), repr(vars(servers["it"])), *servers["it"].notices]

    assert {headers["authorization"] for headers in web.headers if "mcp-session-id" in headers} == {f"Bearer {SECRET}"}
    assert f"/mcp/{SECRET}?key={SECRET}" in web.paths
    assert "Authorization" in refused.shown
    assert "IT_KEY" in refused.shown
    assert [text for text in texts if SECRET in text] == []
    own = [record.getMessage() for record in caplog.records if not record.name.startswith("uvicorn")]
    assert [line for line in own if SECRET in line] == []


def test_the_address_in_logs_has_no_query_and_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IT_KEY", SECRET)
    (spec,) = read_config({"mcpServers": {"it": {"url": "http://127.0.0.1:9/a/${IT_KEY}/mcp?k=1"}}})

    assert public_url(spec) == "http://127.0.0.1:9/a/IT_KEY/mcp"


def test_what_a_server_writes_about_its_key_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IT_KEY", SECRET)
    server = {"command": "sh", "args": ["-c", "echo no such key: $KEY >&2"], "env": {"KEY": "${IT_KEY}"}}
    with pytest.raises(McpFailed) as raised:
        mcp_servers({"mcpServers": {"it": server}})

    assert raised.value.fix.endswith(" key: ${IT_KEY}")
    assert SECRET not in str(raised.value)


@pytest.mark.promise("no-secret-told")
@pytest.mark.parametrize(
    "access",
    [
        {"headers": {"Authorization": f"Bearer {SECRET}"}},
        {"headers": {"Authorization": f"token {SECRET}"}},
        {"headers": {"X-Api-Key": SECRET}},
        {"url": f"?key={SECRET}"},
    ],
)
def test_a_key_that_a_server_repeats_without_what_precedes_it_is_not_shown(access: dict[str, Any]) -> None:
    with serve(whole(401, {"error": f"no such key: {SECRET}"})) as server:
        entry = {**access, "url": f"{server.url}{access.get('url', '')}"}
        with pytest.raises(McpFailed) as raised:
            mcp_servers({"mcpServers": {"it": entry}}, connect_seconds=10)

    assert "401 Unauthorized: " in str(raised.value)
    assert " key: ***." in str(raised.value)
    assert SECRET not in f"{raised.value!r} {raised.value.fix}"


@pytest.mark.parametrize(
    ("headers", "place"),
    [
        ({}, '"headers": {"Authorization": "Bearer ${MCP_TOKEN}"}'),
        ({"X-Api-Key": "abc"}, "X-Api-Key"),
        ({"Authorization": "${IT_KEY:-abcdef}"}, "IT_KEY"),
    ],
)
def test_a_server_that_wants_a_key_says_where_to_set_it(web: HttpServer, headers: dict[str, str], place: str) -> None:
    web.always = "401"
    with pytest.raises(McpFailed) as raised:
        mcp_servers({"mcpServers": {"it": {"url": web.url, "headers": headers}}}, connect_seconds=10)

    assert "401 Unauthorized" in raised.value.message
    assert place in raised.value.fix


@pytest.mark.parametrize("status", ["404", "405", "400"])
def test_an_address_of_the_old_transport_is_named_as_such(web: HttpServer, status: str) -> None:
    web.always, web.speaks_sse = status, True
    with pytest.raises(McpFailed, match=r"uses the old HTTP\+SSE transport") as raised:
        mcp_servers({"mcpServers": {"it": {"url": web.url}}}, connect_seconds=10)

    assert "streamable HTTP address" in raised.value.fix
    assert "mcp-remote" in raised.value.fix


def test_an_address_whose_streams_break_off_is_not_taken_for_the_old_transport(web: HttpServer) -> None:
    web.always, web.breaks_streams = "404", True
    with pytest.raises(McpFailed, match="answered 404 Not Found"):
        mcp_servers({"mcpServers": {"it": {"url": web.url}}}, connect_seconds=10)


@pytest.mark.parametrize(
    ("always", "says"),
    [
        ("404", "answered 404 Not Found: not now. Check the path of its url"),
        ("500", "answered 500 Internal Server Error: not now. Try again later"),
        ("html", "answered with text/html, not with MCP. Check the path of its url."),
    ],
)
def test_an_address_that_is_no_mcp_server_says_its_status_and_a_remedy(web: HttpServer, always: str, says: str) -> None:
    web.always = always
    with pytest.raises(McpFailed) as raised:
        mcp_servers({"mcpServers": {"it": {"url": web.url}}}, connect_seconds=10)

    assert says in str(raised.value)


def test_a_server_of_the_notebook_without_variables_is_as_before() -> None:
    arguments = ("$HOME", "${not a name}")
    (spec,) = read_config({"mcpServers": {"it": hostile("a", *arguments)}})

    assert spec.args[-2:] == arguments

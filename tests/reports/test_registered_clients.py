"""Situations of public reports about OAuth clients that were registered by hand for an MCP server, as they are here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.tools.mcp.connection.test_oauth import Person, double
from tests.tools.mcp.connection.test_registered_client import SECRET, free_uri, log_in
from tests.tools.mcp.login_server import ProtectedServer, protected_server


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProtectedServer]:
    monkeypatch.setenv("LAB_SECRET", SECRET)
    with protected_server() as server:
        server.authorization.registers = False
        server.authorization.secrets["desk"] = SECRET
        yield server


def test_a_client_of_the_entry_is_not_registered_once_more(lab: ProtectedServer) -> None:
    """anthropics/claude-code#67258, 1mcp-app/agent#377: clientId was ignored. Right: it is used. Before: wrong."""
    with log_in(lab, Person(), free_uri()) as servers:
        assert double(servers).status == "ok"

    assert "register" not in lab.authorization.paths


def test_the_browser_comes_back_to_the_very_address_that_is_registered(lab: ProtectedServer) -> None:
    """vercel-labs/fx#491, smart-mcp-proxy/mcpproxy-go#1066: the port changed. Right: as registered. Before: wrong."""
    uri = free_uri("localhost")
    for _ in range(2):
        with log_in(lab, Person(), uri) as servers:
            assert double(servers).status == "ok"
            servers["lab"].logout()

    assert [form["redirect_uri"] for form in lab.authorization.received] == [uri, uri]


def test_a_secret_is_shown_as_the_authorization_server_wants_it(lab: ProtectedServer) -> None:
    """vstorm-co/agenticos#1620: a secret was always in the form. Right: as the server says. Before: wrong."""
    with log_in(lab, Person(), free_uri()) as servers:
        assert double(servers).status == "ok"

    assert lab.authorization.headers[0]["authorization"].startswith("Basic ")
    assert "client_secret" not in lab.authorization.received[0]

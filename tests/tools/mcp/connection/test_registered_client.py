"""A client that was registered by hand: it is used as it is, and its secret goes to the token endpoint only."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from nbtool.errors import BadUsage, McpFailed
from nbtool.tools.mcp import McpServers
from nbtool.tools.mcp.config import read_config
from nbtool.tools.mcp.connection.token_store import TokenStore
from tests.tools.mcp.connection.test_oauth import Person, connect, double
from tests.tools.mcp.login_server import ProtectedServer, protected_server

SECRET = "s3cret/of:the-client"
URI = "http://127.0.0.1:3118/callback"


def free_uri(host: str = "127.0.0.1") -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://{host}:{probe.getsockname()[1]}/oauth/callback"


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProtectedServer]:
    monkeypatch.setenv("LAB_SECRET", SECRET)
    with protected_server() as server:
        server.authorization.registers = False
        server.authorization.secrets["desk"] = SECRET
        yield server


def log_in(lab: ProtectedServer, person: Person, uri: str, **changes: Any) -> McpServers:
    lab.authorization.clients.setdefault("desk", [uri])
    client = {
        "clientId": "desk", "clientSecret": "${LAB_SECRET}", "redirectUri": uri, "issuer": lab.authorization.url,
        **changes,
    }  # fmt: skip
    return connect(lab, person, oauth={key: value for key, value in client.items() if value is not None})


@pytest.mark.promise("logins")
@pytest.mark.parametrize("methods", [[], ["client_secret_post"], ["private_key_jwt", "client_secret_basic"]])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_client_of_the_entry_logs_in_and_renews_its_tokens(
    lab: ProtectedServer, caplog: pytest.LogCaptureFixture, methods: list[str], host: str
) -> None:
    caplog.set_level(logging.DEBUG)
    lab.authorization.methods, uri, person = methods, free_uri(host), Person()
    with log_in(lab, person, uri) as servers:
        assert double(servers).result == 8
    path = TokenStore(lab.url).path
    path.write_text(json.dumps({**json.loads(path.read_text()), "expires": 1}))
    lab.authorization.tokens.clear()
    nobody = Person(agrees=False)
    with log_in(lab, nobody, uri) as servers:
        assert double(servers).status == "ok"

    grants = [(form["grant_type"], form["client_id"]) for form in lab.authorization.received]
    assert grants == [("authorization_code", "desk"), ("refresh_token", "desk")]
    assert "register" not in lab.authorization.paths
    assert nobody.asked == []
    for text in (path.read_text(), person.asked[0].url, caplog.text, repr(servers["lab"]._spec)):
        assert SECRET not in text


@pytest.mark.promise("logins")
def test_a_secret_is_not_sent_to_another_authorization_server_that_the_server_names(lab: ProtectedServer) -> None:
    with protected_server() as other:
        lab.authorization.clients["desk"] = [URI]
        person, elsewhere = Person(), other.authorization
        with pytest.raises(McpFailed, match=f"not at {elsewhere.url}, where the client of its entry is registered"):
            log_in(lab, person, free_uri(), issuer=elsewhere.url)

    assert person.asked == []
    assert (lab.authorization.received, elsewhere.received) == ([], [])
    assert "register" not in lab.authorization.paths


@pytest.mark.promise("logins")
def test_a_secret_is_not_sent_to_the_server_itself_where_its_issuer_has_no_description(lab: ProtectedServer) -> None:
    lab.authorization.is_described = False
    with pytest.raises(McpFailed, match="needs a login"):
        log_in(lab, Person(), free_uri())

    assert lab.authorization.received == []
    assert "register" not in lab.authorization.paths


def test_a_server_that_wants_another_proof_than_a_secret_is_named_before_anybody_is_asked(lab: ProtectedServer) -> None:
    lab.authorization.methods, person = ["private_key_jwt"], Person()
    with pytest.raises(McpFailed, match="takes no secret of a client in a way that is known here"):
        log_in(lab, person, free_uri())

    assert person.asked == []


def test_a_client_without_a_secret_needs_no_issuer(lab: ProtectedServer) -> None:
    del lab.authorization.secrets["desk"]
    with log_in(lab, Person(), free_uri(), clientSecret=None, issuer=None) as servers:
        assert double(servers).result == 8

    assert lab.authorization.received[0]["client_id"] == "desk"


CLIENT = {"clientId": "desk", "redirectUri": URI}


@pytest.mark.parametrize(
    ("client", "words"),
    [
        ({"clientSecret": "${LAB_SECRET}"}, "has no clientId"),
        ({**CLIENT, "clientSecret": SECRET, "issuer": "https://login.example"}, "clientSecret is written out"),
        ({**CLIENT, "clientSecret": "${LAB_SECRET}"}, "does not say who may get it"),
        ({**CLIENT, "clientSecret": "${NOT_SET}", "issuer": "https://login.example"}, "NOT_SET, which is not set"),
        ({**CLIENT, "issuer": "http://login.example"}, "over plain HTTP to login.example"),
        ({**CLIENT, "issuer": "login"}, r"oauth\.issuer"),
        ({"clientId": 3}, "clientId must be a string"),
        ({"clientId": "desk"}, "does not say where the browser comes back to"),
        ({"clientId": "desk", "callbackPort": "x"}, "must be an address of this machine"),
        ({"clientId": "desk", "redirectUri": "https://127.0.0.1:3118/callback"}, "must be an address of this machine"),
        (
            {"clientId": "desk", "redirectUri": "http://evil.example:3118/callback"},
            "must be an address of this machine",
        ),
        ({"clientId": "desk", "redirectUri": "http://127.0.0.1/callback"}, "must be an address of this machine"),
        ({"clientId": "desk", "redirectUri": "http://127.0.0.1:99999/callback"}, "must be an address of this machine"),
    ],
)
def test_an_incomplete_client_is_refused(monkeypatch: pytest.MonkeyPatch, client: dict[str, Any], words: str) -> None:
    monkeypatch.setenv("LAB_SECRET", SECRET)
    with pytest.raises(BadUsage, match=words) as found:
        read_config({"mcpServers": {"lab": {"url": "https://lab.example/mcp", "oauth": client}}})

    assert SECRET not in str(found.value)


def test_a_port_as_other_programs_name_it_is_the_address_that_they_register() -> None:
    entry = {"url": "https://lab.example/mcp", "oauth": {"clientId": "desk", "callbackPort": 3118}}
    (spec,) = read_config({"mcpServers": {"lab": entry}})

    assert spec.client
    assert (spec.uses_oauth, spec.client.redirect_uri) == (True, "http://localhost:3118/callback")

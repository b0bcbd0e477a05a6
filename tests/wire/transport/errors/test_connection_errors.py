from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import gaierror

import pytest

from nbtool import Chat
from nbtool.errors import ConnectionFailed
from nbtool.wire.transport.errors.connection_errors import connect_error, disconnect_error, proxy_for
from tests.company import Authority

FAR = "https://models.example.org/v1"


@pytest.fixture(autouse=True)
def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize(
    ("variables", "found"),
    [
        ({}, ("", "")),
        ({"http_proxy": "http://a:1"}, ("", "")),
        ({"https_proxy": "http://name:word@a:1"}, ("HTTPS_PROXY", "a:1")),
        ({"https_proxy": "a"}, ("HTTPS_PROXY", "a")),
        ({"all_proxy": "socks5://b:2"}, ("ALL_PROXY", "b:2")),
        ({"all_proxy": "socks5://b:2", "https_proxy": "http://a:1"}, ("HTTPS_PROXY", "a:1")),
        ({"https_proxy": "http://a:1", "no_proxy": "example.org"}, ("", "")),
        ({"https_proxy": "http://name:word@[a"}, ("HTTPS_PROXY", "with an invalid address")),
        ({"https_proxy": "http://a:99999"}, ("HTTPS_PROXY", "with an invalid address")),
    ],
)
def test_the_proxy_on_the_way_is_named_without_its_password(
    variables: dict[str, str], found: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert proxy_for(FAR) == found


@pytest.mark.parametrize(
    "here", ["http://127.0.0.1:8000", "http://localhost:8000", "http://a.localhost", "http://[::1]/"]
)
def test_this_machine_is_reached_past_every_proxy(here: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://a:1")

    assert proxy_for(here) == ("", "")


def test_a_name_that_is_not_known_asks_for_the_address_or_a_proxy() -> None:
    error, may_help = connect_error(OSError("no").with_traceback(None), "lab", FAR)
    wrapped = OSError("outer")
    wrapped.__cause__ = ExceptionGroup("all", [gaierror(-2, "unknown")])
    unknown, _ = connect_error(wrapped, "lab", FAR)

    assert may_help
    assert str(error).startswith("lab cannot be reached (no).")
    assert "its name cannot be resolved" in str(unknown)
    assert unknown.fix == "Check the address and the network; if a proxy is required, set HTTPS_PROXY."


@pytest.mark.parametrize(
    ("code", "said", "fix"),
    [
        (10, "abgelaufen", "Check this machine's clock"),
        (9, "noch nicht gültig", "Check this machine's clock"),
        (62, "anderer Name", "Use the address that the certificate is for."),
        (64, "andere Adresse", "Use the address that the certificate is for."),
        (18, "expired? no: self-signed certificate", "SSL_CERT_FILE"),
        (0, "", "SSL_CERT_FILE"),
    ],
)
def test_a_refused_certificate_says_what_to_do_whatever_openssl_calls_it(code: int, said: str, fix: str) -> None:
    refused = ssl.SSLCertVerificationError(1, "no")
    refused.verify_code, refused.verify_message = code, said
    error, may_help = connect_error(refused, "lab", FAR)

    assert not may_help
    assert fix in error.fix
    assert f"The certificate of lab was refused ({said or 'not trusted'})." in str(error)


def test_a_connection_that_broke_is_reported_by_its_reason_or_its_kind() -> None:
    circle = OSError()
    circle.__cause__ = OSError("inner")
    circle.__cause__.__cause__ = circle

    assert str(disconnect_error(OSError("reset"), "lab")).startswith("The connection to lab broke (reset).")
    assert str(disconnect_error(circle, "lab")).startswith("The connection to lab broke (OSError).")


@pytest.mark.parametrize(
    ("reason", "is_named"),
    [
        ("SSLV3_ALERT_BAD_CERTIFICATE", True),
        ("TLSV1_ALERT_UNKNOWN_CA", True),
        ("TLSV13_ALERT_CERTIFICATE_REQUIRED", True),
        ("TLSV1_ALERT_INTERNAL_ERROR", False),
    ],
)
def test_a_handshake_that_ends_for_a_client_certificate_names_the_setting(reason: str, is_named: bool) -> None:
    ended = ssl.SSLError(1, "no")
    ended.reason = reason
    error, may_help = connect_error(ended, "lab", FAR)

    assert ("`client_certificate`" in error.fix) is is_named
    assert may_help is not is_named


def test_the_alert_of_a_server_that_requires_a_client_certificate_is_a_wire_error(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with server_that_sends_its_alert(authority.server(asks_for_certificate=True)) as url:
        turn = Chat("m", base_url=url, verify=authority.file).send("Hi")

    assert isinstance(turn.error, ConnectionFailed)
    assert "requires a client certificate, or refused this one" in str(turn.error)


@contextmanager
def server_that_sends_its_alert(context: ssl.SSLContext) -> Iterator[str]:
    """Serve one connection, and keep it until the client has read the alert; asyncio's server may end it before."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            connection, _ = listener.accept()
            with connection.dup() as raw:
                with suppress(ssl.SSLError):
                    context.wrap_socket(connection, server_side=True)
                raw.shutdown(socket.SHUT_WR)
                while raw.recv(65536):
                    pass

        thread = threading.Thread(target=refuse)
        thread.start()
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()

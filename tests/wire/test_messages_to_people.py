"""What a person reads when a server says no, or none is there: one line that names the mend, and never a key."""

from __future__ import annotations

import asyncio
import socket
import ssl
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from nbtool import practice
from nbtool.errors import (
    AuthenticationFailed,
    ConnectionFailed,
    ContextTooLong,
    MissingKey,
    ModelNotFound,
    NbtoolError,
    RateLimited,
    SettingsError,
    TimedOut,
)
from nbtool.messages import Media, Message, Text, ToolCall, ToolResult, user
from nbtool.practice.server import PracticeServer
from nbtool.wire import Prompt
from nbtool.wire.base import ToolSpec
from nbtool.wire.endpoints.model_endpoint import make_endpoint
from nbtool.wire.providers.env_file import find_env_file
from nbtool.wire.transport import http_exchange as attempt_module
from nbtool.wire.transport.errors.error_hints import MAX_NAMED, context_hint, suggest_models
from nbtool.wire.transport.models.model_list import fetch_model_list
from nbtool.wire.transport.retry import RetryPolicy, Timeouts
from nbtool.wire.transport.tls import tls_context
from tests.chaos import serve, serve_each, whole
from tests.wire.process_state import close_clients

KEY = "sk-canary-0123456789abcdef"
HI = Prompt((user("Hi"),))
FAR = "https://models.example.org/v1"


def error_of(base_url: str | None = None, model: str = "openai:gpt-x", prompt: Prompt = HI) -> NbtoolError:
    """Ask once, and give the error that comes of it; it is one line and holds no key."""

    async def listen() -> None:
        try:
            asked = make_endpoint(model, base_url=base_url, api_key=KEY if base_url else None)
            async for _ in replace(asked, retries=RetryPolicy(2, min_delay=0.01)).stream(prompt):
                pass
        finally:
            await close_clients()

    with pytest.raises(NbtoolError) as caught:
        asyncio.run(listen())
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)
    return caught.value


def refusal(status: int, message: str, code: str = "", **headers: str) -> bytes:
    return whole(status, {"error": {"message": message, "code": code}}, **headers)


# --- keys -----------------------------------------------------------------------------------------------------


def test_a_missing_key_is_named_with_where_it_was_looked_for_and_how_to_set_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    find_env_file.cache_clear()

    error = error_of()

    assert isinstance(error, MissingKey)
    assert "OPENAI_API_KEY is set neither in the environment nor in a .env file" in str(error)
    assert "getpass.getpass()" in str(error)
    assert "Do not write it into a cell" in str(error)
    find_env_file.cache_clear()


def test_a_refused_key_is_named_by_where_it_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(refusal(401, f"Incorrect API key provided: {KEY}")) as server:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)

        error = error_of()

    assert isinstance(error, AuthenticationFailed)
    assert error.fix == "Check the key (OPENAI_API_KEY)."


# --- models ---------------------------------------------------------------------------------------------------


def test_an_unknown_model_is_answered_with_those_that_the_server_offers() -> None:
    listed = whole(200, {"data": [{"id": name} for name in ("tiny", "gpt-y", "large")]})
    with serve_each([refusal(404, "no such model", "model_not_found")], [listed]) as server:
        error = error_of(server.url)

    assert isinstance(error, ModelNotFound)
    assert str(error).endswith("no such model. Available: openai:gpt-y, openai:large, openai:tiny.")
    assert [request.path for request in server.requests] == ["/v1/chat/completions", "/v1/models"]


def test_a_server_that_lists_no_models_leaves_the_error_as_it_was() -> None:
    with serve(refusal(404, "no such model", "model_not_found")) as server:
        error = error_of(server.url)

    assert error.fix == "`%chat models` lists the models that this provider offers."


def test_of_many_models_the_nearest_are_named_and_the_others_counted() -> None:
    said = suggest_models([f"m{number}" for number in range(50)] + ["gpt-5-mini"], "gpt5-mini", "lab")

    assert said.startswith("Available: lab:gpt-5-mini, ")
    assert said.count("lab:") == MAX_NAMED
    assert "and 45 more (see `%chat models`)" in said


# --- too much, too often --------------------------------------------------------------------------------------


def test_a_conversation_that_is_too_long_names_its_largest_parts() -> None:
    result = Message("tool", (ToolResult("dump", "x" * 200_000),))
    said = Message("user", (Text("What is in it?"), Media("image/png", b"y" * 50_000)))
    tools = (ToolSpec("dump", "d" * 3000, {"type": "object"}),)
    with serve(refusal(400, "too much", "context_length_exceeded")) as server:
        error = error_of(server.url, prompt=Prompt((user("Dump it."), result, said), tools=tools))

    assert isinstance(error, ContextTooLong)
    assert "the result of `dump` (200 kB), the attached image/png (50 kB), 1 tool (3,0" in error.fix
    assert "chat.hide(TURN)" in error.fix


def test_at_most_so_many_parts_are_named() -> None:
    many = tuple(Message("tool", (ToolResult(f"t{number}", "x" * (number + 1)),)) for number in range(40))

    assert context_hint(Prompt(many)).count("the result of") == MAX_NAMED


def test_a_rate_limit_says_when_to_come_again() -> None:
    with serve(refusal(429, "Rate limit reached", **{"retry-after": "3700"})) as server:
        error = error_of(server.url)

    assert isinstance(error, RateLimited)
    assert "answered 429: Rate limit reached. Try again in 62 minutes, at " in str(error)


def test_an_empty_account_is_not_retried_later() -> None:
    with serve(refusal(429, "You exceeded your quota", "insufficient_quota")) as server:
        error = error_of(server.url)

    assert "billing" in error.fix
    assert len(server.requests) == 1


# --- addresses, certificates, proxies -------------------------------------------------------------------------


def test_an_address_where_nothing_answers_is_to_be_checked() -> None:
    with serve(whole(404, b"<html><title>Not here</title></html>", "text/html")) as server:
        error = error_of(server.url)

    assert "answered 404: Not here. Unknown path: check the address (most end in /v1)" in str(error)


def test_a_server_that_does_not_run_is_to_be_started() -> None:
    error = error_of("http://127.0.0.1:1/v1")

    assert str(error).endswith(
        "(127.0.0.1:1) cannot be reached (nothing listens there). Start the server, or choose another model."
    )


def test_a_certificate_that_is_not_trusted_is_reported_once_with_the_variable(tmp_path: Path) -> None:
    with tls(tmp_path, "127.0.0.1") as (port, tried):
        error = error_of(f"https://127.0.0.1:{port}/v1")

    assert isinstance(error, ConnectionFailed)
    assert f"The certificate of openai (127.0.0.1:{port}) was refused (self-signed certificate)." in str(error)
    assert "SSL_CERT_FILE" in error.fix
    assert len(tried) == 1


def test_a_certificate_for_another_name_asks_for_that_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tls(tmp_path, "elsewhere.example") as (port, _):
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", "")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
        monkeypatch.setattr(
            "nbtool.wire.transport.client_pool.is_loopback", lambda _: False
        )  # loopback ignores the environment
        monkeypatch.setenv("NO_PROXY", "*")
        error = error_of(f"https://127.0.0.1:{port}/v1")

    assert error.fix == "Use the address that the certificate is for."


def test_a_server_that_speaks_no_tls_is_distinguished() -> None:
    error = error_of(practice.start().base_url.replace("http:", "https:"))

    assert "does not use https on this port. Check the port, or use http://." in str(error)


@pytest.mark.parametrize(
    ("status", "fix"), [(407, "HTTPS_PROXY=http://NAME:PASSWORD@"), (403, "NO_PROXY=models.example.org")]
)
def test_a_proxy_that_says_no_is_named_with_its_variable(
    status: int, fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(whole(status, b"")) as server:
        monkeypatch.setenv("HTTPS_PROXY", f"http://ada:pw-canary@{server.host}")
        error = error_of(FAR)

    assert (
        f"The proxy {server.host} (HTTPS_PROXY) refused the connection to openai (models.example.org): {status}"
        in str(error)
    )
    assert fix in error.fix
    assert "pw-canary" not in str(error)
    assert len(server.requests) == 1


def test_a_proxy_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")

    error = error_of(FAR)

    assert "the proxy 127.0.0.1:1 (HTTPS_PROXY) does not answer (nothing listens there)" in str(error)
    assert "NO_PROXY=models.example.org" in error.fix


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_certificates_that_cannot_be_read_name_their_variable(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for other in ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(name, "/nowhere.pem")

    error = error_of(FAR)

    assert isinstance(error, SettingsError)
    assert "No such file" in str(error)
    assert name in str(error)


def test_where_nothing_may_listen_the_practice_model_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    practice.stop()
    monkeypatch.setattr(PracticeServer, "server_bind", refused)
    with pytest.raises(ConnectionFailed) as caught:
        practice.start()

    assert str(caught.value).startswith("The practice model cannot listen on 127.0.0.1 (Permission denied).")


@contextmanager
def tls(folder: Path, name: str) -> Iterator[tuple[int, list[object]]]:
    """Listen with a certificate of our own for a name; gives the port and who tried."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_certificate(folder, name))
    tried: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            while True:
                try:
                    line, who = listening.accept()
                except OSError:
                    return
                tried.append(who)
                with line:
                    try:
                        context.wrap_socket(line, server_side=True).close()
                    except OSError:
                        continue

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield listening.getsockname()[1], tried
        listening.shutdown(socket.SHUT_RDWR)
    thread.join()


def _certificate(folder: Path, name: str) -> Path:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    names: x509.GeneralName = x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([names]), critical=False)
        .sign(key, hashes.SHA256())
    )
    kind = serialization.Encoding.PEM
    form, open_ = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path = folder / "certificate.pem"
    path.write_bytes(key.private_bytes(kind, form, open_) + certificate.public_bytes(kind))
    return path


# --- servers that do not answer -------------------------------------------------------------------------------


@contextmanager
def deaf_server() -> Iterator[str]:
    """A port of this machine that takes no more connections: those that wait fill its queue."""
    with socket.socket() as listener, ExitStack() as waiting:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            one = waiting.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a full queue refuses at once")
@pytest.mark.parametrize(("is_here", "fix"), [(True, "Start it, or"), (False, "Check the address and the network.")])
def test_a_server_that_takes_no_connection_is_reported_with_the_seconds(
    is_here: bool, fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_here:
        monkeypatch.setattr(attempt_module, "is_loopback", lambda _: False)

    async def listen(url: str) -> None:
        asked = make_endpoint("openai:gpt-x", base_url=url, api_key=KEY)
        impatient = replace(asked, retries=RetryPolicy(1, min_delay=0.01), timeouts=Timeouts(connect=0.2))
        try:
            async for _ in impatient.stream(HI):
                pass
        finally:
            await close_clients()

    with deaf_server() as url, pytest.raises(TimedOut, match=r"did not answer within 0\.2 s") as caught:
        asyncio.run(listen(url))

    assert caught.value.fix.startswith(fix)


async def listed(url: str, seconds: float) -> list[str]:
    try:
        return await fetch_model_list(make_endpoint("openai:gpt-x", base_url=url, api_key=KEY), seconds=seconds)
    finally:
        await close_clients()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a full queue refuses at once")
def test_a_list_of_models_is_not_waited_for_longer_than_the_limit() -> None:
    with deaf_server() as url, pytest.raises(TimedOut, match=r"did not list its models within 0\.2 s"):
        asyncio.run(listed(url, seconds=0.2))


def test_a_list_of_models_where_nothing_listens_says_so() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(ConnectionFailed, match="nothing listens there"):
            asyncio.run(listed(f"http://127.0.0.1:{free.getsockname()[1]}/v1", seconds=5))


def test_a_server_that_offers_nothing_adds_no_advice() -> None:
    assert suggest_models([], "gpt-x", "lab") == ""


def test_the_arguments_of_a_call_count_as_a_part_too() -> None:
    large = ToolCall("write", "x" * 5_000, id="c1", call_id="c1")

    assert "the arguments of `write` (5,000 bytes)" in context_hint(
        Prompt((user("Hi"), Message("assistant", (large,))))
    )


def test_a_proxy_that_cannot_be_used_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "gopher://proxy.example")

    error = error_of(FAR)

    assert isinstance(error, SettingsError)
    assert "The proxy of the environment cannot be used" in str(error)


def test_a_folder_of_certificates_is_read_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for other in ("SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path))
    context = tls_context()

    assert isinstance(context, ssl.SSLContext)
    assert context.verify_mode == ssl.CERT_REQUIRED


@pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"])
def test_the_variables_of_openssl_go_before_those_of_others(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for other in ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv("CURL_CA_BUNDLE", "/nowhere.pem")
    monkeypatch.setenv(variable, "/nowhere/else.pem")

    with pytest.raises(SettingsError, match=variable):
        tls_context()


@pytest.mark.parametrize(
    ("size", "actual"), [(9_999, "9,999 bytes"), (10_000, "10 kB"), (123_456, "123 kB"), (9_999_999, "10,000 kB")]
)
def test_a_size_is_reported_in_bytes_or_thousands_of_them(size: int, actual: str) -> None:
    assert f"your prompt ({actual})" in context_hint(Prompt((user("x" * size),)))

"""Chats through what companies have: gateways with headers, keys that expire, proxies, their own certificates."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat
from nbtool.errors import BadUsage, ConnectionFailed, EnvFileNotAllowed, MissingKey, SettingsError, WireError
from nbtool.secret import Secret
from nbtool.wire.endpoints.model_endpoint import make_endpoint
from nbtool.wire.providers.catalog import providers
from nbtool.wire.providers.connection import CONNECTION_SETTINGS
from nbtool.wire.providers.env_file import find_env_file
from tests.chaos import ChaosServer, finish, head, serve, serve_each, text, whole
from tests.company import Authority, proxy
from tests.wire.anthropics import stream

GOOD = (head(), text("Hello"), finish())
KEY = "gateway-canary-0123456789"
MESSAGES = stream(
    {"type": "message_start", "message": {"usage": {"input_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
    {"type": "message_stop"},
)
HEADER, PARAMETER = "header-canary-0123456789", "query-canary-0123456789"


@pytest.fixture(autouse=True)
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Work in an empty folder, with an own folder of settings and without keys."""
    for provider in providers().values():
        for name in (*provider.keys, *provider.addresses):
            monkeypatch.delenv(name, raising=False)
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".env").touch()
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    find_env_file.cache_clear()
    yield tmp_path
    find_env_file.cache_clear()


def settings_file(folder: Path, text: str) -> None:
    (folder / "home" / "providers.toml").write_text(text)


def script(folder: Path, body: str) -> list[str]:
    path = folder / "token.py"
    path.write_text(body)
    return [sys.executable, str(path)]


def ask(chat: Chat) -> str:
    turn = chat.send("Hi")
    if turn.error:
        raise turn.error
    return turn.text


# --- what a request carries -----------------------------------------------------------------------------------


AUTHORIZATIONS = {
    "bearer": {"authorization": f"Bearer {KEY}"},
    "x-api-key": {"x-api-key": KEY},
    "api-key": {"api-key": KEY},
    "x-goog-api-key": {"x-goog-api-key": KEY},
    "Authorization": {"authorization": KEY},
    "X-Gateway-Token": {"x-gateway-token": KEY},
    "none": {},
}


@pytest.mark.parametrize("auth", AUTHORIZATIONS)
@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic"])
def test_the_key_goes_in_the_header_that_the_gateway_reads_whatever_the_wire(auth: str, wire: str) -> None:
    with serve(whole(400, {"error": {"message": "seen"}})) as server:
        Chat("m", base_url=server.url, api_key=KEY, auth=auth, wire=wire).send("Hi")

    headers = {name: value for name, value in server.requests[0].headers.items() if KEY in value}
    assert headers == AUTHORIZATIONS[auth]


def test_a_bearer_token_reaches_a_server_of_the_messages_wire() -> None:
    with serve(head(), MESSAGES) as server:
        said = ask(Chat("m", base_url=server.url, api_key=KEY, auth="bearer", wire="anthropic"))

    assert said
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert "x-api-key" not in server.requests[0].headers


def test_headers_and_query_go_with_every_request_the_list_of_models_too() -> None:
    with serve_each([*GOOD], [whole(200, {"data": [{"id": "one"}]})]) as server:
        chat = Chat(
            "m", base_url=server.url, headers={"X-Team": HEADER}, query={"api-version": "2026-01-01", "k&y": "a b&c"}
        )
        ask(chat)
        listed = chat.model.list_models()

    assert listed == ["one"]
    assert [request.headers["x-team"] for request in server.requests] == [HEADER, HEADER]
    assert [request.path.partition("?")[2] for request in server.requests] == [
        "api-version=2026-01-01&k%26y=a%20b%26c"
    ] * 2


def test_a_header_of_ones_own_takes_the_place_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other-0123456789")
    with serve(*GOOD) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        ask(Chat("openai:m", wire="chat", headers={"Authorization": f"Custom {KEY}"}))

    assert server.requests[0].headers["authorization"] == f"Custom {KEY}"


# --- the three places of the settings -------------------------------------------------------------------------


def by_argument(_: Path, server: ChaosServer, **settings: Any) -> Chat:
    return Chat("lab:m", base_url=server.url, **settings)


def by_file(folder: Path, server: ChaosServer, **settings: Any) -> Chat:
    lines = [f"{name} = {_toml(value)}" for name, value in settings.items()]
    settings_file(folder, f'[lab]\nbase_url = "{server.url}"\n' + "\n".join(lines))
    return Chat("lab:m")


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {json.dumps(item)}" for key, item in value.items()) + " }"
    return json.dumps(value)


PLACES: dict[str, Callable[..., Chat]] = {"Chat": by_argument, "providers.toml": by_file}


@pytest.mark.parametrize("place", PLACES)
def test_every_place_takes_every_setting(place: str, project: Path) -> None:
    authority = Authority(project)
    chain, secret = authority.certificate("client", password="word-0123456789")
    settings_file(project, '[lab]\nbase_url = "http://127.0.0.1:1/v1"')
    with (
        serve_each([*GOOD], tls=authority.server(asks_for_certificate=True)) as server,
        proxy(server.port, "ada:proxy-canary-0123456789") as way,
    ):
        settings: dict[str, Any] = {
            "headers": {"X-Team": HEADER},
            "query": {"k": PARAMETER},
            "auth": "X-Gateway-Token",
            "key_command": script(project, f"print({KEY!r})"),
            "key_seconds": 30,
            "proxy": f"http://ada:proxy-canary-0123456789@127.0.0.1:{way.port}",
            "verify": str(authority.file),
            "client_certificate": [str(chain), str(secret), "word-0123456789"],
        }
        assert set(settings) == set(CONNECTION_SETTINGS)
        said = ask(PLACES[place](project, server, **settings))

    request = server.requests[0]
    assert said == "Hello"
    assert request.headers["x-team"] == HEADER
    assert request.headers["x-gateway-token"] == KEY
    assert request.path.endswith(f"?k={PARAMETER}")
    assert way.lines == [f"CONNECT 127.0.0.1:{server.port} HTTP/1.1"]


def test_a_settings_file_takes_headers_from_variables(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_TOKEN", HEADER)
    with serve(*GOOD) as server:
        ask(by_file(project, server, headers={"X-Team": "t-${LAB_TOKEN}"}))
        monkeypatch.delenv("LAB_TOKEN")
        with pytest.raises(SettingsError, match="LAB_TOKEN is not set"):
            ask(by_file(project, server, headers={"X-Team": "t-${LAB_TOKEN}"}))

    assert server.requests[0].headers["x-team"] == f"t-{HEADER}"


def test_a_settings_file_takes_the_password_of_a_proxy_and_of_a_certificate_from_variables(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(project)
    chain, secret = authority.certificate("client", password="word-0123456789")
    monkeypatch.setenv("LAB_PASSWORD", "p@ss:w%rd/0123456789")
    monkeypatch.setenv("LAB_CERTIFICATE_PASSWORD", "word-0123456789")
    with (
        serve_each([*GOOD], tls=authority.server(asks_for_certificate=True)) as server,
        proxy(server.port, "ada:p@ss:w%rd/0123456789") as way,
    ):
        settings = {
            "proxy": f"http://ada:${{LAB_PASSWORD}}@127.0.0.1:{way.port}",
            "verify": str(authority.file),
            "client_certificate": [str(chain), str(secret), "${LAB_CERTIFICATE_PASSWORD}"],
        }
        said = ask(by_file(project, server, **settings))
        monkeypatch.delenv("LAB_PASSWORD")
        with pytest.raises(SettingsError, match="LAB_PASSWORD is not set"):
            ask(by_file(project, server, **settings))

    assert said == "Hello"
    assert (way.refused, len(way.lines)) == (0, 1)


WRONG: dict[str, list[Any]] = {
    "headers": [KEY, {"X-A": 1}, {"Host": "x"}, {"a b": "c"}, {"X-A": "line\nX-B: c"}, {"Content-Length": "1"}, [KEY]],
    "query": [KEY, {"a": None}, {"": "x"}],
    "auth": ["token", "Host", 3, "two words"],
    "key_command": [["", "x"], [1], 3, "'open"],
    "key_seconds": [0, -1, "ten", True],
    "proxy": [KEY, "ftp://x", 3, f"http://ada:{KEY}@", f"http://ada:{KEY}@a@b"],
    "verify": ["/nowhere.pem", 3],
    "client_certificate": ["/nowhere.pem", [], ["a"] * 4, 3],
}


def test_every_setting_has_wrong_values() -> None:
    assert set(WRONG) == set(CONNECTION_SETTINGS)


@pytest.mark.promise("no-secret-told")
@pytest.mark.parametrize("value", [f"{KEY}\n", f"{KEY}\0", f"{KEY}é", f"{KEY}\tx", f"{KEY}☃"])
def test_a_variable_that_is_no_text_for_a_header_is_refused_without_its_value(value: str, project: Path) -> None:
    (project / ".env").write_text(f'LAB_TOKEN="{value}x"')
    find_env_file.cache_clear()
    with serve(*GOOD) as server, pytest.raises(SettingsError, match="X-Team contains invalid characters") as caught:
        ask(by_file(project, server, headers={"X-Team": "t-${LAB_TOKEN}"}))

    assert KEY not in str(caught.value)
    assert server.requests == []


@pytest.mark.promise("no-secret-told")
@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values if value]
)
def test_a_wrong_setting_is_named_and_its_value_is_not_repeated(name: str, value: Any) -> None:
    with pytest.raises(BadUsage, match=name) as caught:
        Chat("m", base_url="https://x.example", **{name: value})

    assert KEY not in str(caught.value)


def test_a_wrong_type_in_the_settings_file_does_not_repeat_the_value(project: Path) -> None:
    for line in (f'headers = "{KEY}"', f'keys = "{KEY}"', f"abilities = '{KEY}'"):
        settings_file(project, f'[lab]\nbase_url = "https://x.example"\n{line}')
        with pytest.raises(SettingsError) as caught:
            providers()
        assert KEY not in str(caught.value)


# --- keys that expire -----------------------------------------------------------------------------------------


@dataclass
class Issuer:
    """Issues a new key at every call, with or without its end."""

    lifetime: float | None = None
    calls: int = 0

    def __call__(self) -> Any:
        self.calls += 1
        key = f"issued-key-{self.calls:04}"
        return key if self.lifetime is None else (key, time.time() + self.lifetime)


def keys_of(server: ChaosServer) -> list[str]:
    return [request.headers.get("authorization", "").removeprefix("Bearer ") for request in server.requests]


REFUSED = whole(401, {"error": {"message": "token expired"}})


@pytest.mark.parametrize("is_async", [False, True])
def test_a_key_may_come_from_a_function(is_async: bool) -> None:
    issue = Issuer()

    async def later() -> Any:
        await asyncio.sleep(0)
        return issue()

    with serve(*GOOD) as server:
        chat = Chat("m", base_url=server.url, api_key=later if is_async else issue)
        ask(chat)
        ask(chat)

    assert keys_of(server) == ["issued-key-0001", "issued-key-0002"]  # a key without an end is not kept


@pytest.mark.parametrize(("lifetime", "keys"), [(3600, 1), (0.0, 3)])
def test_a_key_is_kept_until_it_ends(lifetime: float, keys: int) -> None:
    issue = Issuer(lifetime)
    with serve(*GOOD) as server:
        chat = Chat("m", base_url=server.url, api_key=issue)
        for _ in range(3):
            ask(chat)

    assert issue.calls == keys
    assert len(set(keys_of(server))) == keys


def test_a_refused_key_is_fetched_again_once() -> None:
    issue = Issuer(3600)
    with serve_each([REFUSED], [*GOOD], [REFUSED], [REFUSED], [*GOOD]) as server:
        chat = Chat("m", base_url=server.url, api_key=issue)
        first, second = chat.send("Hi"), chat.send("Hi")

    assert (first.text, first.error) == ("Hello", None)
    assert "401" in str(second.error)
    assert keys_of(server) == [f"issued-key-{number:04}" for number in (1, 2, 2, 3)]


ENDS: list[Any] = [
    "0001-01-01", "9999-12-31T23:59:59-12:00", "nan", "-inf", "1e400", float("inf"), 10**400, "-1e400", [], "soon",
]  # fmt: skip
"""Ends of keys that no clock shows."""


@pytest.mark.parametrize("end", ENDS)
def test_a_key_with_an_absurd_end_is_used(end: Any) -> None:
    token = base64.urlsafe_b64encode(json.dumps({"exp": end}).encode()).decode().rstrip("=")
    with serve(*GOOD) as server:
        ask(Chat("m", base_url=server.url, api_key=lambda: (KEY, end)))
        ask(Chat("m", base_url=server.url, api_key=lambda: f"x.{token}.y"))

    assert keys_of(server) == [KEY, f"x.{token}.y"]


@pytest.mark.promise("no-secret-told")
def test_a_key_that_was_replaced_meanwhile_is_in_no_error() -> None:
    issue = Issuer(0.0)
    echo = whole(400, {"error": {"message": "neither issued-key-0001 nor issued-key-0002"}})
    with serve_each([*GOOD], [echo]) as server:
        chat = Chat("m", base_url=server.url, api_key=issue)
        ask(chat)
        failed = chat.send("Hi")

    assert "400" in str(failed.error)
    assert "issued-key" not in f"{failed.error!r} {failed.log!r}"


def test_a_refused_text_is_not_sent_again() -> None:
    with serve_each([REFUSED], [*GOOD]) as server:
        turn = Chat("m", base_url=server.url, api_key=KEY).send("Hi")

    assert "401" in str(turn.error)
    assert len(server.requests) == 1


def test_concurrent_requests_share_one_renewal() -> None:
    issue = Issuer(3600)
    with serve(*GOOD) as server:
        batch = Chat("m", base_url=server.url, api_key=issue).map([f"{number}" for number in range(8)])

    assert len(batch.values) == 8
    assert issue.calls == 1


def web_token(lifetime: float) -> str:
    claims = base64.urlsafe_b64encode(json.dumps({"exp": time.time() + lifetime}).encode()).decode().rstrip("=")
    return f"header.{claims}.signature"


OUTPUTS = {
    "a line": "print('issued-key')",
    "gcloud": "import json; print(json.dumps({'access_token': 'issued-key', 'token_expiry': '2999-01-01T00:00:00Z'}))",
    "az": "import json; print(json.dumps({'accessToken': 'issued-key', 'expires_on': 32503680000}))",
    "oauth": "import json; print(json.dumps({'access_token': 'issued-key', 'expires_in': 3600}))",
    "kubectl": "import json; print(json.dumps({'status': {'token': 'issued-key', "
    "'expirationTimestamp': '2999-01-01T00:00:00Z'}}))",
}


@pytest.mark.parametrize("form", OUTPUTS)
def test_a_key_command_runs_once_for_all_chats(form: str, project: Path) -> None:
    runs = project / "runs"
    body = f"open({str(runs)!r}, 'a').write('x')\n{OUTPUTS[form]}"
    command = script(project, body)
    with serve(*GOOD) as server:
        for _ in range(3):
            ask(Chat("m", base_url=server.url, key_command=command))

    assert keys_of(server) == ["issued-key"] * 3
    assert runs.read_text() == "x"


def test_a_web_token_says_itself_when_it_ends(project: Path) -> None:
    runs = project / "runs"
    ended = script(project, f"open({str(runs)!r}, 'a').write('x')\nprint({web_token(-5)!r})")
    with serve(*GOOD) as server:
        for _ in range(2):
            ask(Chat("m", base_url=server.url, key_command=ended))

    assert runs.read_text() == "xx"


COMMANDS = {
    "fails": ("import sys; print('{key}', file=sys.stderr); print('{key}'); sys.exit(3)", "exit status 3"),
    "prints nothing": ("", "no key"),
    "prints lines": ("print('{key}'); print('and more')", "no key"),
    "prints too much": ("print('{key}' * 10_000)", "65,536 bytes"),
}
"""Programs that give no key, and what the error names."""


@pytest.mark.promise("no-secret-told")
@pytest.mark.parametrize("how", COMMANDS)
def test_a_key_command_that_gives_no_key_is_reported_without_what_it_printed(how: str, project: Path) -> None:
    body, named = COMMANDS[how]
    with serve(*GOOD) as server:
        turn = Chat("m", base_url=server.url, key_command=script(project, body.replace("{key}", KEY))).send("Hi")

    assert isinstance(turn.error, MissingKey)
    assert named in str(turn.error)
    assert KEY not in str(turn.error)
    assert not server.requests


def test_a_key_command_that_is_not_there_is_reported() -> None:
    turn = Chat("m", base_url="http://127.0.0.1:1", key_command="/nowhere/login --secret").send("Hi")

    assert isinstance(turn.error, MissingKey)
    assert "'login'" in str(turn.error)
    assert "--secret" not in str(turn.error)


@pytest.mark.promise("no-secret-told")
@pytest.mark.parametrize("wrong", [None, 3, "", "two\nlines", (KEY,), {"nothing": KEY}, "ключ"])
def test_a_key_function_that_returns_no_key_is_reported_without_it(wrong: Any) -> None:
    turn = Chat("m", base_url="http://127.0.0.1:1", api_key=lambda: wrong).send("Hi")

    assert isinstance(turn.error, MissingKey)
    assert "no key" in str(turn.error)
    assert KEY not in str(turn.error)


@pytest.mark.promise("no-secret-told")
def test_a_key_function_that_fails_is_reported_by_its_kind() -> None:
    def login() -> str:
        raise RuntimeError(KEY)

    turn = Chat("m", base_url="http://127.0.0.1:1", api_key=login).send("Hi")

    assert isinstance(turn.error, MissingKey)
    assert " login failed (RuntimeError)" in str(turn.error)
    assert KEY not in str(turn.error)


def test_an_object_with_a_token_and_its_end_is_a_key() -> None:
    @dataclass
    class AccessToken:
        token: str
        expires_on: int

    with serve(*GOOD) as server:
        ask(Chat("m", base_url=server.url, api_key=lambda: AccessToken("issued-key", int(time.time()) + 3600)))

    assert keys_of(server) == ["issued-key"]


@pytest.mark.promise("own-host")
def test_a_function_and_a_command_give_no_key_to_plain_http() -> None:
    for settings in ({"api_key": lambda: KEY}, {"key_command": "x"}, {"headers": {"X-A": KEY}}, {"query": {"k": KEY}}):
        with pytest.raises(MissingKey, match="over plain HTTP"):
            Chat("m", base_url="http://gateway.example", **settings).send("Hi")


# --- an address of somebody else ------------------------------------------------------------------------------


@pytest.mark.promise("own-host")
@pytest.mark.parametrize("setting", ["headers", "query", "key_command", "client_certificate"])
def test_an_address_that_only_an_env_file_names_gets_nothing_of_the_settings(
    setting: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBTOOL_ALLOW_ENV_FILE", "1")
    ran = project / "ran"
    chain, secret = Authority(project).certificate("client")
    values: dict[str, Any] = {
        "headers": {"X-A": HEADER},
        "query": {"k": PARAMETER},
        "key_command": script(project, f"open({str(ran)!r}, 'w'); print({KEY!r})"),
        "client_certificate": [str(chain), str(secret)],
    }
    with serve(*GOOD) as server:
        (project / ".env").write_text(f"LAB_URL={server.url}\n")
        find_env_file.cache_clear()
        settings_file(
            project,
            f'[lab]\nbase_url = "https://lab.example/v1"\naddresses = ["LAB_URL"]\n'
            f"{setting} = {_toml(values[setting])}",
        )
        ask(Chat("lab:m"))
        with pytest.raises(MissingKey, match="LAB_URL"):
            Chat("lab:m", **{setting: values[setting]}).send("Hi")

    request = server.requests[0]
    assert not any(canary in f"{request.headers} {request.path}" for canary in (KEY, HEADER, PARAMETER))
    assert not ran.exists()


KEYS_GIVEN: dict[str, Any] = {"a text": KEY, "a function": lambda: KEY, "a secret": Secret(KEY)}


@pytest.mark.promise("own-host")
@pytest.mark.parametrize("given", KEYS_GIVEN)
@pytest.mark.parametrize("name", sorted({name for one in providers().values() for name in one.addresses}))
def test_an_address_that_only_an_env_file_names_gets_no_key_that_is_passed(
    name: str, given: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBTOOL_ALLOW_ENV_FILE", "1")
    provider = next(one.name for one in providers().values() if name in one.addresses)
    with serve(*GOOD) as server:
        (project / ".env").write_text(f"{name}={server.url}\n")
        find_env_file.cache_clear()
        chat = Chat(f"{provider}:m", api_key=KEYS_GIVEN[given])
        with pytest.raises(MissingKey, match=name):
            chat.send("Hi")
        with pytest.raises(MissingKey, match=name):
            chat.model.list_models()
        sent = len(server.requests)
        Chat(f"{provider}:m", api_key=KEYS_GIVEN[given], base_url=server.url).send("Hi")

    assert sent == 0
    assert len(server.requests) == 1


@pytest.mark.promise("env-asks")
def test_with_settings_too_an_address_of_an_env_file_is_asked_for_first(project: Path) -> None:
    settings_file(project, '[lab]\nbase_url = "https://lab.example/v1"\naddresses = ["LAB_URL"]\nheaders = { A = "b" }')
    with serve(*GOOD) as server:
        (project / ".env").write_text(f"LAB_URL={server.url}\n")
        find_env_file.cache_clear()
        with pytest.raises(EnvFileNotAllowed):
            Chat("lab:m").send("Hi")

    assert not server.requests


@pytest.mark.parametrize("name", [name.upper() for name in CONNECTION_SETTINGS])
def test_no_file_of_a_project_names_a_setting(name: str, project: Path) -> None:
    ran = project / "ran"
    command = " ".join(script(project, f"open({str(ran)!r}, 'w')"))
    (project / ".env").write_text("".join(f"{prefix}{name}={command}\n" for prefix in ("", "NBTOOL_", "OPENAI_")))
    (project / "providers.toml").write_text(f'[openai]\nkey_command = "{command}"\n')
    find_env_file.cache_clear()
    with serve(*GOOD) as server:
        ask(Chat("m", base_url=server.url))
        endpoint = make_endpoint("openai:m", api_key=KEY)

    assert not endpoint.connection.carries_secrets
    assert not ran.exists()


@pytest.mark.promise("own-host")
def test_a_file_of_a_project_sets_neither_a_proxy_nor_trusted_certificates(project: Path) -> None:
    authority = Authority(project)
    with serve_each([*GOOD], tls=authority.server("127.0.0.1")) as server, proxy(server.port, "ada:right") as way:
        (project / ".env").write_text(
            f"SSL_CERT_FILE={authority.file}\n"
            + "".join(f"{name}=http://ada:right@127.0.0.1:{way.port}\n" for name in ("HTTPS_PROXY", "ALL_PROXY"))
        )
        find_env_file.cache_clear()
        turn = Chat("m", base_url=server.url).send("Hi")
        elsewhere = Chat("m", base_url="https://llm.example.invalid/v1").send("Hi")

    assert "certificate" in str(turn.error)
    assert isinstance(elsewhere.error, ConnectionFailed)
    assert way.lines == []


@pytest.mark.promise("own-host")
@pytest.mark.parametrize("setting", ["headers", "query", "key_command", "client_certificate"])
def test_a_setting_of_a_provider_is_not_used_for_an_address_of_the_chat(setting: str, project: Path) -> None:
    ran = project / "ran"
    authority = Authority(project)
    values: dict[str, Any] = {
        "headers": {"X-A": HEADER},
        "query": {"k": PARAMETER},
        "key_command": script(project, f"open({str(ran)!r}, 'w'); print({KEY!r})"),
        "client_certificate": [str(path) for path in authority.certificate("client")],
    }
    settings_file(project, f'[lab]\nbase_url = "https://lab.example/v1"\n{setting} = {_toml(values[setting])}')
    with serve_each([*GOOD], tls=authority.server(asks_for_certificate=setting == "client_certificate")) as server:
        turn = Chat("lab:m", base_url=server.url, verify=authority.file).send("Hi")

    if setting == "client_certificate":
        assert "`client_certificate`" in str(turn.error)
    assert [request for request in server.requests if "canary" in f"{request.headers} {request.path}"] == []
    assert not ran.exists()


@pytest.mark.promise("own-host")
def test_settings_of_a_provider_stay_with_its_own_host(project: Path) -> None:
    settings_file(project, f'[lab]\nbase_url = "https://lab.example/v1"\nheaders = {{ A = "{HEADER}" }}')
    with serve(*GOOD) as server:
        ask(Chat("lab:m", base_url=server.url))

    assert HEADER not in str(server.requests[0].headers)
    assert make_endpoint("lab:m").connection.headers


# --- certificates and proxies ---------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["verify", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "verify = system"])
def test_a_server_of_the_companys_own_authority_is_trusted_where_it_is_named(
    way: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(project)
    settings: dict[str, Any] = {"verify": authority.file} if way == "verify" else {}
    if way == "verify = system":
        settings = {"verify": "system"}
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))  # OpenSSL reads its system's store from there
    elif not settings:
        monkeypatch.setenv(way, str(authority.file))
    with serve_each([*GOOD], tls=authority.server()) as server:
        assert ask(Chat("m", base_url=server.url, **settings)) == "Hello"


@pytest.mark.parametrize("verify", [None, "system", "certifi"])
def test_a_server_of_an_unknown_authority_is_refused_with_the_fix(verify: str | None, project: Path) -> None:
    with serve_each([*GOOD], tls=Authority(project).server()) as server:
        turn = Chat("m", base_url=server.url, verify=verify).send("Hi")

    assert isinstance(turn.error, ConnectionFailed)
    assert "set `verify` or SSL_CERT_FILE to its CA file" in turn.error.fix
    assert not server.requests


def test_a_client_certificate_is_shown_to_a_server_that_requires_one(project: Path) -> None:
    authority = Authority(project)
    chain, secret = authority.certificate("client")
    both = project / "both.pem"
    both.write_bytes(secret.read_bytes() + chain.read_bytes())
    with serve_each([*GOOD], tls=authority.server(asks_for_certificate=True)) as server:
        without = Chat("m", base_url=server.url, verify=authority.file).send("Hi")
        said = [
            ask(Chat("m", base_url=server.url, verify=authority.file, client_certificate=certificate))
            for certificate in (str(both), [str(chain), str(secret)])
        ]

    assert said == ["Hello", "Hello"]
    assert isinstance(without.error, ConnectionFailed)
    assert "`client_certificate`" in str(without.error)


@pytest.mark.promise("no-secret-told")
def test_a_client_certificate_that_cannot_be_read_is_reported_without_its_password(project: Path) -> None:
    authority = Authority(project)
    chain, secret = authority.certificate("client", password="right-0123456789")
    for password in ([], ["wrong-0123456789"]):
        turn = Chat("m", base_url="https://127.0.0.1:1", client_certificate=[str(chain), str(secret), *password]).send(
            "Hi"
        )
        assert isinstance(turn.error, SettingsError)
        assert "client certificate" in str(turn.error)
        assert "0123456789" not in f"{turn.error!r}"


def test_a_proxy_of_the_environment_is_given_its_credentials(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = Authority(project)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    with (
        serve_each([*GOOD], tls=authority.server("models.example.org")) as server,
        proxy(server.port, "ada:love%lace-0123") as way,
    ):
        monkeypatch.setenv("HTTPS_PROXY", f"http://ada:love%25lace-0123@127.0.0.1:{way.port}")
        said = ask(Chat("m", base_url="https://models.example.org/v1", query={"k": "v"}))

    assert said == "Hello"
    assert way.lines == ["CONNECT models.example.org:443 HTTP/1.1"]


@pytest.mark.promise("no-secret-told")
def test_a_proxy_that_refuses_or_is_not_there_is_named_without_credentials(project: Path) -> None:
    authority = Authority(project)
    with (
        serve_each([*GOOD], tls=authority.server()) as server,
        proxy(server.port, "ada:right-0123456789") as way,
    ):
        here = f"127.0.0.1:{way.port}"
        chat = Chat("m", base_url=server.url, verify=authority.file, proxy=f"http://ada:wrong-0123456789@{here}")
        refused = chat.send("Hi")
    missing = Chat("m", base_url=server.url, proxy="http://ada:wrong-0123456789@127.0.0.1:1").send("Hi")

    assert isinstance(refused.error, ConnectionFailed)
    assert isinstance(missing.error, ConnectionFailed)
    assert f" {here} (" in str(refused.error)
    assert " 127.0.0.1:1 (" in str(missing.error)
    assert "0123456789" not in f"{refused.error} {missing.error} {refused.log!r} {missing.log!r}"


def test_plain_http_through_a_proxy_keeps_its_query() -> None:
    with serve(*GOOD) as server, proxy(server.port, "ada:right") as way:
        ask(Chat("m", base_url=server.url, proxy=f"http://ada:right@127.0.0.1:{way.port}", query={"k": "v"}))

    assert way.lines == [f"POST {server.url}/chat/completions?k=v HTTP/1.1"]


# --- nothing of it is told ------------------------------------------------------------------------------------


@pytest.mark.promise("no-secret-told")
def test_headers_query_and_keys_are_in_no_log_error_or_repr(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    echo = f"{HEADER} {PARAMETER} {KEY}"
    with serve_each(
        [whole(400, {"error": {"message": echo}})], [*GOOD], [whole(400, {"error": {"message": echo}})]
    ) as server:
        chat = Chat("m", base_url=server.url, api_key=lambda: KEY, headers={"X-A": HEADER}, query={"k": PARAMETER})
        failed, good = chat.send("Hi"), chat.send("Hi")
        with pytest.raises(WireError, match="400") as listed:
            chat.model.list_models()

    assert good.text == "Hello"
    actual = [f"{failed.error!r} {listed.value!r}", f"{chat.__dict__!r} {chat.model!r} {chat.model.endpoint()!r}"]
    actual += [f"{record.getMessage()} {record.args!r}" for record in caplog.records]
    actual += [repr(turn.log) for turn in (failed, good)]
    assert server.requests[0].headers["x-a"] == HEADER
    assert [text for text in actual if any(canary in text for canary in (HEADER, PARAMETER, KEY))] == []

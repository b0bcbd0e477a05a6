from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from nbtool import Chat
from nbtool.chat.attachments import as_media
from nbtool.errors import NbtoolError
from nbtool.secret import Secret
from nbtool.server_url import DEFAULT_PORTS, MAX_URL, ServerUrl, parse_server_url
from nbtool.tools.mcp.config import read_config
from nbtool.wire.endpoints.model_endpoint import make_endpoint
from nbtool.wire.providers.catalog import BUILTIN, providers
from nbtool.wire.providers.env_file import find_env_file
from nbtool.wire.providers.providers_toml import SETTINGS_FILE
from nbtool.wire.registry import find_wire
from nbtool.wire.transport.http_endpoint import HttpEndpoint

KEY = "sk-canary-0123456789"

TRICKS = {
    "a fragment that hides a host": "https://api.openai.com#@evil.example/v1",
    "a fragment": "https://api.openai.com/v1#x",
    "a query that hides a host": "https://api.openai.com?@evil.example/v1",
    "userinfo that looks like the host": "https://api.openai.com@evil.example/v1",
    "a user and a password": "https://api.openai.com:443@evil.example/v1",
    "an empty user": "https://@api.openai.com/v1",
    "a backslash": "https://api.openai.com\\@evil.example/v1",
    "a backslash for a slash": "https:\\\\api.openai.com/v1",
    "a tab inside": "https://api.openai\t.com/v1",
    "a line break inside": "https://api.openai.com\n.evil.example/v1",
    "a NUL": "https://api.openai.com\0.evil.example/v1",
    "a space": "https://api.openai.com .evil.example",
    "a Cyrillic letter": "https://\u0430pi.openai.com/v1",
    "a full-width dot": "https://api\uff0eopenai.com/v1",
    "a zero-width space": "https://api.openai.com\u200b/v1",
    "a soft hyphen": "https://api.open\u00adai.com/v1",
    "a dot at the end": "https://api.openai.com./v1",
    "two dots": "https://api..openai.com/v1",
    "a percent in the host": "https://api.openai.com%2eevil.example/v1",
    "a port of zero": "https://api.openai.com:0/v1",
    "a port that is too large": "https://api.openai.com:65536/v1",
    "a port of other digits": "https://api.openai.com:\u0664\u0664\u0663/v1",
    "a port with a sign": "https://api.openai.com:+443/v1",
    "an empty port": "https://api.openai.com:/v1",
    "two ports": "https://api.openai.com:443:80/v1",
    "another scheme": "ftp://api.openai.com/v1",
    "a script": "javascript://api.openai.com/%0aalert(1)",
    "one slash": "https:/api.openai.com/v1",
    "three slashes": "https:///api.openai.com/v1",
    "an address in decimal": "http://2130706433/v1",
    "an address in hexadecimal": "http://0x7f000001/v1",
    "an address in octal": "http://0177.0.0.1/v1",
    "a short address": "http://127.1/v1",
    "an address with a zone": "http://[fe80::1%25eth0]/v1",
    "an open bracket": "http://[::1/v1",
    "brackets around a name": "http://[api.openai.com]/v1",
    "a broken escape": "https://api.openai.com/%zz",
    "a host of its own length": f"https://{'a' * 300}.example/v1",
    "too long": f"https://api.openai.com/{'a' * MAX_URL}",
}  # fmt: skip


def as_argument(url: str, *_: object) -> object:
    return make_endpoint("openai:gpt-5-mini", base_url=url)


def as_argument_of_a_chat(url: str, *_: object) -> object:
    return Chat("openai:gpt-5-mini", base_url=url).send("hello")


def beside_a_key(url: str, *_: object) -> object:
    return make_endpoint("lab-model", base_url=url, api_key=KEY)


def as_endpoint(url: str, *_: object) -> object:
    return HttpEndpoint(find_wire("chat"), url, "m", key=Secret(KEY))


def in_the_environment(url: str, monkeypatch: pytest.MonkeyPatch, _: Path) -> object:
    if "\0" in url:
        pytest.skip("an environment holds none")
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    return make_endpoint("openai:gpt-5-mini")


def as_host_of_ollama(url: str, monkeypatch: pytest.MonkeyPatch, _: Path) -> object:
    if "\0" in url:
        pytest.skip("an environment holds none")
    monkeypatch.setenv("OLLAMA_HOST", url)
    monkeypatch.setenv("OLLAMA_API_KEY", KEY)
    return make_endpoint("ollama:llama3")


def in_the_env_file(url: str, _: pytest.MonkeyPatch, home: Path) -> object:
    if "\n" in url:
        pytest.skip("a line of such a file holds none")
    (home / ".env").write_text(f'OPENAI_BASE_URL="{url}"\nOPENAI_API_KEY={KEY}', encoding="utf-8")
    find_env_file.cache_clear()
    return make_endpoint("openai:gpt-5-mini")


def in_the_file_of_providers(url: str, _: pytest.MonkeyPatch, home: Path) -> object:
    written = "".join(f"\\u{ord(character):04x}" if not character.isalnum() else character for character in url)
    (home / SETTINGS_FILE).write_text(f'[lab]\nbase_url = "{written}"', encoding="utf-8")
    return providers()


def as_mcp_server(url: str, *_: object) -> object:
    if "?" in url:
        pytest.skip("such an address may have a query")
    return read_config({"mcpServers": {"a": {"url": url, "headers": {"authorization": KEY}}}})


def as_attachment(url: str, *_: object) -> object:
    if "?" in url or not url.startswith(("https://", "http://")):
        pytest.skip("such an address may have a query; what has no scheme of the web is a path")
    return as_media(f"{url}/picture.png")


Way = Callable[..., object]
WAYS: list[Way] = [
    as_argument, as_argument_of_a_chat, beside_a_key, as_endpoint, in_the_environment, as_host_of_ollama,
    in_the_env_file, in_the_file_of_providers, as_mcp_server, as_attachment,
]  # fmt: skip


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    for provider in BUILTIN.values():
        for name in (*provider.keys, *provider.addresses):
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (tmp_path / ".env").touch()
    monkeypatch.chdir(tmp_path)
    find_env_file.cache_clear()
    yield tmp_path
    find_env_file.cache_clear()


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.promise("own-host")
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("trick", TRICKS)
def test_an_address_that_two_readers_could_read_differently_is_refused_wherever_it_enters(
    way: Way, trick: str, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    with pytest.raises(NbtoolError) as refused:
        way(TRICKS[trick], monkeypatch, home)

    assert "\n" not in str(refused.value)
    assert KEY not in str(refused.value)


SCHEMES = ["https://", "http://", "HTTPS://", "", "https:/", "https:///", "ftp://", "https:\\\\"]
HOSTS = [
    "api.openai.com", "API.OpenAI.com", "localhost", "my_box", "127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1",
    "127.1", "[::1]", "[2001:DB8::0:1]", "[::1", "[fe80::1%25eth0]", "[api.openai.com]", "api.openai.com.",
    "xn--bcher-kva.example", "\u0430pi.openai.com", "user:password@api.openai.com", "a" * 64, "",
]  # fmt: skip
PORTS = ["", ":443", ":8000", ":65535", ":65536", ":0", ":0443", ":+443", ":", ":443:80", ":\u0664\u0664\u0663", ":x"]
PATHS = [
    "", "/", "/v1", "/v1/", "/a%20b//c", "/../v1", "/%zz", "/a:b@c", "#@evil.example/v1", "/v1#x", "\\@evil.example",
]  # fmt: skip
PIECES = [
    "#",
    "@",
    ":",
    "\\",
    "/",
    " ",
    "\t",
    "%",
    "%2e",
    "[",
    "]",
    ".",
    "\u200b",
    "\u00ad",
    "\uff0e",
    "|",
    "-a",
    "Z",
    "1",
]


@st.composite
def addresses(draw: st.DrawFn) -> str:
    """Write an address of parts that belong there or do not, often with one more anywhere."""
    made = "".join(draw(st.sampled_from(parts)) for parts in (SCHEMES, HOSTS, PORTS, PATHS))
    at = draw(st.integers(0, len(made)))
    return draw(st.just(made) | st.sampled_from(PIECES).map(lambda piece: made[:at] + piece + made[at:]))


def is_refused(address: str) -> bool:
    try:
        parse_server_url(address)
    except NbtoolError:
        return True
    return False


@pytest.mark.promise("own-host")
@settings(max_examples=300)
@given(address=addresses())
def test_an_address_that_is_accepted_is_read_the_same_by_another_reader(address: str) -> None:
    if is_refused(address):
        return

    here = parse_server_url(address)
    has_scheme = address.strip().lower().startswith(("http://", "https://"))
    there = urlsplit(address.strip() if has_scheme else f"http://{address.strip()}")

    assert (there.scheme, there.username, there.password) == (here.scheme, None, None)
    assert there.hostname
    assert there.hostname in (here.host, "2001:db8::0:1")
    assert (there.port or DEFAULT_PORTS[here.scheme]) == here.port
    assert parse_server_url(str(here)) == here


@pytest.mark.promise("own-host")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])  # an address replaces another
@given(address=addresses(), way=st.sampled_from(WAYS))
def test_an_address_that_is_refused_is_refused_by_every_way_in(
    address: str, way: Way, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    assume(is_refused(address))
    assume(way is not as_attachment or address.startswith(("https://", "http://")))  # another text is a path

    with monkeypatch.context() as patch, pytest.raises(NbtoolError) as refused:
        way(address, patch, home)
    (home / ".env").write_text("")
    (home / SETTINGS_FILE).unlink(missing_ok=True)
    find_env_file.cache_clear()

    assert "\n" not in str(refused.value)
    assert KEY not in str(refused.value)


OF_ANOTHER_ORIGIN = {
    "plain HTTP": "http://api.openai.com/v1",
    "plain HTTP on a port": "http://api.openai.com:45313/v1",
    "plain HTTP on the port of HTTPS": "http://api.openai.com:443/v1",
    "another port": "https://api.openai.com:8443/v1",
    "another host": "https://evil.example/v1",
    "a host below it": "https://x.api.openai.com/v1",
    "a host above it": "https://openai.com/v1",
    "a host that begins like it": "https://api.openai.com.evil.example/v1",
    "its ASCII form with a letter of another script": "https://xn--pi-7lc.openai.com/v1",
    "this machine": "http://127.0.0.1:8000/v1",
}


@pytest.mark.promise("own-host")
@pytest.mark.parametrize("address", OF_ANOTHER_ORIGIN.values(), ids=OF_ANOTHER_ORIGIN)
def test_a_key_of_the_environment_goes_to_no_other_scheme_host_or_port(address: str) -> None:
    with pytest.raises(NbtoolError, match="is not sent to"):
        make_endpoint("openai:gpt-5-mini", base_url=address)


@pytest.mark.parametrize("name", [name for name, one in BUILTIN.items() if one.keys and one.base_url and one.needs_key])
def test_the_key_of_every_provider_goes_to_its_own_address_and_not_over_plain_http(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = providers()[name]
    monkeypatch.setenv(provider.keys[0], KEY)

    assert make_endpoint(f"{name}:m", base_url=f"{provider.base_url}/").key == Secret(KEY)
    with pytest.raises(NbtoolError, match="is not sent to http://"):
        make_endpoint(f"{name}:m", base_url=provider.base_url.replace("https://", "http://"))


OVER_PLAIN_HTTP = ["http://lab.example/v1", "http://192.168.0.5:8000/v1", "http://[2001:db8::1]:8000/v1", "box:8000/v1"]


@pytest.mark.promise("own-host")
@pytest.mark.parametrize("address", OVER_PLAIN_HTTP)
@pytest.mark.parametrize("way", ["argument", "environment", "a server's own key", "providers.toml", "MCP header"])
def test_no_key_goes_over_plain_http_off_this_machine(
    address: str, way: str, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    with pytest.raises(NbtoolError, match="plain HTTP"):
        send_key(way, address, monkeypatch, home)


def send_key(way: str, address: str, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    match way:
        case "argument":
            make_endpoint("m", base_url=address, api_key=KEY)
        case "environment":
            monkeypatch.setenv("OPENAI_BASE_URL", address)
            make_endpoint("openai:gpt-5-mini")
        case "a server's own key":
            monkeypatch.setenv("OLLAMA_HOST", address)
            monkeypatch.setenv("OLLAMA_API_KEY", KEY)
            make_endpoint("ollama:llama3")
        case "providers.toml":
            (home / SETTINGS_FILE).write_text(f'[lab]\nbase_url = "{address}"\nkeys = ["OPENAI_API_KEY"]')
            make_endpoint("lab:m")
        case _:
            url = address if "://" in address else f"http://{address}"
            read_config({"mcpServers": {"a": {"url": url, "headers": {"authorization": KEY}}}})


@pytest.mark.parametrize(
    "address", ["localhost:8000", "http://127.0.0.1:8000/v1", "http://[::1]:8000/v1", "0.0.0.0:80"]
)
def test_a_key_may_go_over_plain_http_to_this_machine(address: str) -> None:
    assert make_endpoint("m", base_url=address, api_key=KEY).key == Secret(KEY)


def test_a_server_off_this_machine_that_needs_no_key_is_reached_over_plain_http(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "192.168.0.5")

    assert make_endpoint("ollama:llama3").base_url == "http://192.168.0.5:11434/v1"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("https://API.OpenAI.com:443/v1/", "https://api.openai.com/v1"),
        (" http://host.example:80 \n", "http://host.example"),
        ("HTTPS://host.example:8443/a%20b/", "https://host.example:8443/a%20b"),
        ("host.example:8000/v1", "http://host.example:8000/v1"),
        ("0.0.0.0:11434", "http://127.0.0.1:11434"),
        ("[::]:11434", "http://127.0.0.1:11434"),
        ("http://[2001:DB8::0:1]:8000", "http://[2001:db8::1]:8000"),
        ("https://xn--bcher-kva.example/v1", "https://xn--bcher-kva.example/v1"),
        ("http://my_box", "http://my_box"),
    ],
)
def test_an_address_has_one_spelling(written: str, read: str) -> None:
    assert str(parse_server_url(written)) == read
    assert parse_server_url(read) == parse_server_url(written)


def test_an_address_may_have_a_query_only_where_it_is_asked_for() -> None:
    assert parse_server_url("https://mcp.example/mcp?token=1", may_have_query=True) == ServerUrl(
        "https", "mcp.example", 443, "/mcp", "token=1"
    )

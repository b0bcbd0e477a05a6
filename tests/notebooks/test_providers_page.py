"""docs/providers.md: its code runs as it is written, in order, against a gateway behind a proxy; its tables hold."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from nbtool.settings import data_dir
from nbtool.wire.endpoints.model_endpoint import make_endpoint
from nbtool.wire.providers.catalog import providers
from nbtool.wire.providers.connection import AUTH_HEADERS, CONNECTION_SETTINGS
from nbtool.wire.providers.env_file import find_env_file
from nbtool.wire.transport.request.expiring_keys import DEFAULT_SECONDS, EARLY_SECONDS, FETCH_SECONDS
from tests.chaos import ChaosServer, Received, Step, serve_by
from tests.company import Authority, proxy
from tests.providers.replies import Answer, encode_answer
from tests.providers.simulator import PATHS
from tests.shells import end_shell, new_shell

PAGE = (Path(__file__).parents[2] / "docs" / "providers.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| `(\w+)` \| (.*) \| `(https?://.*)` \|$", re.MULTILINE)
CREDENTIALS = "ada:proxy-canary-0123456789"
KEY, TEAM = "lab-key-0123456789", "team-7"


def respond(request: Received) -> Sequence[Step]:
    path = request.path.partition("?")[0]
    dialect = next(name for name, pattern in PATHS.items() if re.search(f"{pattern.pattern}$", path))
    return encode_answer(dialect, Answer("I am a model."), stream=request.json.get("stream") is True)


@pytest.fixture
def company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChaosServer]:
    """Give a gateway under the name that the page uses, and a machine with proxy, certificates and keys."""
    for provider in providers().values():
        for name in (*provider.keys, *provider.addresses):
            monkeypatch.delenv(name, raising=False)
    authority = Authority(tmp_path)
    authority.file.rename(tmp_path / "company-ca.pem")
    for path, name in zip(authority.certificate("ada"), ("ada.pem", "ada.key"), strict=True):
        path.rename(tmp_path / name)
    (tmp_path / ".env").touch()
    (tmp_path / "notes.txt").write_text("We promise an answer within a day.")
    (tmp_path / "print_token.py").write_text("print('token-of-program')")
    monkeypatch.chdir(tmp_path)
    find_env_file.cache_clear()
    with (
        serve_by(respond, tls=authority.server("llm.example.com")) as server,
        proxy(server.port, CREDENTIALS) as way,
    ):
        values = {
            "NBTOOL_HOME": str(tmp_path / "home"), "LAB_API_KEY": KEY, "LAB_TEAM": TEAM,
            "SSL_CERT_FILE": str(tmp_path / "company-ca.pem"),
            "LAB_PROXY": f"http://{CREDENTIALS}@127.0.0.1:{way.port}",
            "HTTPS_PROXY": f"http://{CREDENTIALS}@127.0.0.1:{way.port}",
        }  # fmt: skip
        for name, value in values.items():
            monkeypatch.setenv(name, value)
        yield server
    find_env_file.cache_clear()


def authorization(request: Received) -> str:
    return request.headers["authorization"].removeprefix("Bearer ")


def has(**headers: str) -> Callable[[Received], bool]:
    return lambda request: all(request.headers.get(name.replace("_", "-")) == text for name, text in headers.items())


LAB, PROJECT = has(x_team=TEAM), has(x_project="penguins")
REQUESTS: list[tuple[str, list[Callable[[Received], bool]]]] = [
    ("[lab]", []),
    ("%%chat -m lab:large", [lambda it: LAB(it) and it.path.endswith("?api-version=2026-01-01")]),
    (
        "import os",
        [
            lambda it: LAB(it) and PROJECT(it) and authorization(it) == KEY,
            lambda it: not LAB(it) and "?" not in it.path and authorization(it) == KEY,
        ],
    ),
    ("%config", []),
    ("%%chat", [lambda it: LAB(it) and PROJECT(it)]),
    (
        'chat = Chat("claude"',
        [
            lambda it: (
                it.path.endswith("/messages") and authorization(it) == "token-of-ada" and "x-api-key" not in it.headers
            )
        ],
    ),
    ("import time", [lambda it: authorization(it) == "token-1"]),
    ("[lab]", []),
    ("print(Chat", [lambda it: authorization(it) == "token-of-program"]),
    ("chat = Chat", [lambda it: it.json["model"] == "large"]),
    ("chat = Chat", [lambda it: it.json["model"] == "large"]),
    ("chat = Chat", [lambda it: it.json["tools"] == [{"type": "web_search"}]]),
    ("chat = Chat", [lambda it: '"citations": {"enabled": true}' in json.dumps(it.json["messages"])]),
    ("lab = Chat", []),
    ("%%chat -c lab", [PROJECT]),
    ("%chat open lab", []),
    ("%%chat", [lambda it: PROJECT(it) and "Who are you?" in str(it.json)]),
]
"""How each block of the page begins, and what holds of the requests that it makes."""


def test_the_code_of_the_page_runs_in_order_and_sends_what_the_page_says(company: ChaosServer) -> None:
    shell: Any = new_shell()
    shell.run_line_magic("load_ext", "nbtool")
    assert len(BLOCKS) == len(REQUESTS)
    try:
        for (language, code), (beginning, rules) in zip(BLOCKS, REQUESTS, strict=True):
            assert code.startswith(beginning)
            company.requests.clear()
            if language == "toml":
                (data_dir() / "providers.toml").write_text(code, "utf-8")
            else:
                shell.run_cell(code).raise_error()
            assert [rule(request) for rule, request in zip(rules, company.requests, strict=True)] == [True] * len(rules)
    finally:
        end_shell()


def test_the_page_lists_every_setting_and_its_values() -> None:
    table = PAGE.partition("## Settings")[2].partition("Each can be set")[0]
    names = {name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1] if row else "")}

    assert names | {"key_seconds"} == {*CONNECTION_SETTINGS, "base_url", "api_key"}
    assert all(f"`{kind}`" in table for kind in (*AUTH_HEADERS, "none", "key_seconds"))


def test_the_seconds_of_the_page_are_those_of_the_code() -> None:
    assert (EARLY_SECONDS, f"`key_seconds` ({DEFAULT_SECONDS:g})" in PAGE) == (60, True)
    assert f"at most {FETCH_SECONDS:g} seconds" in PAGE


@pytest.mark.parametrize(("provider", "variables", "url"), ROW.findall(PAGE))
def test_a_provider_of_the_page_is_reached_at_the_address_of_the_page(
    provider: str, variables: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = providers()[provider]
    names = [item.partition("=") for item in re.findall(r"`([A-Z_]+(?:=[^`]*)?)`", variables)]
    for name, _, value in names:
        monkeypatch.setenv(name, value or "key-0123456789")

    endpoint = make_endpoint(f"{provider}:m")

    assert endpoint.base_url == url
    assert {name for name, _, value in names if not value} <= set(entry.keys)


def test_the_page_has_an_address_for_every_provider_whose_address_depends_on_the_environment() -> None:
    without = {name for name, entry in providers().items() if not entry.base_url or "AWS" in "".join(entry.keys)}

    assert without - {"practice"} <= {provider for provider, _, _ in ROW.findall(PAGE)}

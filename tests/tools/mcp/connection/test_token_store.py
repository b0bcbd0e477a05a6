from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from mcp.shared.auth import OAuthToken

from nbtool.tools.mcp.connection.token_store import TokenStore

keyring = pytest.importorskip("keyring")  # an optional package
TOKENS = OAuthToken(access_token="t-1", refresh_token="r-1")


class Memory(keyring.backend.KeyringBackend):  # type: ignore[misc,name-defined]  # the package is optional here
    """A keyring of the system."""

    priority = -9  # below that of no keyring: only the fixture chooses it, in whichever process this file is read

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[tuple[str, str], str] = {}
        self.is_locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.is_locked:
            raise keyring.errors.KeyringLocked
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.is_locked:
            raise keyring.errors.KeyringLocked
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.entries[service, username]


@pytest.fixture
def memory() -> Iterator[Memory]:
    former = keyring.get_keyring()
    keyring.set_keyring(backend := Memory())
    yield backend
    keyring.set_keyring(former)


def run(work: Any) -> Any:
    return asyncio.run(work)


def test_tokens_are_kept_in_the_keyring_of_the_system_and_in_no_file(memory: Memory) -> None:
    store = TokenStore("https://lab.example/mcp")
    run(store.set_tokens(TOKENS))

    assert run(store.get_tokens()) == TOKENS
    assert run(TokenStore("https://lab.example/other").get_tokens()) is None
    assert len(memory.entries) == 1
    assert not store.path.exists()
    run(store.clear())
    assert run(store.get_tokens()) is None


def test_a_keyring_that_is_locked_is_replaced_by_a_file(memory: Memory) -> None:
    memory.is_locked = True
    store = TokenStore("https://lab.example/mcp")
    run(store.set_tokens(TOKENS))

    assert run(store.get_tokens()) == TOKENS
    assert store.path.exists()


def test_tokens_are_in_a_file_where_no_keyring_is_installed(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    store = TokenStore("https://lab.example/mcp")
    run(store.set_tokens(TOKENS))

    assert run(store.get_tokens()) == TOKENS
    assert store.path.exists()
    assert memory.entries == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"url": "https://other.example"}',
        '{"tokens": 1}',
        '{"url": "https://lab.example/mcp", "tokens": 1, "client": 1}',
        "x" * 200_000,
    ],
)
def test_a_file_that_is_none_of_ours_is_no_login(text: str) -> None:
    store = TokenStore("https://lab.example/mcp")
    store.path.parent.mkdir(parents=True, exist_ok=True)
    store.path.write_text(text)

    assert run(store.get_tokens()) is None
    assert run(store.get_client_info()) is None

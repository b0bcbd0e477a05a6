"""The secrets that endpoints of this process have used: how many are known, and which are not looked for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nbtool.wire.endpoints.model_endpoint import make_endpoint
from nbtool.wire.framing import known_secrets
from nbtool.wire.framing.known_secrets import MAX_SECRETS, hide_secrets, remember_secrets
from nbtool.wire.framing.redaction import HIDDEN


@pytest.fixture(autouse=True)
def known_before() -> Iterator[None]:
    """Forget what a test made known."""
    before = dict(known_secrets._known)
    known_secrets._known.clear()
    yield
    known_secrets._known.clear()
    known_secrets._known.update(before)


def use_key(key: str) -> None:
    remember_secrets(make_endpoint("openai:m", base_url="http://127.0.0.1:9", api_key=key))


def is_hidden(key: str) -> bool:
    return key not in hide_secrets(f"before {key} after")


def test_the_latest_secrets_are_known_up_to_a_bound() -> None:
    keys = [f"sk-{number:04}-of-a-test" for number in range(MAX_SECRETS + 2)]
    for key in keys:
        use_key(key)

    assert [is_hidden(key) for key in keys] == [False] * 2 + [True] * MAX_SECRETS
    use_key(keys[0])
    assert hide_secrets(f"a {keys[0]} b") == f"a {HIDDEN} b"


@pytest.mark.parametrize("key", ["ollama", "no-key-needed", "sk-1"])
def test_a_word_and_a_short_value_are_no_secrets(key: str) -> None:
    use_key(key)

    assert not is_hidden(key)

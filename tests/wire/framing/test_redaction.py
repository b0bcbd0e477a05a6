from __future__ import annotations

import pytest

from nbtool.secret import Secret
from nbtool.wire.framing.redaction import _MIN_SECRET, HIDDEN, excerpt, redact


def test_a_given_key_is_hidden_from_its_shortest_length_on() -> None:
    short, shortest = "k" * (_MIN_SECRET - 1), "q" * _MIN_SECRET

    assert redact(f"<{shortest}>", [None, Secret(shortest)]) == f"<{HIDDEN}>"
    assert redact(f"<{short}>", [Secret(short)]) == f"<{short}>"


@pytest.mark.parametrize(
    "text",
    [
        "https://ada:word@host/",
        "Bearer abcdefgh",
        "?key=abc",
        "api_key=abc",
        "AIza" + "x" * 20,
        "eyJ" + "x" * 12 + ".y",
        "ghp_" + "x" * 30,
        "github_pat_11ABC_" + "x" * 20,
        "AKIAIOSFODNN7EXAMPLE",
        "xoxb-123456789012-abcdefghij",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE+/=\n-----END RSA PRIVATE KEY-----",
        "SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG",
        "DB_PASSWORD='s3cr3t!!'",
        '"client_secret": "abc-def"',
        "sk-****abcd",
    ],
)
def test_what_looks_like_a_key_is_hidden(text: str) -> None:
    assert HIDDEN in redact(f"see {text} there")


@pytest.mark.parametrize(
    "text", ["hf_transfer", "sk-learn", "npm_install", "max_tokens: 4096", "the password is 12", "password: correct"]
)
def test_what_only_resembles_a_key_stays(text: str) -> None:
    assert redact(f"see {text} there") == f"see {text} there"


def test_the_name_of_a_key_stays() -> None:
    assert redact('{"api_key": "abcdef", "n": 1}') == f'{{"api_key": "{HIDDEN}", "n": 1}}'


def test_a_foreign_body_is_one_line_of_bounded_length_without_markup_and_keys() -> None:
    page = b"<html><script>evil()</script><body>No\n<b>key</b> Bearer abcdefgh\x1b</body>"

    assert excerpt(page) == f"No key Bearer {HIDDEN}"
    assert excerpt("a < b") == "a < b"
    assert excerpt("x" * 50, limit=50) == "x" * 50
    assert excerpt("x" * 99, limit=50) == "x" * 50 + "[… 49 characters more]"

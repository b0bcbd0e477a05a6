from __future__ import annotations

import pytest

from nbtool.errors import AuthenticationFailed
from nbtool.wire.framing.provider_errors import (
    MAX_CODE,
    error_from_response,
    is_retryable,
    parse_error,
    provider_error,
)


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ("no", "no"),
        ([None, {"error": {"message": "no"}}], "no"),
        ({"error": "no", "details": "the model is loading"}, "no: the model is loading"),
        ({"errors": [{}], "details": "the model is loading"}, "the model is loading"),
        ({"error": {"code": 7}, "message": "no"}, "no"),
        ({"msg": "no"}, "no"),
        ({"detail": [{"msg": "field required"}]}, "field required"),
        ({"error": True}, ""),
        (7, ""),
        ([], ""),
    ],
)
def test_the_message_of_an_error_is_found_in_every_shape(payload: object, message: str) -> None:
    assert parse_error(payload).message == message


def test_the_code_and_the_type_of_an_error_may_be_around_it() -> None:
    inside = parse_error({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}, "code": 529})
    outside = parse_error({"type": "server_error", "error": {"message": "busy"}, "code": "x"})

    assert (inside.type, inside.code) == ("overloaded_error", "529")
    assert (outside.type, outside.code) == ("server_error", "x")
    assert outside.joined == "x server_error busy"


@pytest.mark.parametrize(
    ("status", "word", "again"),
    [
        (400, "true", True),
        (400, "", False),
        (500, "", True),
        (500, "False", False),
        (429, "", True),
        (499, "x", False),
        (501, "", False),
        (501, "true", True),
        (505, "", False),
        (506, "", True),
    ],
)
def test_the_providers_own_word_says_whether_to_try_again(status: int, word: str, again: bool) -> None:
    assert is_retryable(status, {"x-should-retry": word}) is again


@pytest.mark.parametrize(
    "body",
    [
        b'data: {"error": {"message": "no such thing"}}\n\n',
        b': wait\nevent: error\r\ndata: {"message": "no such thing"}\r\n\r\ndata: [DONE]\r\n\r\n',
    ],
)
def test_a_refusal_that_comes_as_an_event_is_reported_in_its_own_words(body: bytes) -> None:
    assert str(error_from_response(400, {}, body, label="them")) == "them answered 400: no such thing."


def test_the_state_of_a_limit_counts_only_where_a_limit_was_reached() -> None:
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "9"}

    assert error_from_response(429, headers, b"{}").retry_after == 9.0
    assert error_from_response(500, headers, b"{}").retry_after is None


@pytest.mark.parametrize(
    ("body", "is_told"),
    [
        (b'{"error": {"message": "The file file-1 is gone."}}', False), (b'{"detail": "Not Found"}', True),
        (b"<html><title>Oh</title></html>", True), (b"", True), (b'{"message": "no Route matched."}', True),
    ],
)  # fmt: skip
def test_the_address_is_doubted_only_where_the_provider_has_no_words_of_its_own(body: bytes, is_told: bool) -> None:
    error = error_from_response(404, {}, body, label="lab")

    assert ("Unknown path" in str(error)) is is_told


def test_a_litellm_proxy_without_a_database_refuses_a_key_with_400() -> None:
    body = b'{"error":{"message":"No connected db.","type":"no_db_connection","param":null,"code":"400"}}'

    error = error_from_response(400, {}, body)

    assert isinstance(error, AuthenticationFailed)
    assert error.fix == "Use a valid key for this server."


@pytest.mark.parametrize("name", ["code", "type", "param"])
def test_a_long_code_is_cut_with_the_number_of_its_other_characters(name: str) -> None:
    error = provider_error({"error": {"message": "No.", name: "x" * (MAX_CODE + 70)}}, status=400)

    assert getattr(error, name) == "x" * MAX_CODE + "[… 70 characters more]"

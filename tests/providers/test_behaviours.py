"""Every row of the table: the provider's double refuses in its own words, and the endpoint says them, typed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import pytest

from nbtool.errors import ProviderError
from nbtool.secret import Secret
from nbtool.wire import WIRES, Prompt, Reply, ReplyBuilder, find_wire
from nbtool.wire.base import Decoder, Request, Target, Wire
from nbtool.wire.providers.catalog import BUILTIN
from nbtool.wire.providers.connection import Connection
from nbtool.wire.providers.model_kinds import MEDIA_KINDS
from nbtool.wire.transport.http_endpoint import HttpEndpoint
from nbtool.wire.transport.retry import RetryPolicy
from tests.providers.__main__ import tables, written
from tests.providers.behaviour import TEXT_DIALECTS, Behaviour, Topic
from tests.providers.behaviours import BEHAVIOURS, WITHOUT_ROW
from tests.providers.conversations import converse
from tests.providers.observations import OBSERVATIONS
from tests.providers.replies import STREAMS, Answer
from tests.providers.simulator import PATHS, Provider, key_header, simulate

NAMES = [f"{row.provider}, {row.dialect}: {row.name}" for row in BEHAVIOURS]
ROWS = [row for row in BEHAVIOURS if row.dialect in WIRES]


@dataclass(frozen=True)
class ReplacedFields:
    """A wire whose requests have other fields: those that nbtool itself does not send."""

    inner: Wire
    fields: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.inner.name

    def encode(self, prompt: Prompt, target: Target) -> Request:
        request = self.inner.encode(prompt, target)
        return replace(request, body={**request.body, **self.fields})

    def decoder(self, *, stream: bool = True) -> Decoder:
        return self.inner.decoder(stream=stream)


def endpoint_of(provider: Provider, dialect: str, model: str, fields: Mapping[str, Any]) -> HttpEndpoint:
    return HttpEndpoint(
        ReplacedFields(find_wire(dialect), fields), provider.url, model, provider=provider.name,
        key=Secret(provider.key),
        connection=Connection(auth=key_header(provider.name, dialect)),
        retries=RetryPolicy(attempts=0),
    )  # fmt: skip


def send(
    provider: Provider, dialect: str, model: str, prompt: Prompt, fields: Mapping[str, Any] = MappingProxyType({})
) -> Reply:
    endpoint = endpoint_of(provider, dialect, model, fields)

    async def read() -> Reply:
        builder = ReplyBuilder()
        async with aclosing(endpoint.stream(prompt)) as deltas:
            async for delta in deltas:
                builder.add(delta)
        return builder.reply()

    return asyncio.run(read())


def test_every_row_has_a_name_of_its_own() -> None:
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.provider}, {row.dialect}: {row.name}" for row in ROWS])
def test_a_provider_refuses_in_its_own_words_and_the_error_is_typed(row: Behaviour) -> None:
    with simulate(row.provider, behaviours=[row]) as provider, pytest.raises(ProviderError) as caught:
        send(provider, row.dialect, row.model, row.trigger, row.fields)

    assert provider.refused == [row.name]
    assert type(caught.value) is row.error
    assert caught.value.status == row.status
    assert words_of(row)[:60] in caught.value.message


def words_of(row: Behaviour) -> str:
    error = row.body.get("error", row.body)
    text = error if isinstance(error, str) else error.get("message") or error["detail"]
    return str(text).replace("{model}", row.model).split("\n")[0]


def test_every_provider_of_the_catalog_has_a_row_or_a_reason_to_have_none() -> None:
    with_row = {row.provider for row in BEHAVIOURS} & set(BUILTIN)

    assert set(BUILTIN) - with_row == set(WITHOUT_ROW)


def test_every_topic_has_a_row() -> None:
    assert {row.topic for row in BEHAVIOURS} | {one.topic for one in OBSERVATIONS} == set(Topic)


def test_every_text_dialect_is_tried() -> None:
    tried = {dialect for row in BEHAVIOURS for dialect in row.dialects or (row.dialect,)}

    assert tried == set(TEXT_DIALECTS) == set(WIRES) - set(MEDIA_KINDS)


@pytest.mark.nightly
def test_the_page_has_what_a_conversation_with_each_double_gives() -> None:
    assert tables().strip() == written().strip()


@pytest.mark.parametrize("name", ["zai", "anthropic"])
def test_an_account_without_credit_is_not_asked_again_and_the_fix_names_the_bill(name: str) -> None:
    row = next(row for row in BEHAVIOURS if (row.provider, row.name) == (name, "has an account without credit"))
    held = converse(row, row.dialect)

    assert len(held.provider.requests) == 1
    assert "billing page" in str(held.turns[0].error)


# --- the double itself ----------------------------------------------------------------------------------------

ANSWER = Answer("Let me see.", calls=(("double", {"n": 21}), ("double", {"n": 4})))


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("dialect", [name for name in STREAMS if name in WIRES])
def test_an_answer_reads_the_same_in_every_dialect(dialect: str, stream: bool) -> None:
    with simulate("any", ANSWER) as provider:
        reply = send(provider, dialect, "m", Prompt(PLAIN_MESSAGES, stream=stream))

    assert reply.complete
    assert reply.text == "Let me see."
    assert [(call.name, call.args, call.runnable) for call in reply.calls] == [
        ("double", {"n": 21}, True),
        ("double", {"n": 4}, True),
    ]
    assert provider.dialects == [dialect]


def test_a_key_expires_after_its_requests() -> None:
    with simulate("any", keys={"short": 1}) as provider:
        send(provider, "chat", "m", Prompt(PLAIN_MESSAGES))
        with pytest.raises(ProviderError) as caught:
            send(provider, "chat", "m", Prompt(PLAIN_MESSAGES))

    assert caught.value.status == 401
    assert provider.refused == ["key"]


def test_a_header_that_is_demanded_and_missing_is_refused() -> None:
    with simulate("any", headers={"x-team": "blue"}) as provider, pytest.raises(ProviderError, match="x-team"):
        send(provider, "chat", "m", Prompt(PLAIN_MESSAGES))


def test_every_dialect_has_a_path_and_an_answer() -> None:
    assert set(PATHS) == set(STREAMS)


PLAIN_MESSAGES = BEHAVIOURS[0].trigger.messages

"""What providers answer about batches, whatever its form; and requests that may or may not be sent twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from nbtool.errors import InvalidReply, ProviderError
from nbtool.wire.base import Request
from nbtool.wire.batches import BatchApi, LineResult, ProviderBatch, find_batch_api
from nbtool.wire.endpoints.model_endpoint import make_endpoint
from nbtool.wire.transport.retry import RetryPolicy
from nbtool.wire.transport.server_requests import Undecided
from tests.contract.simulator import Provider, simulate

KEY = "sk-of-a-test-1f0a9c"
DIALECTS = ["chat", "responses", "anthropic", "gemini"]
HOSTILE: list[Any] = [
    {}, [], "text", None, {"id": 5, "status": [], "metadata": "x", "request_counts": []},
    {"name": None, "metadata": {"state": {}, "batchStats": [1]}}, {"data": {}, "operations": 3},
    {"processing_status": {}, "request_counts": {"succeeded": "many", "errored": -1}, "created_at": "x" * 9_000},
]  # fmt: skip


@pytest.fixture
def model() -> Iterator[Provider]:
    with simulate() as provider:
        yield provider


def batches(model: Provider, wire: str) -> BatchApi:
    endpoint = make_endpoint("tiny", base_url=model.url, api_key=KEY, wire=wire)
    api = find_batch_api(replace(endpoint, retries=RetryPolicy(3, 0.0, 0.0)))
    assert api is not None
    return api


def answering(model: Provider, answer: Callable[[int], tuple[int, Any]]) -> list[str]:
    """Have the provider answer each request about batches by its number; return the requests."""
    asked: list[str] = []

    def refuse(request: Any) -> tuple[int, Any]:
        asked.append(f"{request.method} {request.path}")
        return answer(len(asked))

    model.batches.refuse = refuse
    return asked


def line(api: BatchApi) -> Any:
    return api.line("1", Request("/chat/completions", {"model": "tiny"}, stream=False))


async def results(api: BatchApi, batch: ProviderBatch) -> list[LineResult]:
    return [one async for one in api.results(batch)]


@pytest.mark.parametrize("wire", DIALECTS)
@pytest.mark.parametrize("answer", HOSTILE, ids=range(len(HOSTILE)))
def test_whatever_a_provider_answers_is_a_batch_or_one_error(model: Provider, wire: str, answer: Any) -> None:
    answering(model, lambda _: (200, answer))
    api = batches(model, wire)

    for work in (api.find("b"), api.list_latest()):
        found: Any = None
        with suppress(InvalidReply):
            found = asyncio.run(work)
        assert isinstance(found, ProviderBatch | list | None)


@pytest.mark.parametrize("wire", DIALECTS)
def test_results_that_are_no_results_are_errors_of_their_lines(model: Provider, wire: str) -> None:
    lines: list[Any] = [{"custom_id": "1"}, {"custom_id": 7, "result": "x", "response": [], "error": 1, "metadata": 3}]
    answer: Any = b"\n\n".join(json.dumps(line).encode() for line in lines)
    if wire == "gemini":
        answer = {"metadata": {"output": {"inlinedResponses": {"inlinedResponses": lines}}}}
    answering(model, lambda _: (200, answer))

    found = asyncio.run(results(batches(model, wire), ProviderBatch("b", "completed", result_files=("f",))))

    assert len(found) == 2
    assert all(one.body is None and one.error is not None for one in found)


def test_a_broken_line_ends_the_results_after_those_before_it(model: Provider) -> None:
    answering(model, lambda _: (200, b'{"custom_id": "1", "error": {"message": "x"}}\n{"custom_id": "2", "resp'))
    api, seen = batches(model, "chat"), []

    async def read() -> None:
        async for one in api.results(ProviderBatch("b", "completed", result_files=("f",))):
            seen.append(one.line_id)

    with pytest.raises(InvalidReply):
        asyncio.run(read())
    assert seen == ["1"]


@pytest.mark.parametrize("wire", DIALECTS)
@pytest.mark.parametrize("status", [500, 502, 504, 408])
def test_a_batch_is_not_created_again_where_it_may_have_been_created(model: Provider, wire: str, status: int) -> None:
    asked = answering(model, lambda _: (status, {"error": {"message": "no"}}))
    api = batches(model, wire)

    with pytest.raises(Undecided):
        asyncio.run(api.create([line(api)], "file", "tag"))
    assert len(asked) == 1


@pytest.mark.parametrize("wire", DIALECTS)
@pytest.mark.parametrize("status", [400, 401, 403, 413, 422])
def test_a_batch_that_is_refused_is_not_there(model: Provider, wire: str, status: int) -> None:
    asked = answering(model, lambda _: (status, {"error": {"message": f"The key {KEY} is wrong."}}))
    api = batches(model, wire)

    with pytest.raises(ProviderError) as failure:
        asyncio.run(api.create([line(api)], "file", "tag"))
    assert KEY not in str(failure.value)
    assert len(asked) == 1


@pytest.mark.parametrize("wire", DIALECTS)
def test_the_state_of_a_batch_is_asked_for_again_after_a_failure(model: Provider, wire: str) -> None:
    asked = answering(model, lambda number: (503, {}) if number < 3 else (200, {"id": "b", "name": "batches/b"}))

    assert asyncio.run(batches(model, wire).find("b")).batch_id in ("b", "batches/b")
    assert len(asked) == 3


@pytest.mark.parametrize("wire", ["anthropic", "gemini", "chat"])
def test_what_could_not_be_deleted_is_named(model: Provider, wire: str) -> None:
    answering(model, lambda _: (403, {"error": {"message": "no"}}))
    api = batches(model, wire)

    left = asyncio.run(api.delete(ProviderBatch("b-1", "completed", files=("f-1",)), "f-0"))

    assert any("b-1" in one for one in left)
    assert sum("f-" in one for one in left) == (2 if wire == "chat" else 0)


def test_an_id_of_a_batch_is_one_part_of_a_path(model: Provider) -> None:
    asked = answering(model, lambda _: (200, {}))

    for wire in DIALECTS:
        asyncio.run(batches(model, wire).find("../files/f?x=1#"))

    assert all("%3Fx%3D1%23" in one and "/files/" not in one for one in asked)

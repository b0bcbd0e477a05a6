"""What is read of a map whose prompts were handed over as a batch of the provider."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from nbtool import Chat, tool
from nbtool.chat.batch.provider.batch_watch import describe_batches
from nbtool.errors import NbtoolError
from nbtool.wire.batches import ProviderBatch
from tests.contract.simulator import Provider, Refusal, simulate

pytestmark = pytest.mark.usefixtures("own_journal")


@pytest.fixture
def model() -> Iterator[Provider]:
    with simulate() as provider:
        provider.always("yes")
        yield provider


@tool
def price() -> int:
    "Give a price."
    return 1


def chat(model: Provider, wire: str = "chat", **settings: Any) -> Chat:
    return Chat("tiny", wire=wire, base_url=model.url, api_key="key", **settings)


def texts(work: Any) -> str:
    """Return the errors and warnings of a map, without the port of the provider."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            batch = work()
            found = [str(answer.error) for answer in batch.errors] + list(batch.remains)
        except NbtoolError as error:
            found = [str(error)]
    found += [str(one.message) for one in warned]
    return re.sub(r"127\.0\.0\.1:\d+", "HOST", "\n".join(dict.fromkeys(found)))


def test_what_has_no_place_in_a_batch(model: Provider, snapshot: SnapshotAssertion) -> None:
    shop = chat(model)
    shop.expose(x=3)
    found = {
        "tools": texts(lambda: chat(model, tools=[price]).map(["a"], batch="provider")),
        "variables": texts(lambda: shop.map(["a"], batch="provider")),
        "on=": texts(lambda: chat(model).map(["a"], batch="provider", on=3)),
        "per_minute=": texts(lambda: chat(model).map(["a"], batch="provider", per_minute=3)),
        "another word": texts(lambda: chat(model).map(["a"], batch="half")),
        "no batches": texts(lambda: Chat("practice:fast").map(["a"], batch="provider")),
        "no price": texts(lambda: chat(model).map(["a"], batch="provider", usd=1)),
    }

    assert found == snapshot


def test_what_came_of_a_prompt(model: Provider, snapshot: SnapshotAssertion) -> None:
    found: dict[str, str] = {}

    def add(title: str, wire: str = "chat", **options: Any) -> None:
        options = {"progress": False, **options}
        found[title] = texts(lambda: chat(model, wire).map([title], batch="provider", **options))

    add("all is well")
    model.batches.unrun = ("expired",)
    add("expired")
    add("expired at Anthropic", "anthropic")
    model.batches.unrun = ()
    model.batches.end = "failed"
    add("failed")
    model.batches.end = "completed"
    model.batches.change = lambda _: []
    add("missing")
    model.batches.change = lambda lines: lines * 2
    add("twice")
    model.batches.change = lambda lines: lines
    model.always(Refusal(400, "No."))
    add("refused")
    model.always("yes")
    add("budget", tokens=5)
    model.batches.refuse = lambda _: (404, {"detail": "Not Found"})
    add("no endpoints")
    model.batches.refuse = lambda request: (502, {}) if request.path.endswith("/batches") else None
    add("not known")
    model.batches.refuse = lambda _: None
    found["the same once more"] = texts(lambda: chat(model).map(["not known"], batch="provider", progress=False))

    assert found == snapshot


def test_how_far_batches_are(snapshot: SnapshotAssertion) -> None:
    one, two = ProviderBatch("a", "queued", total=10), ProviderBatch("b", "running", total=1_000, done=120)

    found = {"one": describe_batches([one]), "one runs": describe_batches([two])}
    assert {**found, "three": describe_batches([one, two, one])} == snapshot

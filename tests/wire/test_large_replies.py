"""Replies of very many calls or items at once: they are refused while they are read, and nobody else waits for that."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from nbtool import Chat
from nbtool.chain.limits import Limits
from nbtool.chat.turn import Turn
from nbtool.wire import decode
from nbtool.wire.framing import json_payloads, known_secrets
from nbtool.wire.prompted.instructions import PromptFormat
from nbtool.wire.prompted.prompted_wire import PromptedWire
from nbtool.wire.registry import find_wire
from nbtool.wire.reply import CALLS_CEILING, MAX_ITEMS, MAX_REPLY_CALLS
from tests.beats import run_without_stall
from tests.chaos import event, head, serve, whole
from tests.wire.reading import close, feed
from tests.wire.test_many_calls import FORMS, candidate, documents, item, item_done, responses

MANY = 60_000


def written(number: int) -> dict[str, Any]:
    content = [{"type": "output_text", "text": f"{number} "}]
    return {"type": "message", "id": f"m{number}", "role": "assistant", "content": content}


def thought(number: int) -> dict[str, Any]:
    return {"type": "reasoning", "id": f"m{number}", "summary": [{"type": "summary_text", "text": f"{number} "}]}


def blocks(each: range) -> list[dict[str, Any]]:
    kinds = ("text", "thinking")
    return [{"type": kinds[number % 2], kinds[number % 2]: f"{number} "} for number in each]


def prompted(each: Iterable[int]) -> bytes:
    form = PromptFormat("json", None)
    text = "\n".join(form.render_call("count", f'{{"n": {number}}}') for number in each)
    return documents({"choices": [{"index": 0, "message": {"content": text}, "finish_reason": "stop"}]})


Body = tuple[str, Callable[[range], bytes]]

ITEMS: dict[str, Body] = {
    "responses: messages in a document": (
        "responses", lambda each: documents({"status": "completed", "output": list(map(written, each))}),
    ),
    "responses: messages at the end": ("responses", lambda each: responses(output=map(written, each))),
    "responses: messages, one by one": (
        "responses", lambda each: responses(*(item_done(written(n), output_index=n) for n in each)),
    ),
    "responses: thoughts and messages": (
        "responses", lambda each: responses(output=((written, thought)[n % 2](n) for n in each)),
    ),
    "anthropic: blocks in a document": (
        "anthropic",
        lambda each: documents({"type": "message", "stop_reason": "end_turn", "content": blocks(each)}),
    ),
    "gemini: parts in a document": (
        "gemini", lambda each: documents(candidate(*({"text": f"{n} ", "thoughtSignature": "c2k="} for n in each),
                                                   finishReason="STOP")),
    ),
}  # fmt: skip
"""How a reply can hold many items that are no calls."""


def is_at_once(form: Body) -> bool:
    """Whether all calls of a form come in one event or one document."""
    _, make = form
    return make(range(2)).count(b"\n\n") == make(range(20)).count(b"\n\n")


AT_ONCE: dict[str, Body] = {
    **{name: form for name, form in FORMS.items() if is_at_once(form)},
    "prompted: a document": ("chat-prompted", prompted),
}


def send(wire: str, *body: bytes) -> Turn:
    answer = [whole(200, body[0])] if body[0].startswith(b"{") else [head(), *body]
    mode: Any = "prompted" if "prompted" in wire else "auto"
    with serve(*answer) as server:
        chat = Chat("m", base_url=server.url, wire=wire.removesuffix("-prompted"), tool_mode=mode, tools=[print])
        chat.limits = Limits(max_rounds=1)
        return chat.send("Go")


@pytest.fixture(autouse=True, scope="module")
def _with_no_other_secrets() -> Iterator[None]:
    """Forget the keys of other tests: in hundreds of them a text is searched for each, as for few in a notebook."""
    before = dict(known_secrets._known)
    known_secrets._known.clear()
    yield
    known_secrets._known.update(before)


@pytest.fixture(autouse=True)
def _without_garbage_collection() -> Iterator[None]:
    """Its time grows with all that the tests before have left."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    """Load what the first turn loads."""
    send("chat", FORMS["chat: a document"][1](range(1)))


@pytest.mark.sampled(2)
@pytest.mark.promise("bounded")
@pytest.mark.parametrize("form", AT_ONCE)
def test_60_000_calls_at_once_are_refused_and_do_not_stall_the_loop(form: str) -> None:
    wire, make = AT_ONCE[form]
    body = make(range(MANY))
    turn = run_without_stall(lambda: send(wire, body))

    if "prompted" in wire:
        return  # a chat has a fence of its own, which no such text knows: it is read as prose
    assert all(not call.runnable for reply in turn.rounds for call in reply.calls)
    assert turn.rounds[0].stop_reason in ("calls", "unknown")
    assert len(turn.rounds[0].calls) in (0, MAX_REPLY_CALLS)
    assert turn.rounds[0].calls or "larger than" in str(turn.error)


@pytest.mark.sampled(2)
@pytest.mark.promise("bounded")
@pytest.mark.parametrize("form", ITEMS)
def test_50_000_items_are_refused_what_came_is_kept_and_the_loop_does_not_stall(form: str) -> None:
    wire, make = ITEMS[form]
    body = make(range(50_000))
    turn = run_without_stall(lambda: send(wire, body))

    assert turn.status == "error"
    assert f"more than {MAX_ITEMS:,} items" in str(turn.error)
    assert turn.text.startswith("0 ")
    assert str(MAX_ITEMS - 2) in turn.text
    assert "49998" not in turn.text


@pytest.mark.promise("bounded")
@pytest.mark.parametrize("field", ["content", "reasoning_content"])
def test_a_large_reply_takes_a_few_times_its_size_in_memory(field: str) -> None:
    size = 16 * 1024 * 1024
    piece = event({"choices": [{"index": 0, "delta": {field: "reason " * 2_400}}]})
    end = event({"choices": [{"index": 0, "delta": {"content": "Done."}, "finish_reason": "stop"}]})
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        turn = send("chat", *[piece] * (size // len(piece)), end)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert turn.status == "completed"
    assert (peak - before) / size < 6


@pytest.mark.parametrize("form", ITEMS)
def test_as_many_items_as_a_reply_may_have_are_read_to_the_last(form: str) -> None:
    wire, make = ITEMS[form]
    reply = decode(wire, make(range(MAX_ITEMS)), stream=not make(range(1)).startswith(b"{"))

    assert reply.complete
    assert str(MAX_ITEMS - 2) in reply.text


@pytest.mark.parametrize("form", AT_ONCE)
def test_a_decoder_builds_no_more_calls_than_the_ceiling(form: str) -> None:
    wire, make = AT_ONCE[form]
    body = make(range(3 * CALLS_CEILING))
    spoken_text = PromptedWire(find_wire("chat")) if "prompted" in wire else find_wire(wire)
    decoder = spoken_text.decoder(stream=not body.startswith(b"{"))
    calls = {delta.key for delta in (*feed(decoder, body), *close(decoder)) if delta.kind == "call_delta"}

    assert CALLS_CEILING < len(calls) < 2 * CALLS_CEILING


def test_nobody_may_allow_more_calls_than_the_ceiling_and_the_reply_says_so() -> None:
    body = responses(output=map(item, range(CALLS_CEILING + 5)))
    with serve(head(), body) as server:
        chat = Chat("m", base_url=server.url, wire="responses", tools=[print])
        chat.limits = Limits(max_rounds=1, max_calls=1_000_000)
        turn = chat.send("Go")

    assert turn.rounds[0].stop_reason == "calls"
    assert f"more than {CALLS_CEILING} calls" in turn.rounds[0].explanation
    assert turn.end_reason == "too_many_calls"
    assert "none of its calls ran" in turn.end_note


def test_a_document_of_very_many_values_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(_: bytes) -> None:
        raise AssertionError("it was read")

    monkeypatch.setattr(json_payloads, "from_json", read)
    turn = send("chat", b'{"choices": [' + b"[]," * (json_payloads.MAX_VALUES // 2 + 1) + b"0]}")

    assert f"more than {json_payloads.MAX_VALUES:,} values" in str(turn.error)

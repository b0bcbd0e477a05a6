"""What a reply says of its usage: every field of every dialect, over all events that report it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool.usage import Usage, count_names
from nbtool.wire import decode
from nbtool.wire.dialects.usage_fields import MAX_MODEL_NAME
from tests.wire import anthropics, chatting, geminis, responding

Fields = dict[str, Any]


def nested(*path: str, value: Any) -> Fields:
    for name in reversed(path):
        value = {name: value}
    return dict(value)


def chat(*usages: Any, model: Any = None) -> bytes:
    chunks = [chatting.chunk({"content": "Hi"}, usage=usage, model=model) for usage in usages]
    return chatting.stream(*chunks, chatting.chunk({}, "stop"))


def responses(*usages: Any, model: Any = None) -> bytes:
    said = responding.message_item("Hi")
    *first, last = usages
    progress = [{"type": "response.in_progress", "response": {"usage": usage, "model": model}} for usage in first]
    return responding.stream(*progress, responding.completed_event(said, usage=last, model=model))


def anthropic(*usages: Any, model: Any = None) -> bytes:
    first, *others = usages
    start = {"type": "message_start", "message": {"id": "m", "content": [], "usage": first, "model": model}}
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}}
    ends = [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage} for usage in others]
    end = [] if ends else [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}]
    return anthropics.stream(start, block, *ends, *end, {"type": "message_stop"})


def gemini(*usages: Any, model: Any = None) -> bytes:
    parts = [geminis.candidate({"text": "Hi"}, finishReason="STOP") for _ in usages]
    return geminis.stream(
        *({**part, "usageMetadata": one, "modelVersion": model} for part, one in zip(parts, usages, strict=True))
    )


BODIES: dict[str, Callable[..., bytes]] = {
    "chat": chat,
    "responses": responses,
    "anthropic": anthropic,
    "gemini": gemini,
}


def usage_of(wire: str, *usages: Any, model: Any = None) -> Usage:
    return decode(wire, BODIES[wire](*usages, model=model)).usage


def counted(usage: Usage) -> dict[str, int]:
    return {name: value for name in count_names() if (value := getattr(usage, name))}


def modality(name: str, kind: str) -> Fields:
    return {name: [{"modality": "TEXT", "tokenCount": 1}, {"modality": kind, "tokenCount": 70}, "no detail"]}


DETAILS = "prompt_tokens_details"
OUTPUT = "completion_tokens_details"
FIELDS: list[tuple[str, Fields, dict[str, int]]] = [
    ("chat", {"prompt_tokens": 70}, {"input_tokens": 70}),
    ("chat", {"completion_tokens": 70}, {"output_tokens": 70}),
    ("chat", {"input_tokens": 70, "output_tokens": 7}, {"input_tokens": 70, "output_tokens": 7}),
    ("chat", nested(DETAILS, "cached_tokens", value=70), {"cached_tokens": 70}),
    ("chat", {"prompt_cache_hit_tokens": 70}, {"cached_tokens": 70}),
    ("chat", nested(DETAILS, "cache_write_tokens", value=70), {"cache_write_tokens": 70}),
    ("chat", {"cache_creation_input_tokens": 70}, {"cache_write_tokens": 70}),
    ("chat", nested("cache_creation", "ephemeral_1h_input_tokens", value=70), {"cache_write_1h_tokens": 70}),
    ("chat", nested(DETAILS, "audio_tokens", value=70), {"input_audio_tokens": 70}),
    ("chat", nested(DETAILS, "image_tokens", value=70), {"input_image_tokens": 70}),
    ("chat", nested(DETAILS, "cached_tokens_details", "audio_tokens", value=70), {"cached_audio_tokens": 70}),
    ("chat", nested(DETAILS, "cached_tokens_details", "image_tokens", value=70), {"cached_image_tokens": 70}),
    ("chat", nested(OUTPUT, "audio_tokens", value=70), {"output_audio_tokens": 70}),
    ("chat", nested(OUTPUT, "image_tokens", value=70), {"output_image_tokens": 70}),
    ("chat", nested(OUTPUT, "reasoning_tokens", value=70), {"thinking_tokens": 70}),
    ("chat", nested("server_tool_use", "web_search_requests", value=70), {"web_searches": 70}),
    ("responses", {"input_tokens": 70}, {"input_tokens": 70}),
    ("responses", {"output_tokens": 70}, {"output_tokens": 70}),
    ("responses", nested("input_tokens_details", "cached_tokens", value=70), {"cached_tokens": 70}),
    ("responses", nested("input_tokens_details", "cache_write_tokens", value=70), {"cache_write_tokens": 70}),
    ("responses", nested("input_tokens_details", "audio_tokens", value=70), {"input_audio_tokens": 70}),
    ("responses", nested("input_tokens_details", "image_tokens", value=70), {"input_image_tokens": 70}),
    ("responses", nested("input_token_details", "audio_tokens", value=70), {"input_audio_tokens": 70}),
    ("responses", nested("output_tokens_details", "reasoning_tokens", value=70), {"thinking_tokens": 70}),
    ("responses", nested("output_tokens_details", "audio_tokens", value=70), {"output_audio_tokens": 70}),
    ("responses", nested("output_tokens_details", "image_tokens", value=70), {"output_image_tokens": 70}),
    ("responses", nested("server_side_tool_usage_details", "web_search_calls", value=70), {"web_searches": 70}),
    ("anthropic", {"input_tokens": 70}, {"input_tokens": 70}),
    ("anthropic", {"output_tokens": 70}, {"output_tokens": 70}),
    ("anthropic", {"cache_read_input_tokens": 70}, {"input_tokens": 70, "cached_tokens": 70}),
    ("anthropic", {"cache_creation_input_tokens": 70}, {"input_tokens": 70, "cache_write_tokens": 70}),
    (
        "anthropic",
        {"cache_creation": {"ephemeral_5m_input_tokens": 50, "ephemeral_1h_input_tokens": 20}},
        {"input_tokens": 70, "cache_write_tokens": 70, "cache_write_1h_tokens": 20},
    ),
    ("anthropic", nested("output_tokens_details", "thinking_tokens", value=70), {"thinking_tokens": 70}),
    ("anthropic", nested("server_tool_use", "web_search_requests", value=70), {"web_searches": 70}),
    ("gemini", {"promptTokenCount": 70}, {"input_tokens": 70}),
    ("gemini", {"toolUsePromptTokenCount": 70}, {"input_tokens": 70}),
    ("gemini", {"candidatesTokenCount": 70}, {"output_tokens": 70}),
    ("gemini", {"thoughtsTokenCount": 70}, {"output_tokens": 70, "thinking_tokens": 70}),
    ("gemini", {"cachedContentTokenCount": 70}, {"cached_tokens": 70}),
    ("gemini", modality("promptTokensDetails", "AUDIO"), {"input_audio_tokens": 70}),
    ("gemini", modality("toolUsePromptTokensDetails", "IMAGE"), {"input_image_tokens": 70}),
    ("gemini", modality("cacheTokensDetails", "AUDIO"), {"cached_audio_tokens": 70}),
    ("gemini", modality("cacheTokensDetails", "IMAGE"), {"cached_image_tokens": 70}),
    ("gemini", modality("candidatesTokensDetails", "AUDIO"), {"output_audio_tokens": 70}),
    ("gemini", modality("candidatesTokensDetails", "IMAGE"), {"output_image_tokens": 70}),
]


def emptied(fields: Any, value: Any) -> Any:
    """Return the fields with every number replaced."""
    if isinstance(fields, dict):
        return {name: emptied(field, value) for name, field in fields.items()}
    return [emptied(one, value) for one in fields] if isinstance(fields, list) else value


@pytest.mark.parametrize(("wire", "fields", "expected"), FIELDS, ids=str)
def test_a_field_is_counted(wire: str, fields: Fields, expected: dict[str, int]) -> None:
    assert counted(usage_of(wire, fields)) == expected


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("later", [0, None, -5, "many", True, float("inf"), {}, []], ids=repr)
@pytest.mark.parametrize(("wire", "fields", "expected"), FIELDS, ids=str)
def test_what_counts_nothing_replaces_no_count(wire: str, fields: Fields, expected: dict[str, int], later: Any) -> None:
    outer = dict.fromkeys(fields, later)

    assert counted(usage_of(wire, fields, outer)) == expected
    if not any(isinstance(value, list) for value in fields.values()):
        assert counted(usage_of(wire, fields, emptied(fields, later))) == expected
    assert counted(usage_of(wire, fields, {}, {"unknown": 1})) == expected


no_counts = st.one_of(
    st.none(), st.booleans(), st.just(0), st.integers(max_value=-1), st.floats(max_value=0), st.just(float("inf")),
    st.text("abc -.", max_size=5), st.lists(st.text(max_size=2), max_size=2),
)  # fmt: skip


@settings(max_examples=120)
@given(row=st.sampled_from(FIELDS), later=st.lists(no_counts, min_size=1, max_size=2))
def test_no_later_event_without_a_count_replaces_one(row: tuple[str, Fields, dict[str, int]], later: list[Any]) -> None:
    wire, fields, expected = row
    has_lists = any(isinstance(value, list) for value in fields.values())

    for one in later:
        assert counted(usage_of(wire, fields, dict.fromkeys(fields, one))) == expected
        assert counted(usage_of(wire, fields, emptied(fields, 0 if has_lists else one))) == expected


@settings(max_examples=80)
@given(row=st.sampled_from([row for row in FIELDS if "20" not in str(row)]), number=st.integers(8, 10**9))
def test_a_field_is_counted_whatever_its_number_and_as_a_text_too(
    row: tuple[str, Fields, dict[str, int]], number: int
) -> None:
    wire, fields, expected = row
    expected = {name: number if value == 70 else value for name, value in expected.items()}

    assert counted(usage_of(wire, numbered(fields, number))) == expected
    assert counted(usage_of(wire, numbered(fields, str(number)), emptied(fields, "0"))) == expected


def numbered(fields: Any, number: int | str) -> Any:
    """Return the fields with this number in the place of 70."""
    if isinstance(fields, dict):
        return {name: numbered(field, number) for name, field in fields.items()}
    return [numbered(one, number) for one in fields] if isinstance(fields, list) else number if fields == 70 else fields


@pytest.mark.parametrize(("wire", "fields", "expected"), FIELDS, ids=str)
def test_a_total_is_replaced_and_not_added(wire: str, fields: Fields, expected: dict[str, int]) -> None:
    assert counted(usage_of(wire, fields, fields, fields)) == expected


@pytest.mark.parametrize(
    ("wire", "name"),
    [("chat", "completion_tokens"), ("responses", "output_tokens"), ("anthropic", "output_tokens"),
     ("gemini", "candidatesTokenCount")],
)  # fmt: skip
def test_a_total_of_the_output_never_falls(wire: str, name: str) -> None:
    assert usage_of(wire, {name: 500}, {name: 20}).output_tokens == 500


def test_an_estimate_of_the_input_is_corrected() -> None:
    assert usage_of("chat", {"prompt_tokens": 4}, {"prompt_tokens": 3}).input_tokens == 3


def test_a_later_split_of_the_input_does_not_count_it_twice() -> None:
    usage = usage_of(
        "anthropic", {"input_tokens": 2_000, "output_tokens": 1}, {"input_tokens": 20, "cache_read_input_tokens": 1_980}
    )

    assert counted(usage) == {"input_tokens": 2_000, "cached_tokens": 1_980, "output_tokens": 1}


def test_reasoning_that_is_counted_beside_the_output_is_part_of_it() -> None:
    details = {"completion_tokens_details": {"reasoning_tokens": 110}}
    beside = usage_of("chat", {"prompt_tokens": 741, "completion_tokens": 15, "total_tokens": 866, **details})
    within = usage_of("chat", {"prompt_tokens": 741, "completion_tokens": 125, "total_tokens": 866, **details})

    assert (beside.output_tokens, beside.thinking_tokens, beside.total_tokens) == (125, 110, 866)
    assert counted(within) == counted(beside)


@pytest.mark.parametrize("wire", BODIES)
def test_the_model_that_answered_is_named(wire: str) -> None:
    usage = usage_of(wire, FIELDS[0][1], model="the-answering-model")

    assert usage.model == "the-answering-model"


@pytest.mark.parametrize("wire", BODIES)
@pytest.mark.parametrize("name", [None, 7, "", "  ", {}, "x" * 5_000], ids=lambda one: repr(one)[:10])
def test_a_name_of_a_model_that_is_none_is_bounded(wire: str, name: Any) -> None:
    assert len(usage_of(wire, {}, model=name).model.partition("[… ")[0]) <= MAX_MODEL_NAME


def hop(kind: str, tokens: int, output: int, **more: Any) -> Fields:
    return {"type": kind, "input_tokens": tokens, "output_tokens": output, **more}


def test_the_model_that_answered_in_place_of_another_is_named_and_counted_once() -> None:
    served = hop("fallback_message", 100, 50, model="successor")
    usage = usage_of(
        "anthropic", {"input_tokens": 100, "output_tokens": 50, "iterations": [served]}, model="predecessor"
    )

    assert (usage.input_tokens, usage.output_tokens, usage.model, usage.steps) == (100, 50, "successor", ())


@pytest.mark.parametrize("total", [(110, 57), (100, 50)], ids=["a total of all", "a total of the last"])
def test_a_model_that_declined_is_counted_once_at_its_own_price(total: tuple[int, int]) -> None:
    hops = [hop("message", 10, 7, model="predecessor"), hop("fallback_message", 100, 50, model="successor")]
    usage = usage_of("anthropic", {"input_tokens": total[0], "output_tokens": total[1], "iterations": hops})

    assert (usage.input_tokens, usage.output_tokens, usage.model) == (110, 57, "successor")
    assert [one.model for one in usage.parts()] == ["successor", *(["predecessor"] if total == (100, 50) else [])]


def test_the_tool_loop_of_the_answering_model_is_no_further_step() -> None:
    hops = [
        hop("message", 10, 7, model="predecessor"),
        hop("message", 60, 20, model="successor"),
        hop("fallback_message", 100, 50, model="successor"),
    ]
    usage = usage_of("anthropic", {"input_tokens": 160, "output_tokens": 70, "iterations": hops})

    assert (usage.input_tokens, usage.output_tokens) == (170, 77)
    assert [(one.model, one.total_tokens) for one in usage.steps] == [("predecessor", 17)]


def test_a_block_that_hands_over_to_another_model_names_it() -> None:
    block = {"type": "fallback", "from": {"model": "predecessor"}, "to": {"model": "successor"}}
    reply = decode(
        "anthropic",
        anthropics.stream(
            {"type": "message_start", "message": {"content": [], "model": "predecessor", "usage": {"input_tokens": 1}}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "Hi"}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
            {"type": "message_stop"},
        ),
    )

    assert (reply.usage.model, reply.usage.total_tokens) == ("successor", 4)


def test_a_picture_that_is_written_as_svg_is_a_step_of_another_model() -> None:
    png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    body = {
        "data": [{"b64_json": png}],
        "usage": {"input_tokens": 5, "output_tokens": 6, "input_tokens_details": {"image_tokens": 4}},
        "svg_usage": {"input_tokens": 10, "output_tokens": 20, "model": "writer"},
    }
    usage = decode("image", json.dumps(body).encode(), stream=False).usage

    assert (usage.input_tokens, usage.output_tokens, usage.input_image_tokens) == (15, 26, 4)
    assert [(one.model, one.total_tokens) for one in usage.parts()] == [("", 11), ("writer", 30)]


def test_parts_are_no_more_than_the_whole() -> None:
    impossible = Usage(*[10**6] * 4, cache_write_tokens=9, cache_write_1h_tokens=99, input_image_tokens=10**9)
    bounded = replace(impossible, input_tokens=50, output_tokens=5).bounded()

    assert bounded.cached_tokens + bounded.cache_write_tokens <= bounded.input_tokens == 50
    assert bounded.cache_write_1h_tokens <= bounded.cache_write_tokens
    assert bounded.thinking_tokens == bounded.output_tokens == 5
    assert bounded.input_image_tokens == 50
    assert all(value >= 0 for name, value in asdict(bounded).items() if name in count_names())


def test_a_sum_has_the_model_that_all_of_its_parts_have() -> None:
    one, other = Usage(1, model="a"), Usage(2, model="b")

    assert (one + one).model == "a"
    assert (Usage() + one).model == (one + Usage()).model == "a"
    assert (one + other).model == ""
    assert (one.with_steps((other,)) + one).steps == ()


@pytest.mark.parametrize("digits", ["5", "0005"])
def test_a_count_that_is_sent_as_digits_is_that_count(digits: str) -> None:
    usage = decode("chat", chat({"prompt_tokens": digits, "completion_tokens": "7"})).usage

    assert (usage.input_tokens, usage.output_tokens) == (5, 7)


@pytest.mark.parametrize("text", ["", "5.0", "-5", "\N{FULLWIDTH DIGIT FIVE}", "five", "9" * 16])
def test_a_count_that_is_another_text_is_none(text: str) -> None:
    assert decode("chat", chat({"prompt_tokens": text, "completion_tokens": 7})).usage.input_tokens == 0

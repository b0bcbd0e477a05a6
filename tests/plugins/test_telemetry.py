from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes import error_attributes, server_attributes
from opentelemetry.trace import SpanKind, StatusCode
from packaging.version import Version

from nbtool import Chat, tool
from nbtool.errors import BadUsage, InvalidReply
from nbtool.events import ReplyEnd, UsageDelta
from nbtool.messages import Media, Usage, user
from nbtool.plugins import semconv
from nbtool.plugins.telemetry import Telemetry
from nbtool.testing import ScriptedWire, call, cut, thinking

KNOWN = {
    value
    for module in (gen_ai_attributes, error_attributes, server_attributes)
    for name, value in vars(module).items()
    if name.isupper()
}

FOLLOWED = pytest.mark.skipif(
    Version(version("opentelemetry-semantic-conventions")) < Version("0.63b0"),
    reason="this list of the conventions, which comes with the oldest SDK, is older than the names that nbtool writes",
)


@tool(run="auto")
def double(n: int) -> int:
    "Twice a number."
    return 2 * n


@tool(run="auto")
def broken() -> None:
    "Break."
    raise ValueError("oh")


def spans_of(*replies: Any, content: bool = False, prompt: str = "What is SECRET twice?") -> dict[str, ReadableSpan]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry = Telemetry(content=content, tracer_provider=provider)
    with ScriptedWire(replies, host="127.0.0.1:8000", model="tiny") as wire:
        chat = Chat(wire=wire, tools=[double, broken], system="Be SECRET.", plugins=[telemetry])
        chat.send(prompt)
    provider.shutdown()
    return {f"{span.name} {number}": span for number, span in enumerate(exporter.get_finished_spans())}


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


ROUNDS = (
    [thinking("SECRET"), call("double", n=4), UsageDelta(Usage(10, 2, 3, 1)), ReplyEnd("tools", "tool_calls")],
    ["SECRET 8.", UsageDelta(Usage(20, 5)), ReplyEnd("end", "stop")],
)


def test_a_turn_is_a_span_with_its_requests_and_calls_below_it() -> None:
    spans = spans_of(*ROUNDS)

    turn = spans["invoke_agent nbtool 3"]
    assert list(spans) == ["chat tiny 0", "execute_tool double 1", "chat tiny 2", "invoke_agent nbtool 3"]
    assert turn.parent is None
    assert {span.parent and span.parent.span_id for span in list(spans.values())[:3]} == {turn.context.span_id}
    assert [span.kind for span in spans.values()] == [
        SpanKind.CLIENT, SpanKind.INTERNAL, SpanKind.CLIENT, SpanKind.INTERNAL,
    ]  # fmt: skip


def test_a_request_says_who_was_asked_and_what_it_cost() -> None:
    actual = attributes(spans_of(*ROUNDS)["chat tiny 0"])

    assert actual.pop("gen_ai.response.time_to_first_chunk") >= 0
    assert actual == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "unknown",
        "gen_ai.request.model": "tiny",
        "server.address": "127.0.0.1",
        "server.port": 8000,
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.usage.cache_read.input_tokens": 3,
        "gen_ai.usage.reasoning.output_tokens": 1,
        "gen_ai.response.finish_reasons": ("tool_call",),
    }


def test_the_turn_sums_up_its_usage() -> None:
    actual = attributes(spans_of(*ROUNDS)["invoke_agent nbtool 3"])

    assert (actual["gen_ai.usage.input_tokens"], actual["gen_ai.usage.output_tokens"]) == (30, 7)


@FOLLOWED
@pytest.mark.parametrize("content", [False, True])
def test_every_name_is_in_the_conventions(content: bool) -> None:
    names = {name for span in spans_of(*ROUNDS, content=content).values() for name in attributes(span)}

    assert names <= KNOWN


def test_the_text_is_left_out_unless_asked_for() -> None:
    without, with_it = (str([attributes(s) for s in spans_of(*ROUNDS, content=c).values()]) for c in (False, True))

    assert "SECRET" not in without
    assert with_it.count("SECRET") > 4


def test_content_is_written_in_the_form_of_the_conventions() -> None:
    spans = spans_of(*ROUNDS, content=True)

    asked = json.loads(attributes(spans["chat tiny 2"])["gen_ai.input.messages"])
    answered = json.loads(attributes(spans["chat tiny 0"])["gen_ai.output.messages"])
    assert [(m["role"], [p["type"] for p in m["parts"]]) for m in asked] == [
        ("user", ["text", "text"]), ("assistant", ["reasoning", "tool_call"]), ("tool", ["tool_call_response"]),
    ]  # fmt: skip
    assert answered[0]["finish_reason"] == "tool_call"
    assert answered[0]["parts"][1] | {"id": ""} == {
        "type": "tool_call", "id": "", "name": "double", "arguments": {"n": 4},
    }  # fmt: skip
    assert attributes(spans["execute_tool double 1"])["gen_ai.tool.call.result"] == "8"


def test_the_bytes_of_an_image_are_never_written() -> None:
    written = semconv.messages_attribute([user(Media("image/png", b"SECRET"))])

    assert json.loads(written)[0]["parts"][0]["mime_type"] == "image/png"
    assert "SECRET" not in written


def test_a_call_that_failed_says_so() -> None:
    span = spans_of(call("broken"), "Sorry.")["execute_tool broken 1"]

    assert attributes(span)["error.type"] == "error"
    assert span.status.status_code is StatusCode.ERROR


@pytest.mark.parametrize(
    ("reply", "error"), [(InvalidReply("The server sent HTML."), "InvalidReply"), (["Hm", cut()], "IncompleteReply")]
)
def test_a_request_that_failed_ends_with_the_error_of_its_turn(reply: Any, error: str) -> None:
    spans = spans_of(reply)

    assert [attributes(span)["error.type"] for span in spans.values()] == [error, error]


@FOLLOWED
def test_providers_are_named_as_the_conventions_name_them() -> None:
    known = {value.value for value in gen_ai_attributes.GenAiProviderNameValues}

    assert semconv.model_attributes("google:gemini-2.5-pro") == {
        "gen_ai.provider.name": "gcp.gemini", "gen_ai.request.model": "gemini-2.5-pro",
    }  # fmt: skip
    assert set(semconv.PROVIDERS.values()) - {"moonshot_ai"} <= known


def test_without_the_package_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)

    with pytest.raises(BadUsage, match="`%pip install opentelemetry-api`"):
        Telemetry()

"""What other projects reported: streams of compatible servers, calls in texts, phases, and answers as values."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest
from pydantic import BaseModel

from nbtool import Chat, tool
from nbtool.errors import InvalidAnswer, ServerOverloaded
from nbtool.messages import ToolResult, results, user
from nbtool.testing import play
from nbtool.tools.mcp.connection.failures import parse_exit_report
from nbtool.wire import Prompt, Target, decode, find_wire
from nbtool.wire.agents.process import describe_end
from nbtool.wire.transport.http_endpoint import HttpEndpoint
from nbtool.wire.transport.retry import RetryPolicy
from tests.chaos import DONE, Step, event, finish, head, serve_each, text
from tests.wire import responding
from tests.wire.chatting import call, calls, chunk, read, stream

RUNS: list[str] = []


@tool(run="auto")
def weather(city: str) -> str:
    "Give the weather of a city."
    RUNS.append(city)
    return "sunny"


@pytest.fixture(autouse=True)
def no_runs() -> None:
    RUNS.clear()


def ask(*replies: list[Step], model: str = "m", **more: Any) -> Any:
    """Send a prompt to a server with these replies, and return the turn and the server."""
    with serve_each(*replies) as server:
        turn = Chat(model, base_url=f"{server.url}/v1", api_key="k", tools=[weather]).send("Go", **more)
    return turn, server


def said(reply: str) -> list[Step]:
    return [head(), text(reply) + finish() + DONE]


def streamed(*chunks: dict[str, Any]) -> list[Step]:
    return [head(), stream(*chunks)]


# --- calls in fragments --------------------------------------------------------------------------------------------


def test_another_id_on_all_later_fragments_is_the_same_call() -> None:
    """poolsideai/pool#9, cubist38/mlx-openai-server#216: the id changes. Right: one call. Before: wrong."""
    fragments = call(0, "A", "weather", ""), call(0, "B", None, '{"city":'), call(0, "B", None, '"Oslo"}')
    turn, _ = ask(streamed(*map(chunk, fragments), chunk({}, "tool_calls")), said("done"))

    assert (turn.text, RUNS) == ("done", ["Oslo"])


def test_fragments_without_an_id_continue_the_call_of_their_index() -> None:
    """BerriAI/litellm#20712: later fragments have no id. Right: the arguments of their index. Before: right."""
    reply = read(chunk(call(0, "A", "f", '{"x":')), chunk(call(0, None, None, "1}")), chunk({}, "tool_calls"))

    assert calls(reply) == [("f", '{"x":1}')]


def test_the_empty_start_of_arguments_is_left_out() -> None:
    """openai/openai-agents-js#712: `{}` first. Right: the object behind it. Before: wrong."""
    first = streamed(
        chunk(call(0, "A", "weather", "{}")), chunk(call(0, None, None, '{"city":"Oslo"}')), chunk({}, "tool_calls")
    )
    turn, server = ask(first, said("done"))

    echoed = server.requests[1].json["messages"][-2]["tool_calls"][0]["function"]["arguments"]
    assert (RUNS, json.loads(echoed)) == (["Oslo"], {"city": "Oslo"})
    assert turn.text == "done"


def test_the_empty_object_of_a_call_without_arguments_stays() -> None:
    """openai/openai-agents-js#712: `{}` is all there is. Right: a call without arguments. Before: right."""
    assert calls(read(chunk(call(0, "A", "f", "{}")), chunk({}, "tool_calls"))) == [("f", "{}")]


def test_a_name_that_comes_with_every_fragment_is_one_name() -> None:
    """NousResearch/hermes-agent#11984: the whole name in each fragment. Right: `read_file` once. Before: right."""
    fragments = (call(0, "A", "read_file", piece) for piece in ('{"p":', '"x"', "}"))

    assert calls(read(*map(chunk, fragments), chunk({}, "tool_calls"))) == [("read_file", '{"p":"x"}')]


def test_a_name_in_pieces_is_joined() -> None:
    """openclaw/openclaw#130532: a name in pieces. Right: joined. Before: wrong."""
    fragments = call(0, "A", "wea", ""), call(0, None, "ther", '{"city":"Oslo"}')
    ask(streamed(*map(chunk, fragments), chunk({}, "tool_calls")), said("done"))

    assert RUNS == ["Oslo"]


def test_a_message_split_into_choices_is_one() -> None:
    """SWE-agent/mini-swe-agent#804, HKUDS/nanobot#1555: the call is in choice 1. Right: it is read. Before: wrong."""
    moved = {"index": 1, "delta": call(0, "A", "weather", '{"city":"Oslo"}'), "finish_reason": "tool_calls"}
    first = chunk({"content": "I look."}), {"choices": [moved]}, chunk({}, "tool_calls")
    turn, _ = ask(streamed(*first), said("done"))

    assert (turn.text, RUNS) == ("done", ["Oslo"])


# --- names that a model invented -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["multi_tool_use.parallel", "browser.tabs.open", "$READFILE", "f<|channel|>x", ""])
@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic", "gemini"])
def test_an_invented_name_is_replayed_as_servers_take_it(wire: str, name: str) -> None:
    """microsoft/semantic-kernel#4447, anomalyco/opencode#48750, vercel/ai#17769, NousResearch/hermes-agent#95021: a
    name with dots or marks, or none, in the history. Right: letters, digits, `_` and `-`, at most 64. Before: wrong."""
    item = {"type": "function_call", "id": "i", "call_id": "c", "name": name, "arguments": "{}", "status": "completed"}
    use = {"type": "tool_use", "id": "t", "name": name, "input": {}}
    part = {"functionCall": {"name": name, "args": {}}}
    bodies = {
        "chat": stream(chunk(call(0, "A", name, "{}"), "tool_calls")),
        "responses": responding.stream(responding.completed_event(item)),
        "anthropic": json.dumps({"type": "message", "stop_reason": "tool_use", "content": [use]}).encode(),
        "gemini": json.dumps({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]}).encode(),
    }
    message = decode(wire, bodies[wire]).message
    made = message.calls[0]
    outcome = results(ToolResult(made.name, "There is no such tool.", id=made.id, call_id=made.call_id, is_error=True))

    sent = json.dumps(find_wire(wire).encode(Prompt((user("Go"), message, outcome)), Target("", "")).body)

    names = re.findall(r'"name": "([^"]*)"', sent)
    assert names
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", one) for one in names)


# --- errors inside of a stream -------------------------------------------------------------------------------------

OVERLOADS: list[dict[str, Any]] = [
    {"type": "error", "error": {"type": "service_unavailable_error", "code": "server_is_overloaded", "message": "x"}},
    {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    {"choices": [], "error": {"code": 502, "message": "Provider returned error"}},
    {"code": 502, "message": "Network connection lost.", "metadata": {"error_type": "provider_unavailable"}},
    {"choices": [], "error": {"code": 429, "message": "Provider returned error"}},
]


@pytest.mark.parametrize("error", OVERLOADS, ids=["overloaded", "Anthropic", "OpenRouter", "bare", "limited"])
def test_a_temporary_error_in_a_stream_is_tried_again(error: dict[str, Any]) -> None:
    """router-for-me/CLIProxyAPI#2712, anomalyco/opencode#25731, anomalyco/opencode#22448, tontinton/maki#980: HTTP 200,
    then an error event. Right: tried again, as after its status. Before: wrong."""
    with serve_each([head(), event(error)], said("Hello")) as server:
        reply = play(endpoint(server.url), Prompt((user("Hi"),)))

    assert (reply.text, len(server.requests)) == ("Hello", 2)


def test_an_error_in_a_stream_has_the_class_of_its_status() -> None:
    """anthropics/anthropic-sdk-python#1258: an overload in a stream is an error of 200. Right: an overload.
    Before: right."""
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with serve_each([head(), event(error)]) as server, pytest.raises(ServerOverloaded):
        play(endpoint(server.url, attempts=0), Prompt((user("Hi"),)))


def test_a_permanent_error_in_a_stream_is_sent_once() -> None:
    """dcdpr/jp#978: a prompt that is too long, in a stream, was sent until the retries were used up. Right: once.
    Before: right."""
    error = {"choices": [], "error": {"code": 400, "message": "prompt is too long: 1284668 tokens > 1000000 maximum"}}
    with serve_each([head(), event(error)]) as server, pytest.raises(Exception, match="too long"):
        play(endpoint(server.url), Prompt((user("Hi"),)))

    assert len(server.requests) == 1


def endpoint(url: str, attempts: int = 2) -> HttpEndpoint:
    return HttpEndpoint(find_wire("chat"), url, "m", retries=RetryPolicy(attempts, min_delay=0.001))


def test_a_stream_of_json_lines_is_read() -> None:
    """hackclub/ai#17: chunks in lines, without `data:`. Right: the same text. Before: wrong."""
    lines = "".join(json.dumps(chunk({"content": piece})) + "\n" for piece in ("I", " am")) + json.dumps(
        chunk({}, "stop")
    )

    assert decode("chat", lines.encode()).text == "I am"


def test_a_responses_stream_of_done_events_is_read() -> None:
    """Sophomoresty/gemini-web2api#57: output_text.done alone has the text. Right: it is read. Before: wrong."""
    done = {"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": "4"}
    body = responding.stream({"type": "response.created", "response": {}}, done, responding.completed_event())

    assert decode("responses", body).text == "4"


def test_deltas_are_the_text_though_the_last_event_has_none() -> None:
    """QuantumNous/new-api#4362, agentgateway/agentgateway#3326: `output` is empty at the end. Right: the text of the
    deltas. Before: right."""
    delta = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "4"}

    assert decode("responses", responding.stream(delta, responding.completed_event())).text == "4"


# --- calls that a server left in the text --------------------------------------------------------------------------

LEAKS = [
    '{"name": "weather", "arguments": {"city": "Oslo"}}',
    '<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>',
    '<function=weather>{"city": "Oslo"}</function>',
]


@pytest.mark.parametrize("leak", LEAKS)
def test_a_call_in_the_text_is_named_and_does_not_run(leak: str) -> None:
    """NousResearch/hermes-agent#5867, jundot/omlx#2565, NVIDIA/NemoClaw#2731: the call is the text. Right: said, with
    the way out. Before: wrong."""
    turn, _ = ask(said(leak))

    assert (turn.text, RUNS) == (leak, [])
    assert any("--set tool_mode=prompted" in notice.text for notice in turn.notices)


# --- phases --------------------------------------------------------------------------------------------------------


def test_phases_go_back_with_the_history() -> None:
    """earendil-works/pi#1819, professorpalmer/marionette#228, Oaklight/llm-rosetta#440: the phase is lost. Right: both
    in the next request, and the answer alone is the text. Before: wrong."""
    items = [
        {"type": "message", "id": phase, "role": "assistant", "status": "completed", "phase": phase, "content": [part]}
        for phase, part in (
            ("commentary", {"type": "output_text", "text": "Let me check."}),
            ("final_answer", {"type": "output_text", "text": "Sunny."}),
        )
    ]
    with serve_each([head(), responding.stream(responding.completed_event(*items))]) as server:
        chat = Chat("openai:m", base_url=f"{server.url}/v1", api_key="k", wire="responses")
        turn = chat.send("Go")
        chat.send("And now?")

    sent = [item.get("phase") for item in server.requests[1].json["input"] if item.get("role") == "assistant"]
    assert (turn.text, sent) == ("Sunny.", ["commentary", "final_answer"])


def test_a_reply_of_commentary_only_is_not_silent() -> None:
    """cartesia-ai/line#245: only commentary came, and the turn was silent. Right: it is the text. Before: right."""
    item = {
        "type": "message", "id": "m", "role": "assistant", "status": "completed", "phase": "commentary",
        "content": [{"type": "output_text", "text": "Is that right?"}],
    }  # fmt: skip
    with serve_each([head(), responding.stream(responding.completed_event(item))]) as server:
        turn = Chat("openai:m", base_url=f"{server.url}/v1", api_key="k", wire="responses").send("Go")

    assert turn.text == "Is that right?"


# --- answers as values ---------------------------------------------------------------------------------------------


class Work(BaseModel):
    title: str
    n: int


@pytest.mark.parametrize(
    "answer",
    [
        '{"title": "a,]", "n": 1,}',
        'Stray { brace: {"title": "a,]", "n": 1}',
        '```js\n{"title": "a,]", "n": 1,}\n```',
    ],
)
def test_a_comma_after_the_last_item_is_no_failure(answer: str) -> None:
    """Open-Historia/open-historia#354, ducroo/SICTIC-AI#37: a comma too many, a stray brace, another fence. Right:
    read, with texts as they are. Before: wrong."""
    turn, server = ask(said(answer), as_=Work)

    assert turn.value == Work(title="a,]", n=1)
    assert len(server.requests) == 1


def test_a_half_complete_answer_is_called_so() -> None:
    """googleapis/python-genai#2266: the JSON ends in the middle, with `stop`. Right: asked again, and the cut is named.
    Before: wrong."""
    turn, server = ask(said('{"title": "a", "n":'), as_=Work)

    assert "ends before it is complete" in str(turn.error)
    assert "ends before it is complete" in json.dumps(server.requests[1].json["messages"][-1])


# --- tokens, arguments and events of another form -------------------------------------------------------------------


def test_a_token_that_arrives_as_a_number_is_in_the_answer() -> None:
    """cloudflare/ai#651, cloudflare/ai#655: `delta.content` is 6 or 0.005. Right: `$0.005 [60]`. Before: wrong."""
    turn, _ = ask(streamed(*(chunk({"content": one}) for one in ("$", 0.005, " [", 6, 0, "]")), chunk({}, "stop")))

    assert turn.text == "$0.005 [60]"


def test_reasoning_that_is_an_object_is_shown() -> None:
    """envoyproxy/ai-gateway#1222: `reasoning_content` is `{"text": …}`. Right: the thinking. Before: wrong."""
    thoughts = [chunk({"reasoning_content": {"text": one}}) for one in ("I need ", "27*5")]
    turn, _ = ask(streamed(*thoughts, chunk({"content": "135"}), chunk({}, "stop")))

    assert (turn.thinking, turn.text) == ("I need 27*5", "135")


def test_arguments_that_are_encoded_twice_are_those_arguments() -> None:
    """quarkiverse/quarkus-langchain4j#2642, FoundationAgents/OpenManus#989: twice. Right: it runs. Before: wrong."""
    twice = json.dumps(json.dumps({"city": "Oslo"}))
    turn, _ = ask(streamed(chunk(call(0, "A", "weather", twice)), chunk({}, "tool_calls")), said("done"))

    assert (RUNS, turn.text) == (["Oslo"], "done")


def test_a_field_name_before_the_data_once_more_is_no_data() -> None:
    """openclaw/openclaw#97474: a gateway sends `data: data: {…}`. Right: the answer. Before: wrong."""
    body = stream(chunk({"content": "hi"}), chunk({}, "stop")).replace(b"data: ", b"data: data: ")
    turn, _ = ask([head(), body])

    assert turn.text == "hi"


def test_a_comment_that_a_gateway_passes_on_as_an_event_is_no_data() -> None:
    """mnfst/llm-gateway#2053: `data: : OPENROUTER PROCESSING`. Right: ignored. Before: wrong."""
    turn, _ = ask([head(), b"data: : OPENROUTER PROCESSING\n\n" + stream(chunk({"content": "hi"}), chunk({}, "stop"))])

    assert turn.text == "hi"


# --- JSON in JSON --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [150, 900, 2_000, 100_000])
@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_arguments_that_are_nested_too_deeply_are_a_failed_call(depth: int, brackets: str) -> None:
    """jundot/omlx#2545: brackets in brackets escape the parser of calls as RecursionError; kirodotdev/KiroCrew#8218: at
    2,000 they are read, and cannot be written. Right: the call does not run, the model reads why, and the turn goes on.
    Before: right."""
    opening = "[" if brackets == "[]" else '{"a":'
    arguments = f'{{"city": {opening * depth}1{brackets[1] * depth}}}'
    turn, _ = ask(streamed(chunk(call(0, "A", "weather", arguments)), chunk({}, "tool_calls")), said("done"))

    assert (turn.text, RUNS, len(turn.calls)) == ("done", [], 1)
    assert turn.calls[0].status in ("invalid", "not_run")


@pytest.mark.parametrize("answer", ["[" * 10_000, "```json\n" + "[" * 10_000 + "\n```", '{"a":' * 10_000])
def test_an_answer_that_is_nested_too_deeply_fails_alone_in_a_map(answer: str) -> None:
    """Liquid4All/ifstruct#5: such an answer, bare or in a fence, ends the whole batch. Right: it is asked again, and
    only its row fails. Before: right."""
    with serve_each(*[said(answer)] * 3) as server:
        batch = Chat("m", base_url=f"{server.url}/v1", api_key="k").map(["Go"], as_=list[int])

    assert [type(error) for error in batch.values] == [InvalidAnswer]


def test_what_a_program_wrote_at_its_end_may_be_nested_too_deeply() -> None:
    """notatallshaw/nab#1007, BasedHardware/omi#13521: handlers of ValueError alone let it through. Right: the end is
    described with what was written. Before: wrong."""
    deep = "[" * 100_000

    assert describe_end(deep.encode()).endswith("[[[")
    assert parse_exit_report(io.StringIO(deep))[1].endswith("[[[")

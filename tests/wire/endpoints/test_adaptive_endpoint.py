"""Requests that a model refuses, adapted and sent again, over a real socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.chain.hooks import RequestContext
from nbtool.chat.turn import Turn
from nbtool.events import Notice
from nbtool.messages import Media, user
from nbtool.settings import data_dir
from nbtool.wire.endpoints.refused_fields import NEEDS_CHOICE, OPTIONAL_FIELDS
from tests.chaos import DONE, ChaosServer, Received, event, finish, head, serve_by, serve_each, text, whole
from tests.samples import PNG
from tests.wire import anthropics
from tests.wire.process_state import clear_adaptations
from tests.wire.test_refusals import SAMPLES

Answer = list[bytes]

CHAT_REPLY: Answer = [head(), text("42."), finish(), DONE]

DOUBLE = {"index": 0, "id": "c1", "type": "function", "function": {"name": "double", "arguments": '{"n": 21}'}}
CHAT_CALL: Answer = [
    head(), event({"choices": [{"index": 0, "delta": {"tool_calls": [DOUBLE]}}]}), finish("tool_calls"), DONE,
]  # fmt: skip


def responses_reply(*items: dict[str, Any]) -> Answer:
    said = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "42."}]}
    output = [{**item, "status": "completed"} for item in (*items, said)]
    return [head(), event({"type": "response.completed", "response": {"status": "completed", "output": output}})]


@tool(run="auto")
def double(n: int) -> int:
    "Twice a number."
    return 2 * n


@pytest.fixture(autouse=True)
def no_adaptations() -> Iterator[None]:
    clear_adaptations()
    yield
    clear_adaptations()


@pytest.fixture
def own_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Return a function that makes a loopback server the own host of a provider."""
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    def configure(server: ChaosServer, provider: str = "openai") -> None:
        (tmp_path / "providers.toml").write_text(f'[{provider}]\nbase_url = "{server.url}"\n')

    return configure


def notices(turn: Turn) -> list[str]:
    return [event.text for event in turn.log if isinstance(event, Notice)]


def refusal(message: str, status: int = 400, **fields: str) -> Answer:
    return [whole(status, {"error": {"message": message, "type": "invalid_request_error", **fields}})]


def test_openai_on_its_own_host_speaks_responses(own_host: Any) -> None:
    with serve_each(responses_reply()) as server:
        own_host(server)
        turn = Chat("openai:gpt-6.1-terra", tools=[double]).send("Double 21.")

    body = server.requests[0].json
    assert (turn.text, server.requests[0].path) == ("42.", "/v1/responses")
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["reasoning"] == {"summary": "auto"}


def test_openai_at_another_address_speaks_chat_completions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with serve_each(CHAT_REPLY) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        Chat("openai:tiny").send("Hi")

    assert server.requests[0].path == "/v1/chat/completions"


def test_azure_speaks_responses_at_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    with serve_each(responses_reply()) as server:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url.removesuffix("/v1"))
        Chat("azure:deployment").send("Hi")

    assert server.requests[0].path == "/openai/v1/responses"


def test_the_wire_that_a_file_of_providers_names_holds_at_every_address(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with serve_each(responses_reply()) as server:
        (tmp_path / "providers.toml").write_text('[openai]\nwire = "responses"\n')
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        Chat("openai:tiny").send("Hi")

    assert server.requests[0].path == "/v1/responses"


@pytest.mark.parametrize("message", SAMPLES["chat"])
def test_a_refusal_that_names_the_other_api_changes_the_wire_once_and_is_remembered(message: str) -> None:
    with serve_each(refusal(message), responses_reply(), responses_reply()) as server:
        chat = Chat("tiny", base_url=server.url, tools=[double])
        first = chat.send("Double 21.")
        second = Chat("tiny", base_url=server.url, tools=[double]).send("Again.")

    paths = [request.path for request in server.requests]
    assert paths == ["/v1/chat/completions", "/v1/responses", "/v1/responses"]
    assert (first.text, second.text) == ("42.", "42.")
    assert notices(first) == ["tiny does not take this request over Chat Completions; Responses is used instead."]
    assert notices(second) == []


@pytest.mark.parametrize("message", SAMPLES["responses"])
def test_a_model_that_is_not_in_the_responses_api_is_called_over_chat_completions(message: str, own_host: Any) -> None:
    with serve_each(refusal(message), CHAT_REPLY) as server:
        own_host(server)
        turn = Chat("openai:old").send("Hi")

    assert [request.path for request in server.requests] == ["/v1/responses", "/v1/chat/completions"]
    assert turn.text == "42."
    assert len(notices(turn)) == 1


@pytest.mark.parametrize("status", [404, 405, 501])
def test_a_server_without_the_responses_api_is_called_over_chat_completions(status: int, own_host: Any) -> None:
    with serve_each([whole(status, b"no such path")], CHAT_REPLY) as server:
        own_host(server)
        turn = Chat("openai:old").send("Hi")

    assert [request.path for request in server.requests] == ["/v1/responses", "/v1/chat/completions"]
    assert (turn.text, len(notices(turn))) == ("42.", 1)


def test_a_wire_that_the_user_chose_is_not_changed() -> None:
    with serve_each(refusal(SAMPLES["chat"][0])) as server:
        turn = Chat("tiny", base_url=server.url, tools=[double], wire="chat").send("Double 21.")

    assert len(server.requests) == 1
    assert "use /v1/responses" in str(turn.error)


def test_two_wires_that_both_refuse_end_the_turn() -> None:
    with serve_each(refusal(SAMPLES["chat"][0]), refusal(SAMPLES["responses"][0])) as server:
        turn = Chat("tiny", base_url=server.url, tools=[double]).send("Double 21.")

    assert len(server.requests) == 2
    assert turn.status == "error"


def test_what_only_the_other_wire_can_carry_is_sent_over_it(own_host: Any) -> None:
    with serve_each(CHAT_REPLY) as server:
        own_host(server)
        turn = Chat("openai:audio").send(user("Listen.", Media("audio/wav", b"RIFF")))

    assert [request.path for request in server.requests] == ["/v1/chat/completions"]
    assert turn.text == "42."


def test_the_reply_after_a_change_goes_back_in_its_new_dialect() -> None:
    reasoning = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "sealed"}
    with serve_each(refusal(SAMPLES["chat"][0]), responses_reply(reasoning), responses_reply()) as server:
        chat = Chat("tiny", base_url=server.url, tools=[double], history="native")
        chat.send("Double 21.")
        chat.send("Again.")

    assert "sealed" in str(server.requests[2].json["input"])


FIELD_REFUSALS = {
    "no_encrypted_reasoning": ("include", "Encrypted content is not supported with this model."),
    "reasoning_summary": (
        "reasoning.summary",
        "Your organization must be verified to generate reasoning summaries. Please go to the settings.",
    ),
}


@pytest.mark.parametrize("ability", FIELD_REFUSALS)
@pytest.mark.parametrize("has_param", [True, False])
def test_a_field_that_is_refused_is_left_out_once_and_the_user_is_informed(
    ability: str, has_param: bool, own_host: Any
) -> None:
    param, message = FIELD_REFUSALS[ability]
    fields = {"param": param} if has_param else {}
    with serve_each(refusal(message, **fields), responses_reply(), responses_reply()) as server:
        own_host(server)
        first = Chat("openai:new").send("Hi")
        second = Chat("openai:new").send("Hi")

    name = param.partition(".")[0]
    assert [name in request.json for request in server.requests] == [True, False, False]
    assert len(notices(first)) == 1
    assert notices(second) == []
    assert first.text == second.text == "42."


REFUSED_DISPLAY = [
    "thinking.adaptive.display: Extra inputs are not permitted",
    "thinking: Extra inputs are not permitted",
    "Unknown parameter: 'thinking'.",
    "Unrecognized request argument supplied: thinking",
    "litellm.UnsupportedParamsError: bedrock does not support parameters: ['thinking'], for model=claude-opus-5-5.",
    "thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags: 'disabled', 'enabled'",
    'json: unknown field "thinking"',
    "The `thinking` parameter is not supported by this model.",
    "thinking type should be enabled or disabled",
]


@pytest.mark.parametrize("message", REFUSED_DISPLAY)
def test_a_gateway_that_refuses_to_show_thinking_is_asked_without(message: str) -> None:
    answer = anthropics.stream(
        {"type": "message_start", "message": {"id": "m", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "42."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"},
    )  # fmt: skip
    refused = whole(400, {"type": "error", "error": {"type": "invalid_request_error", "message": message}})
    with serve_each([refused], [head(), answer], [head(), answer]) as server:
        turns = [Chat("claude-opus-5-5", base_url=server.url, wire="anthropic").send("Hi") for _ in range(2)]

    assert [turn.text for turn in turns] == ["42.", "42."]
    assert ["thinking" in request.json for request in server.requests] == [True, False, False]
    assert [len(notices(turn)) for turn in turns] == [1, 0]


@pytest.mark.parametrize(
    "message",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block. Set `thinking.block_binding`.",
        "messages.1.content.0.type: Expected `thinking`, but found `text`. When `thinking` is enabled, a final "
        "assistant message must start with a thinking block.",
        "messages: at least one message is required",
    ],
)
def test_a_refusal_of_anything_else_is_none_of_the_display(message: str) -> None:
    refused = whole(400, {"type": "error", "error": {"type": "invalid_request_error", "message": message}})
    with serve_each([refused]) as server:
        turn = Chat("claude-opus-5-5", base_url=server.url, wire="anthropic").send("Hi")

    assert turn.status == "error"
    assert len(server.requests) == 1
    assert notices(turn) == []


def test_several_refused_fields_are_left_out_one_after_another(own_host: Any) -> None:
    refusals = [refusal(message, param=param) for param, message in FIELD_REFUSALS.values()]
    with serve_each(*refusals, responses_reply()) as server:
        own_host(server)
        turn = Chat("openai:new").send("Hi")

    assert turn.text == "42."
    assert not {"include", "reasoning"} & server.requests[-1].json.keys()


def test_a_refused_option_of_the_user_is_an_error(own_host: Any) -> None:
    with serve_each(refusal("Unsupported value", param="reasoning.summary")) as server:
        own_host(server)
        turn = Chat("openai:new", options={"reasoning": {"summary": "detailed"}}).send("Hi")

    assert len(server.requests) == 1
    assert turn.status == "error"


CHOICE_REFUSALS = {
    "the parameter": refusal("Unsupported value: 'none'.", param="tool_choice"),
    "the message": refusal("tool_choice: Input should be 'auto' or 'required'", status=422),
    "the tools": refusal("This model does not support tools"),
    "a call": refusal("Tool choice is none, but model called a tool", code="tool_use_failed"),
}
"""Refusals of a request for a final reply; the last one is of Groq."""


@pytest.mark.parametrize("case", CHOICE_REFUSALS)
def test_a_final_reply_is_requested_without_tools_where_tools_must_be_callable(case: str) -> None:
    with serve_each(CHAT_CALL, CHOICE_REFUSALS[case], CHAT_REPLY, CHAT_CALL, CHAT_REPLY) as server:
        chat = Chat("tiny", base_url=server.url, tools=[double], max_rounds=2)
        first, second = chat.send("Double 21."), chat.send("Again.")

    bodies = [request.json for request in server.requests]
    assert [("tools" in body, body.get("tool_choice")) for body in bodies] == [
        (True, None), (True, "none"), (False, None), (True, None), (False, None),
    ]  # fmt: skip
    assert (first.text, second.text) == ("42.", "42.")
    notice = NEEDS_CHOICE.format(model="tiny")
    assert (notices(first).count(notice), notices(second).count(notice)) == (1, 0)


@pytest.mark.parametrize(("text", "status"), [("messages: too many", 400), ("tool_choice is not for you", 403)])
def test_another_refusal_of_a_final_reply_ends_the_turn(text: str, status: int) -> None:
    with serve_each(CHAT_CALL, refusal(text, status=status)) as server:
        turn = Chat("tiny", base_url=server.url, tools=[double], max_rounds=2).send("Double 21.")

    assert (turn.status, len(server.requests)) == ("error", 2)


def test_every_optional_field_names_what_is_lost() -> None:
    assert [one.ability for one in OPTIONAL_FIELDS if not one.notice and one.ability != "max_completion_tokens"] == []


def test_reasoning_that_cannot_go_back_is_reported_once(own_host: Any) -> None:
    unsealed = {"type": "reasoning", "id": "rs", "summary": []}
    with serve_each(responses_reply(unsealed)) as server:
        own_host(server)
        chat = Chat("openai:new")
        first, second = chat.send("Hi"), chat.send("Hi")

    assert notices(first) == [
        "new does not return its reasoning, so it does not carry over from one request to the next."
    ]
    assert notices(second) == []


@pytest.mark.parametrize(
    ("wire", "options", "sent"),
    [
        ("responses", {"max_tokens": 5}, {"max_output_tokens": 5}),
        ("responses", {"max_completion_tokens": 5}, {"max_output_tokens": 5}),
        ("responses", {"reasoning_effort": "low"}, {"reasoning": {"effort": "low"}}),
        ("responses", {"verbosity": "low"}, {"text": {"verbosity": "low"}}),
        ("chat", {"max_output_tokens": 5}, {"max_tokens": 5}),
        ("chat", {"reasoning": {"effort": "low"}}, {"reasoning_effort": "low"}),
        ("chat", {"reasoning": {"effort": "low", "exclude": True}}, {"reasoning": {"effort": "low", "exclude": True}}),
        ("chat", {"text": {"verbosity": "low"}}, {"verbosity": "low"}),
        ("gemini", {"max_tokens": 5}, {"generationConfig": {"maxOutputTokens": 5}}),
        ("gemini", {"temperature": 0, "stop": ["."]}, {"generationConfig": {"temperature": 0, "stopSequences": ["."]}}),
        ("gemini", {"reasoning_effort": "low"}, {"generationConfig": {"thinkingConfig": {"thinkingLevel": "low"}}}),
    ],
)
def test_options_have_the_names_of_the_wire_that_is_used(
    wire: str, options: dict[str, Any], sent: dict[str, Any]
) -> None:
    body = Chat("tiny", base_url="http://127.0.0.1:9/v1", wire=wire, options=options).rehearse("Hi").body

    assert body.items() >= sent.items()
    assert not (options.keys() - sent.keys()) & body.keys()


DAMAGED = ['["chat"]', '"image"', '"nosuch"', '"responses\\n"', "7", "null"]
"""What a damaged cache may say of the dialect that a model wants."""


@pytest.mark.parametrize("wire", DAMAGED)
def test_a_dialect_in_the_cache_that_is_none_of_a_text_model_is_ignored(wire: str) -> None:
    with serve_each(CHAT_REPLY) as server:
        (data_dir() / "models.json").write_text(f'{{"wires": {{"{server.host} m": {wire}}}}}')
        turn = Chat("m", base_url=server.url).send("Hi")

    assert (turn.text, turn.error) == ("42.", None)


PICTURE = Media("image/png", PNG)

DRAW = {"index": 0, "id": "c1", "type": "function", "function": {"name": "draw", "arguments": "{}"}}
DRAW_CALL: Answer = [
    head(), event({"choices": [{"index": 0, "delta": {"tool_calls": [DRAW]}}]}), finish("tool_calls"), DONE,
]  # fmt: skip


@tool(run="auto")
def draw() -> object:
    "Draw."
    return PICTURE


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "this model does not support image input (ref: b8bd630e)"),
        (400, "Model do not support image input."),
        (404, "No endpoints found that support image input"),
        (400, "Failed to deserialize the JSON body: unknown variant `image_url`, expected `text`"),
        (400, "m is not a multimodal model"),
    ],
)
def test_a_model_that_refuses_images_gets_a_line_for_those_of_results(status: int, message: str) -> None:
    with serve_each(DRAW_CALL, refusal(message, status), CHAT_REPLY, CHAT_REPLY) as server:
        chat = Chat("tiny", base_url=server.url, tools=[draw])
        first, second = chat.send("Draw."), chat.send("Again.")

    assert [turn.status for turn in (first, second)] == ["completed", "completed"], first.error
    assert notices(first) == ["tiny takes no images here, so those of results are not attached."]
    bodies = [str(request.json) for request in server.requests]
    assert ["data:image/png" in body for body in bodies] == [False, True, False, False]
    assert "[1 image, not attached: tiny takes no images here]" in bodies[2]


def test_a_provider_that_takes_no_images_gets_none(own_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "k")
    with serve_each(DRAW_CALL, CHAT_REPLY) as server:
        own_host(server, "deepseek")
        turn = Chat("deepseek:chat", tools=[draw]).send("Draw.")

    assert (turn.text, notices(turn)) == ("42.", [])
    assert "data:image/png" not in str(server.requests[1].json)
    assert "[1 image, not attached: chat takes no images here]" in str(server.requests[1].json)


def test_an_image_that_the_person_attached_is_sent_all_the_same() -> None:
    with serve_each(refusal("this model does not support image input"), CHAT_REPLY) as server:
        turn = Chat("tiny", base_url=server.url).send("Look.", attach=[PICTURE])

    assert turn.status == "error"
    assert len(server.requests) == 1


class DoubleFirst:
    """Requires a call of `double` in the first round."""

    def on_before_request(self, request: RequestContext) -> None:
        request.tool_choice = "double" if request.round == 1 else "auto"


def test_a_required_call_that_is_described_is_all_that_a_server_that_constrains_decoding_lets_a_model_write() -> None:
    def answer(received: Received) -> Answer:
        if "response_format" not in received.json:
            return CHAT_REPLY
        schema = received.json["response_format"]["json_schema"]["schema"]
        (word,) = schema["properties"]
        return [head(), text(json.dumps({word: {"name": "double", "arguments": {"n": 21}}})), finish(), DONE]

    with serve_by(answer) as server:
        turn = Chat(
            "vllm:tiny", base_url=server.url, tools=[double], tool_mode="prompted", plugins=[DoubleFirst()]
        ).send("Double 21.")

    assert [(call.name, call.result) for call in turn.calls] == [("double", 42)]


def test_a_server_that_constrains_no_decoding_gets_a_required_call_in_the_prompt_only() -> None:
    refused = refusal("response_format of type json_schema is not supported")
    with serve_each(refused, CHAT_REPLY, CHAT_REPLY) as server:
        chat = Chat("vllm:tiny", base_url=server.url, tools=[double], tool_mode="prompted", plugins=[DoubleFirst()])
        turn, later = chat.send("Double 21."), chat.send("Again.")

    constrained, free, again = (request.json for request in server.requests)
    assert "response_format" in constrained
    assert "response_format" not in free.keys() | again.keys()
    assert (len(notices(turn)), notices(later)) == (1, [])

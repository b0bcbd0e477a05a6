from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from nbtool.messages import (
    Media,
    Message,
    Native,
    Refusal,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    assistant,
    results,
    user,
)
from nbtool.wire.base import Prompt, Target, ToolSpec
from nbtool.wire.dialects.gemini.contents import FOREIGN_SIGNATURE
from tests.wire.geminis import CALL, HERE, OLDER, SIGNATURE, WIRE, body_of, contents_of

PRICE = ToolSpec("price", "Give a price.", {"type": "object", "properties": {"ticker": {"type": "string"}}})
QUESTION = ToolCall("price", '{"ticker": "A"}', id="g1", call_id="call_1", runnable=True)
ANSWER = results(ToolResult("price", "7", id="g1", call_id="call_1"))


def reply_of(*parts: dict[str, Any], calls: tuple[ToolCall, ...] = (QUESTION,), target: Target = HERE) -> Message:
    return Message("assistant", calls, native=Native("gemini", target.host, target.model, list(parts)))


# --- the request ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gemini-3.5-flash", "/models/gemini-3.5-flash"),
        ("models/gemini-3.5-flash", "/models/gemini-3.5-flash"),
        ("tunedModels/mine", "/tunedModels/mine"),
        ("gemini:generateContent?key=1", "/models/gemini%3AgenerateContent%3Fkey%3D1"),
    ],
)
def test_the_model_is_in_the_path(model: str, path: str) -> None:
    streamed = WIRE.encode(Prompt((user("Hi"),)), Target("h", model))
    whole = WIRE.encode(Prompt((user("Hi"),), stream=False), Target("h", model))

    assert (streamed.path, streamed.query, streamed.stream) == (f"{path}:streamGenerateContent", {"alt": "sse"}, True)
    assert (whole.path, whole.query, whole.stream) == (f"{path}:generateContent", {}, False)
    assert not {"model", "stream"} & streamed.body.keys()


def test_the_system_prompt_has_a_place_of_its_own() -> None:
    body = body_of(Message("system", (Text("In French."),)), user("Hi"), system="Be brief.")

    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}, {"text": "In French."}]}
    assert body["contents"] == [{"role": "user", "parts": [{"text": "Hi"}]}]


def test_tools_are_declared_by_their_json_schema() -> None:
    body = body_of(user("Hi"), tools=(PRICE, ToolSpec("now", "The time.", {"type": "object", "properties": {}})))

    assert body["tools"] == [
        {
            "functionDeclarations": [
                {"name": "price", "description": "Give a price.", "parametersJsonSchema": dict(PRICE.parameters)},
                {"name": "now", "description": "The time."},
            ]
        }
    ]
    assert "toolConfig" not in body


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        ("price", {"mode": "ANY", "allowedFunctionNames": ["price"]}),
    ],
)
def test_a_tool_choice_is_a_mode(choice: str, config: dict[str, Any]) -> None:
    body = body_of(user("Hi"), tools=(PRICE,), tool_choice=choice)

    assert body["toolConfig"] == {"functionCallingConfig": config}


def test_options_of_the_generation_find_their_place_and_others_stay() -> None:
    options = {"temperature": 0, "generationConfig": {"seed": 1}, "cachedContent": "cachedContents/1"}
    request = WIRE.encode(Prompt((user("Hi"),), options=options, stream=False), OLDER)

    assert request.body["generationConfig"] == {"temperature": 0, "seed": 1}
    assert request.body["cachedContent"] == "cachedContents/1"
    assert not request.stream


@pytest.mark.parametrize(
    ("model", "is_requested"),
    [
        ("gemini-3.5-flash", True), ("gemini-2.5-pro", True), ("gemini-flash-latest", True), ("gemini-10-pro", True),
        ("gemini-2.0-flash", False), ("gemini-2.5-flash-image", False), ("gemma-3-27b-it", False),
        ("gemini-2.5-flash-preview-tts", False),
    ],
)  # fmt: skip
def test_summaries_of_the_thoughts_are_requested_of_models_that_think(model: str, is_requested: bool) -> None:
    body = body_of(user("Hi"), target=Target("h", model))

    assert (body.get("generationConfig") == {"thinkingConfig": {"includeThoughts": True}}) is is_requested


def test_an_option_removes_the_request_for_thoughts() -> None:
    assert "generationConfig" not in body_of(user("Hi"), options={"generationConfig": None})


# --- what the model said --------------------------------------------------------------------------------------


def test_a_reply_goes_back_in_the_parts_it_came_in() -> None:
    thought = {"text": "Hm", "thought": True}
    contents = contents_of(user("Hi"), reply_of(thought, CALL), ANSWER)

    assert contents[1] == {"role": "model", "parts": [thought, CALL]}
    assert contents[2]["parts"] == [{"functionResponse": {"name": "price", "response": {"output": "7"}, "id": "g1"}}]


def test_no_id_goes_back_where_none_came() -> None:
    call = {"functionCall": {"name": "price", "args": {}}, "thoughtSignature": SIGNATURE}
    made = ToolCall("price", "{}", id="call_1", call_id="call_1", runnable=True)
    contents = contents_of(
        user("Hi"), reply_of(call, calls=(made,)), results(ToolResult("price", "7", "call_1", "call_1"))
    )

    assert contents[1]["parts"] == [call]
    assert contents[2]["parts"] == [{"functionResponse": {"name": "price", "response": {"output": "7"}}}]


@pytest.mark.parametrize(
    "native",
    [
        Native("gemini", "other.example", HERE.model, [CALL]),
        Native("gemini", HERE.host, "gemini-3.1-pro", [CALL]),
        Native("chat", HERE.host, HERE.model, [CALL]),
        Native("gemini", HERE.host, HERE.model, {"parts": [CALL]}),
        Native("gemini", HERE.host, HERE.model, ["words"]),
        Native("gemini", HERE.host, HERE.model, []),
        Native("gemini", HERE.host, HERE.model, [{"functionCall": {"name": "other", "args": {}}}]),
        Native("gemini", HERE.host, HERE.model, [{"functionCall": 7}]),
        None,
    ],
)
def test_a_reply_of_elsewhere_is_rebuilt_with_the_signature_for_foreign_calls(native: Native | None) -> None:
    said = Message("assistant", (Thinking("Hm"), Text("So"), QUESTION, QUESTION), native=native)
    answer = results(*(ToolResult("price", "7", "g1", "call_1") for _ in range(2)))
    contents = contents_of(user("Hi"), said, answer)
    call = {"functionCall": {"name": "price", "args": {"ticker": "A"}}}

    assert contents[1]["parts"] == [{"text": "So"}, {**call, "thoughtSignature": FOREIGN_SIGNATURE}, call]


def test_a_model_that_checks_no_signatures_gets_none_for_foreign_calls() -> None:
    parts = contents_of(user("Hi"), assistant(QUESTION), ANSWER, target=OLDER)[1]["parts"]

    assert parts == [{"functionCall": {"name": "price", "args": {"ticker": "A"}}}]


def test_outcomes_are_together_in_the_order_of_their_calls() -> None:
    second = ToolCall("look", "{}", id="g2", call_id="call_2", runnable=True)
    messages = (
        user("Hi"), assistant(QUESTION, second),
        results(ToolResult("look", "no", "g2", "call_2", is_error=True), ToolResult("price", "7", "g1", "call_1")),
        user("And?"),
    )  # fmt: skip

    parts = contents_of(*messages)[2]["parts"]
    assert parts == [
        {"functionResponse": {"name": "price", "response": {"output": "7"}}},
        {"functionResponse": {"name": "look", "response": {"error": "no"}}},
        {"text": "And?"},
    ]


def test_a_reply_of_thoughts_alone_does_not_go_back() -> None:
    said = Message(
        "assistant",
        (Thinking("Hm"),),
        native=Native("gemini", HERE.host, HERE.model, [{"text": "Hm", "thought": True}]),
    )

    assert contents_of(user("Hi"), said, user("And?")) == [
        {"role": "user", "parts": [{"text": "Hi"}, {"text": "And?"}]}
    ]


def test_a_conversation_that_begins_with_the_model_is_preceded_by_a_word() -> None:
    assert [content["role"] for content in contents_of(assistant("Hello."), user("Hi"))] == ["user", "model", "user"]


def test_a_refusal_goes_back_as_text() -> None:
    assert contents_of(user("Hi"), assistant(Refusal("No.")), user("Why?"))[1]["parts"] == [{"text": "No."}]


# --- media ------------------------------------------------------------------------------------------------------

PNG = Media("image/png", data=b"PNG")
INLINE = {"inlineData": {"mimeType": "image/png", "data": b64encode(b"PNG").decode()}}


@pytest.mark.parametrize("mime", ["image/png", "audio/wav", "video/mp4", "application/pdf", "text/plain"])
def test_files_of_every_kind_are_inline_data(mime: str) -> None:
    (content,) = contents_of(user("Look.", Media(mime, data=b"PNG")))

    assert content["parts"][1] == {"inlineData": {"mimeType": mime, "data": INLINE["inlineData"]["data"]}}


def test_a_file_by_its_address_stays_an_address() -> None:
    (content,) = contents_of(user(Media("video/mp4", url="https://files.example/a.mp4")))

    assert content["parts"] == [{"fileData": {"mimeType": "video/mp4", "fileUri": "https://files.example/a.mp4"}}]


def test_an_image_of_the_model_goes_back_as_the_models() -> None:
    assert contents_of(user("Draw."), assistant("Here.", PNG), user("Bigger."))[1]["parts"] == [
        {"text": "Here."},
        INLINE,
    ]


def test_sound_of_the_model_goes_back_as_a_word() -> None:
    (part,) = contents_of(user("Say it."), assistant(Media("audio/wav", data=b"W")), user("Again."))[1]["parts"]

    assert "audio" in part["text"]


@pytest.mark.parametrize(("target", "is_inside"), [(HERE, True), (OLDER, False)])
def test_an_image_of_a_tool_is_in_its_outcome_or_beside_it(target: Target, is_inside: bool) -> None:
    answer = results(ToolResult("price", "7", "g1", "call_1", media=(PNG, Media("audio/wav", data=b"W"))))
    outcome, *beside = contents_of(user("Hi"), assistant(QUESTION), answer, target=target)[2]["parts"]

    assert (outcome["functionResponse"].get("parts") == [INLINE]) is is_inside
    assert len(beside) == (1 if is_inside else 2)

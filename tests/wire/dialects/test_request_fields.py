"""What an encoder writes from the prompt is no option, whatever way it takes and however it is spelt."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from IPython.utils.capture import capture_output

from nbtool import Chat
from nbtool.chain.hooks import RequestContext
from nbtool.chat.turn_settings import TurnSettings
from nbtool.errors import BadUsage
from nbtool.messages import Media, user
from nbtool.wire import WIRES, Prompt, Target, ToolSpec, find_wire
from tests.chaos import DONE, ChaosServer, finish, head, serve_each, text
from tests.shells import end_shell, new_shell

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
TOOL = ToolSpec("double", "Twice.", {"properties": {"n": {"type": "integer"}}})
MODELS = {
    "chat": "m", "responses": "thinker-1", "anthropic": "claude-x", "gemini": "gemini-3.5-flash",
    "image": "gpt-image-1", "image-edit": "gpt-image-1", "transcription": "whisper-1", "speech": "tts-1",
}  # fmt: skip
ATTACHED = {"image-edit": Media("image/png", data=PNG), "transcription": Media("audio/wav", data=b"RIFF0000WAVE")}
OTHER = {"image-edit": PNG + b"0", "transcription": b"RIFF0001WAVE"}
TEXT_WIRES = ("chat", "responses", "anthropic", "gemini")


def sample(wire: str) -> Prompt:
    """Return a prompt that uses everything that a wire takes."""
    attached = [ATTACHED[wire]] if wire in ATTACHED else []
    if wire not in TEXT_WIRES:
        return Prompt((user("Hi", *attached),), stream=False)
    return Prompt((user("Hi"),), "Be brief.", (TOOL,), "required")


def fields_of(wire: str, prompt: Prompt, model: str = "") -> dict[str, Any]:
    """Return all fields of a request: of its body, its files, and what stands in its path."""
    request = find_wire(wire).encode(prompt, Target("h", model or MODELS[wire]))
    uploads = {upload.field_name: upload.data for upload in request.uploads}
    return {**request.body, **uploads, "path": request.path}


def written_fields(wire: str) -> set[str]:
    """Return the names of the fields that change with any part of the prompt, or with the model."""
    prompt = sample(wire)
    attached = [replace(ATTACHED[wire], data=OTHER[wire])] if wire in ATTACHED else []
    others = [replace(prompt, messages=(user("Bye", *attached),))]
    if wire in TEXT_WIRES:
        others += [
            replace(prompt, **change)
            for change in ({"system": "Be long."}, {"system": ""}, {"tools": ()}, {"tool_choice": "auto"},
                           {"tool_choice": "double"}, {"stream": False})
        ]  # fmt: skip
    former = fields_of(wire, prompt)
    requests = [*(fields_of(wire, other) for other in others), fields_of(wire, prompt, f"{MODELS[wire]}-2")]
    changed = {name for one in requests for name in one.keys() | former.keys() if one.get(name) != former.get(name)}
    return (changed - {"path"}) | {"model", "stream"}


def encode(wire: str, options: dict[str, Any]) -> dict[str, Any]:
    prompt = replace(sample(wire), options=options)
    return find_wire(wire).encode(prompt, Target("h", MODELS[wire])).body


def test_the_fields_that_change_with_the_prompt_are_found() -> None:
    assert written_fields("chat") >= {"model", "messages", "tools", "tool_choice", "stream", "stream_options"}
    assert written_fields("responses") >= {"model", "input", "instructions", "tools", "tool_choice", "stream"}
    assert written_fields("anthropic") >= {"model", "messages", "system", "tools", "tool_choice", "stream"}
    assert written_fields("gemini") >= {"model", "contents", "systemInstruction", "tools", "toolConfig", "stream"}
    assert written_fields("image-edit") >= {"model", "prompt", "image", "stream"}
    assert written_fields("transcription") >= {"model", "prompt", "file", "stream"}
    assert written_fields("speech") >= {"model", "input", "stream"}


def spellings(name: str) -> set[str]:
    snake = "".join(f"_{one.lower()}" if one.isupper() else one for one in name)
    camel = "".join(one.capitalize() if at else one for at, one in enumerate(name.split("_")))
    return {name, snake, camel, name.upper(), name.capitalize(), f"{name}[]", f" {name}"}


FIELDS = [(wire, name) for wire in WIRES for name in sorted(written_fields(wire))]


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("value", ["other", None, [], {}, False], ids=repr)
@pytest.mark.parametrize(("wire", "name"), FIELDS)
def test_no_option_sets_a_field_that_is_written(wire: str, name: str, value: Any) -> None:
    is_object = name in ("stream_options", "toolConfig") and isinstance(value, dict)  # other fields of it are options
    for spelling in spellings(name):
        if is_object:
            assert encode(wire, {spelling: value})
            continue
        with pytest.raises(BadUsage) as caught:
            encode(wire, {spelling: value})
        assert spelling.strip() in caught.value.message
        assert caught.value.fix
        assert "\n" not in str(caught.value)


CASES: list[Callable[[str], str]] = [str, str.upper, str.capitalize]


@st.composite
def any_spelling(draw: st.DrawFn, name: str) -> str:
    """Write the words of a name in any case, joined by anything that joins words, between spaces."""
    words = re.findall(r"[A-Z]?[a-z]+", name)
    cases = draw(st.lists(st.sampled_from(CASES), min_size=len(words), max_size=len(words)))
    joined = draw(st.sampled_from(["", "_", "-"])).join(case(word) for case, word in zip(cases, words, strict=True))
    return f"{draw(st.sampled_from(['', ' ', chr(9)]))}{joined}{draw(st.sampled_from(['', ' ', '[]']))}"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)


@settings(max_examples=100)
@given(row=st.sampled_from(FIELDS), value=json_values, data=st.data())
def test_no_value_in_any_spelling_sets_a_field_that_is_written(
    row: tuple[str, str], value: Any, data: st.DataObject
) -> None:
    wire, name = row
    if name in ("stream_options", "toolConfig") and isinstance(value, dict):
        return  # other fields of it are options
    spelling = data.draw(any_spelling(name))

    with pytest.raises(BadUsage) as caught:
        encode(wire, {spelling: value})

    assert caught.value.fix
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("wire", "options"),
    [
        ("chat", {"stream_options": {"include_usage": False}}),
        ("chat", {"streamOptions": {"includeUsage": None}}),
        ("gemini", {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}),
        ("gemini", {"tool_config": {"function_calling_config": None}}),
        ("gemini", {"toolConfig": {"includeServerSideToolInvocations": True}}),
        *((wire, {name: {"model": "other"}}) for wire in WIRES for name in ("extra_body", "extraBody", "extra_query")),
    ],
    ids=str,
)
def test_no_nested_option_sets_a_field_that_is_written(wire: str, options: dict[str, Any]) -> None:
    with pytest.raises(BadUsage):
        encode(wire, options)


@pytest.mark.parametrize("wire", TEXT_WIRES)
def test_the_defaults_of_a_request_are_options(wire: str) -> None:
    written = written_fields(wire)
    defaults = {name: value for name, value in encode(wire, {}).items() if name not in written}

    for name, value in defaults.items():
        other: Any = {"own": 1} if isinstance(value, dict) else ["own"] if isinstance(value, list) else 7
        assert encode(wire, {name: other})[name] == ({**value, **other} if isinstance(value, dict) else other)
        assert name not in encode(wire, {name: None})


OPTIONS = {
    "chat": ({"temperature": 0.5, "max_tokens": 5, "stop": ["x"], "n": 2, "metadata": {"model": "a"}},),
    "responses": ({"temperature": 0.5, "store": True, "include": [], "reasoning": {"effort": "low"}},),
    "anthropic": ({"max_tokens": 5, "thinking": {"type": "disabled"}, "cache_control": None, "top_k": 3},),
    "gemini": ({"temperature": 0.5, "toolConfig": {"retrievalConfig": {"x": 1}}, "safetySettings": []},),
}  # fmt: skip


@pytest.mark.parametrize("wire", OPTIONS)
def test_other_options_are_sent(wire: str) -> None:
    (options,) = OPTIONS[wire]

    body = encode(wire, options)

    assert body != encode(wire, {})
    if wire == "gemini":
        assert body["toolConfig"] == {"functionCallingConfig": {"mode": "ANY"}, "retrievalConfig": {"x": 1}}


REPLY = [head(), text("Well."), finish(), DONE]


class SetsOptions:
    """A plugin that sets options of a request."""

    def on_before_request(self, request: RequestContext) -> None:
        request.options |= {"model": "other"}


def chat_with(server: ChaosServer, **more: Any) -> Chat:
    return Chat("openai:m", base_url=server.url, api_key="k", wire="chat", **more)


@pytest.mark.parametrize("way", ["chat", "turn", "plugin", "map", "a media model"])
def test_no_way_sets_the_model_by_an_option(way: str) -> None:
    own = {"model": "other"}
    with serve_each(REPLY) as server:
        if way == "chat":
            error = chat_with(server, options=own).send("Hi").error
        elif way == "turn":
            error = chat_with(server).send("Hi", options=own).error
        elif way == "plugin":
            error = chat_with(server, plugins=[SetsOptions()]).send("Hi").error
        elif way == "map":
            error = chat_with(server, options=own).map(["Hi"], progress=False, resume=False).answers[0].error
        else:
            error = Chat("openai:tts-1", base_url=server.url, api_key="k", options=own).send("Hi").error

        assert "`model` is no option: it is set from the model of the chat." in str(error)
        assert server.requests == []


@pytest.mark.parametrize("line", ["--option model=other", "--option stream=true", "--option 'messages=[]'", ""])
def test_no_flag_and_no_setting_sets_what_is_written(line: str) -> None:
    shell = new_shell()
    try:
        shell.run_line_magic("load_ext", "nbtool")
        with serve_each(REPLY) as server, capture_output() as captured:
            shell.push({"mine": chat_with(server)})
            if not line:
                shell.run_cell("%config NbTool.options = {'Model': 'other'}")
            shell.run_cell(f"%%chat -c mine {line}\nHi")
            shell.run_cell("%config NbTool.options = {}")

            assert "is no option" in captured.stdout + captured.stderr
            assert server.requests == []
    finally:
        end_shell()


def test_the_settings_of_a_turn_say_whether_its_reply_is_streamed() -> None:
    with serve_each(REPLY) as server:
        assert chat_with(server).send("Hi", settings=TurnSettings(stream=False)).text == "Well."

    assert "stream" not in server.requests[0].json

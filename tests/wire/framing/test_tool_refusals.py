from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool.errors import ProviderError, ToolsNotSupported
from nbtool.wire.framing.provider_errors import error_from_response
from nbtool.wire.framing.tool_refusals import TOOL_REFUSALS, is_tool_refusal
from tests.chaos import finish, head, serve_each, text, whole

OTHER_WORDS = (
    "Function calling is not enabled for models/gemma-3-27b-it",
    "tiny doesn't support tool use",
    "litellm.UnsupportedParamsError: x does not support parameters: ['tools'], for model=y",
    "`tools` parameter is not supported with this model",
    "Unknown parameter: 'tools'.",
    "Unrecognized request argument supplied: tools",
    "tools is not supported in this model. For a list of supported models, refer to the guide.",
    "This model does not support function calling.",
    "Tool calling is not supported by this model",
    "[{'type': 'extra_forbidden', 'loc': ('body', 'tools'), 'msg': 'tools: Extra inputs are not permitted'}]",
    "The model `x` does not support the use of tools",
    "Tools are currently unsupported",
    "functions are not supported",
    "native tool calling is not available for this deployment",
)
OTHER_ERRORS = (
    "tools.0.function.name: String does not match pattern",
    "Unknown parameter: 'tools[0].strict'.",
    "Tools are not supported together with response_format",
    "The tool price is not available",
    "This model does not support images",
    "temperature is not supported with this model",
    "does not support parallel tool calls",
)


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("words", [*(refusal.example for refusal in TOOL_REFUSALS), *OTHER_WORDS])
@pytest.mark.parametrize("status", [400, 404, 422, 500, 501])
def test_a_refusal_of_tools_is_known_by_its_words(words: str, status: int) -> None:
    body = f'{{"error": {{"message": {json.dumps(words)}}}}}'.encode()

    assert type(error_from_response(status, {}, body)) is ToolsNotSupported


@settings(max_examples=120)
@given(
    words=st.sampled_from([*(refusal.example for refusal in TOOL_REFUSALS), *OTHER_WORDS]),
    status=st.integers(400, 599).filter(lambda status: status not in (401, 403, 408, 429)),
    case=st.sampled_from([str, str.upper, str.lower]),
    before=st.sampled_from(["", "Error: ", "BadRequestError: 400 - ", "litellm.APIError: "]),
    after=st.sampled_from(["", " Request id: abc-123.", "\n"]),
)
def test_a_refusal_of_tools_is_known_in_any_case_and_among_other_words(
    words: str, status: int, case: Callable[[str], str], before: str, after: str
) -> None:
    body = json.dumps({"error": {"message": f"{before}{case(words)}{after}"}}).encode()

    assert type(error_from_response(status, {}, body)) is ToolsNotSupported


@settings(max_examples=80)
@given(
    words=st.sampled_from([*(refusal.example for refusal in TOOL_REFUSALS), *OTHER_WORDS]),
    status=st.sampled_from([401, 403, 408, 429]),
)
def test_no_words_make_a_refusal_of_tools_of_a_key_or_a_limit(words: str, status: int) -> None:
    assert not is_tool_refusal(status, words)


@pytest.mark.parametrize("words", OTHER_ERRORS)
def test_other_errors_about_tools_are_none(words: str) -> None:
    error = error_from_response(400, {}, f'{{"error": {{"message": "{words}"}}}}'.encode())

    assert isinstance(error, ProviderError)
    assert not isinstance(error, ToolsNotSupported)


@pytest.mark.parametrize("status", [401, 403, 408, 429])
def test_a_key_or_a_limit_is_no_refusal_of_tools(status: int) -> None:
    assert not is_tool_refusal(status, "your plan does not support tools")


def test_every_wording_has_a_source_and_a_day() -> None:
    assert all(refusal.source and refusal.day.count("-") == 2 for refusal in TOOL_REFUSALS)
    assert all(is_tool_refusal(400, refusal.example.lower()) for refusal in TOOL_REFUSALS)


@pytest.mark.parametrize("words", OTHER_WORDS)
def test_after_a_refusal_the_prompt_describes_the_tools_and_the_person_is_informed_once(words: str) -> None:
    from nbtool import Chat, tool
    from tests.wire.process_state import clear_adaptations

    @tool(run="auto")
    def price() -> str:
        """Return the price."""
        return "12"

    clear_adaptations()
    with serve_each([whole(400, {"error": {"message": words}})], [head(), text("Hello"), finish()]) as server:
        turn = Chat("tiny", base_url=server.url, tools=[price]).send("Hi")
    clear_adaptations()

    assert (turn.status, turn.text, len(server.requests)) == ("completed", "Hello", 2)
    assert "tools" not in server.requests[1].json
    assert sum("native tools" in getattr(event, "text", "") for event in turn.log) == 1

"""Options under the names of Chat Completions, as the other dialects take them."""

from __future__ import annotations

from typing import Any

from nbtool.wire.dialects.options import GEMINI_NAMES, RESPONSES_NAMES, chat_options, rename_options

RESPONSES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"max_tokens": 5}, {"max_output_tokens": 5}),
    ({"max_completion_tokens": 5}, {"max_output_tokens": 5}),
    ({"max_tokens": 5, "max_output_tokens": 6}, {"max_output_tokens": 6}),
    ({"reasoning_effort": "low"}, {"reasoning": {"effort": "low"}}),
    (
        {"reasoning_effort": "low", "reasoning": {"summary": "auto"}},
        {"reasoning": {"summary": "auto", "effort": "low"}},
    ),
    ({"verbosity": "low", "user": "ada"}, {"text": {"verbosity": "low"}, "user": "ada"}),
]

GEMINI: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"max_tokens": 5}, {"maxOutputTokens": 5}),
    ({"max_completion_tokens": 5}, {"maxOutputTokens": 5}),
    ({"max_output_tokens": 5}, {"maxOutputTokens": 5}),
    ({"top_p": 0.5, "top_k": 3, "temperature": 0}, {"topP": 0.5, "topK": 3, "temperature": 0}),
    ({"stop": ["."], "seed": 1}, {"stopSequences": ["."], "seed": 1}),
    ({"presence_penalty": 1, "frequency_penalty": 2}, {"presencePenalty": 1, "frequencyPenalty": 2}),
    ({"reasoning_effort": "low"}, {"thinkingConfig": {"thinkingLevel": "low"}}),
]

OF_GOOGLE = (
    "temperature", "topP", "topK", "candidateCount", "maxOutputTokens", "stopSequences", "seed", "presencePenalty",
    "frequencyPenalty", "responseMimeType", "responseSchema", "responseJsonSchema", "responseModalities",
    "responseLogprobs", "logprobs", "thinkingConfig", "mediaResolution", "speechConfig", "imageConfig",
)  # fmt: skip
"""See https://ai.google.dev/api/generate-content#generationconfig."""


def test_the_names_of_chat_completions_become_those_of_responses_and_back() -> None:
    assert [rename_options(options, RESPONSES_NAMES) for options, _ in RESPONSES] == [sent for _, sent in RESPONSES]
    assert chat_options({"max_output_tokens": 5}) == {"max_tokens": 5}
    assert chat_options({"reasoning": {"effort": "low"}}) == {"reasoning_effort": "low"}
    assert chat_options({"text": {"verbosity": "low"}}) == {"verbosity": "low"}


def test_the_names_of_chat_completions_become_those_of_gemini_in_its_configuration() -> None:
    expected = [{"generationConfig": sent} for _, sent in GEMINI]

    assert [rename_options(options, GEMINI_NAMES) for options, _ in GEMINI] == expected
    own = dict.fromkeys(OF_GOOGLE, 1)
    assert rename_options({**own, "safetySettings": []}, GEMINI_NAMES) == {
        "generationConfig": own,
        "safetySettings": [],
    }

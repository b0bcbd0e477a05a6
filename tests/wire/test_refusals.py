"""The words with which providers refuse a dialect, and how they are classified."""

from __future__ import annotations

import pytest

from nbtool.errors import ProviderError, ToolsNotSupported, WireNotSupported
from nbtool.wire.framing.provider_errors import provider_error

SAMPLES = {
    "chat": [
        "Function tools with reasoning_effort are not supported for gpt-5.6-luna in /v1/chat/completions. "
        "To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
        "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. "
        "Please use /v1/responses instead.",
        "This model is only supported in v1/responses and not in v1/chat/completions.",
        "The model `o3-pro` is not available in Chat Completions. Use the Responses API.",
    ],
    "responses": [
        "This model is not supported with the Responses API.",
        "The requested model 'gpt-4o-audio-preview' is not supported by the Responses API.",
        "This model is only supported in v1/chat/completions and not in v1/responses.",
    ],
}
"""Messages by the dialect that is refused; https://github.com/GoogleChromeLabs/webmcp-tools/issues/417 and others."""


@pytest.mark.parametrize("message", [message for messages in SAMPLES.values() for message in messages])
def test_a_refused_dialect_is_recognised(message: str) -> None:
    assert type(provider_error({"message": message}, status=400)) is WireNotSupported


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("registry.ollama.ai/library/x does not support tools", ToolsNotSupported),
        ("Unsupported value: 'temperature' does not support 0.7 with this model.", ProviderError),
        ("Invalid 'messages': see https://api.example/v1/chat/completions.", ProviderError),
    ],
)
def test_other_refusals_are_not_taken_for_one_of_the_dialect(message: str, kind: type) -> None:
    assert type(provider_error({"message": message}, status=400)) is kind

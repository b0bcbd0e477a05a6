"""Google's generateContent.

A conversation is a list of contents of two roles; the outcomes of one round stand together in the user content after
their calls, one for each and in their order. What a model thought is signed, and goes back in the parts it came in.

See https://ai.google.dev/api/generate-content, https://ai.google.dev/gemini-api/docs/thought-signatures and
https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from nbtool.json_schema.dialects import for_gemini
from nbtool.text import clean_text
from nbtool.wire.base import Decoder, Prompt, Request, Target, ToolSpec
from nbtool.wire.dialects.gemini.contents import ContentEncoder
from nbtool.wire.dialects.gemini.decoder import GeminiDecoder
from nbtool.wire.dialects.options import GEMINI_NAMES, rename_options
from nbtool.wire.dialects.request_fields import MESSAGES, MODEL, STREAM, SYSTEM, TOOL_CHOICE, TOOLS, Written, write_body
from nbtool.wire.providers.provider_tools import take_provider_tools

Body = dict[str, Any]

NO_THOUGHT_SUMMARIES = "no_thought_summaries"
"""The ability of a target that refuses to summarise its thoughts."""

_THINKS = re.compile(r"gemini-(?!.*(?:image|tts|audio|live|embedding))(?:2\.5|[3-9]|[1-9]\d|flash|pro)")


class GenerateContent:
    """The dialect of Gemini."""

    name = "gemini"

    def encode(self, prompt: Prompt, target: Target) -> Request:
        """Encode a prompt as a request.

        The model stands in the path. Summaries of what it thought are requested of the models that give them; an option
        `thinkingConfig` takes precedence.
        """
        options, provider_tools = take_provider_tools(prompt.options, self.name)
        system = [{"text": text} for text in _system(prompt)]
        written = {
            "model": Written(None, MODEL),  # it stands in the path, and so does how the reply is read
            "contents": Written(ContentEncoder(self.name, target).encode(prompt.messages), MESSAGES),
            "systemInstruction": Written({"parts": system} if system else None, SYSTEM),
            "tools": Written(_tools(prompt, provider_tools) or None, TOOLS),
            "toolConfig": _tool_config(prompt, provider_tools, target),
            "stream": Written(None, STREAM),
        }
        defaults: Body = {}
        if _THINKS.match(target.model.rpartition("/")[2]) and NO_THOUGHT_SUMMARIES not in target.abilities:
            defaults["generationConfig"] = {"thinkingConfig": {"includeThoughts": True}}
        body = write_body(written, rename_options(options, GEMINI_NAMES), defaults)
        stream = prompt.stream
        method, query = ("streamGenerateContent", {"alt": "sse"}) if stream else ("generateContent", {})
        return Request(f"{_model_path(target.model)}:{method}", body, stream, query=query)

    def decoder(self, *, stream: bool = True) -> Decoder:  # noqa: ARG002 - the decoder sees from the bytes whether it is a stream
        """Return a new decoder for one reply, streamed or not."""
        return GeminiDecoder()


def _model_path(model: str) -> str:
    """Return the path of a model: below `models/`, unless its name says otherwise (`tunedModels/…`)."""
    path = quote(model.strip("/"), safe="/@")
    return f"/{path}" if "/" in path else f"/models/{path}"


def _system(prompt: Prompt) -> list[str]:
    """Return the system prompt, and the system messages, which have no place among the contents."""
    texts = [prompt.system, *(message.text for message in prompt.messages if message.role == "system")]
    return [clean_text(text) for text in texts if text.strip()]


def _tools(prompt: Prompt, provider_tools: list[Body]) -> list[Body]:
    declared = [{"functionDeclarations": [_declaration(spec) for spec in prompt.tools]}] if prompt.tools else []
    return [*declared, *provider_tools]


def _tool_config(prompt: Prompt, provider_tools: list[Body], target: Target) -> dict[str, Written]:
    """Return how functions are called; beside tools of the provider their calls have to be shown (not on Vertex AI)."""
    has_choice = prompt.tools and prompt.tool_choice != "auto"
    is_shown = prompt.tools and provider_tools and not target.host.endswith("aiplatform.googleapis.com")
    return {
        "functionCallingConfig": Written(_calling_config(prompt.tool_choice) if has_choice else None, TOOL_CHOICE),
        "includeServerSideToolInvocations": Written(True if is_shown else None, TOOLS),
    }


def _declaration(spec: ToolSpec) -> Body:
    """Declare a function by its JSON schema; `parameters` would take a subset of OpenAPI schemas only.

    Not every keyword is accepted in the schema, and one that is not makes the whole request invalid.
    """
    declaration: Body = {"name": spec.name, "description": spec.description}
    if spec.parameters.get("properties"):
        declaration["parametersJsonSchema"] = {"type": "object", **for_gemini(spec.parameters)}
    return declaration


def _calling_config(choice: str) -> Body:
    if choice in ("none", "required"):
        return {"mode": "NONE" if choice == "none" else "ANY"}
    return {"mode": "ANY", "allowedFunctionNames": [choice]}

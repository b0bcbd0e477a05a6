"""What OpenAI and Azure refuse."""

from __future__ import annotations

from nbtool.errors import ModelNotFound, WireNotSupported
from nbtool.messages import user
from nbtool.wire import Prompt
from tests.providers.behaviour import DOUBLE, PLAIN, Behaviour, Topic, openai
from tests.providers.conditions import (
    always,
    has_encrypted_include,
    has_tools_and_effort,
    has_tools_without_effort_none,
)

MODERN = r"gpt-(?:5\.(?:4|5)|\d+\.\d+|[6-9]).*"
FROM_5_6 = r"gpt-(?:5\.[6-9]|[6-9]).*"

OPENAI_ROWS = (
    Behaviour(
        "openai", "chat", "takes no tools with a reasoning effort", MODERN, has_tools_and_effort, 400,
        openai(
            "Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. Please use "
            "/v1/responses instead.", param="reasoning_effort",
        ),
        "2026-03-16", "pipecat-ai/pipecat#4043", "gpt-5.4",
        trigger=Prompt((user("Hi"),), tools=(DOUBLE,), options={"reasoning_effort": "low"}),
        options={"reasoning_effort": "low"},
        error=WireNotSupported, topic=Topic.DIALECT,
    ),
    Behaviour(
        "openai", "chat", "takes no tools unless the reasoning effort is none", FROM_5_6, has_tools_without_effort_none,
        400,
        openai(
            "Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. To use "
            "function tools, use /v1/responses or set reasoning_effort to 'none'.", param="reasoning_effort",
        ),
        "2026-09-03", "GoogleChromeLabs/webmcp-tools#417", "gpt-5.6-terra", error=WireNotSupported,
        topic=Topic.DIALECT,
    ),
    Behaviour(
        "openai", "responses", "hands out no encrypted reasoning", r"gpt-4.*", has_encrypted_include, 400,
        openai("Encrypted content is not supported with this model.", param="include"),
        "2026-06-24", "NousResearch/hermes-agent#23450", "gpt-4.1",
        trigger=Prompt((user("Hi"),), options={"include": ["reasoning.encrypted_content"]}), topic=Topic.REASONING,
    ),
    Behaviour(
        "compatible", "responses", "hands out no encrypted reasoning", r".*", has_encrypted_include, 400,
        openai("Encrypted content is not supported with this model.", param="include"),
        "2026-06-24", "NousResearch/hermes-agent#23450", "gpt-6.1-terra", topic=Topic.REASONING,
        trigger=Prompt((user("Hi"),), options={"include": ["reasoning.encrypted_content"]}),
    ),
    Behaviour(
        "openai", "responses", "has retired the model", r"gpt-5-mini", always, 404,
        openai(
            "The model `{model}` has been deprecated, learn more here: https://platform.openai.com/docs/deprecations",
            code="model_not_found",
        ),
        "2026-12-11", "developers.openai.com/api/docs/deprecations", "gpt-5-mini", trigger=PLAIN, error=ModelNotFound,
        topic=Topic.RETIRED,
    ),
    Behaviour(
        "azure", "responses", "does not have the deployment", r"gpt-none", always, 404,
        {"error": {"code": "DeploymentNotFound", "message":
                   "The API deployment for this resource does not exist. If you created the deployment within the last "
                   "5 minutes, please wait a moment and try again."}},
        "2023-08-28", "MicrosoftDocs/azure-docs#114013", "gpt-none", trigger=PLAIN, error=ModelNotFound,
        topic=Topic.RETIRED, dialects=("responses", "chat"),
    ),
)  # fmt: skip

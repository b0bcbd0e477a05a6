"""What Google refuses, at AI Studio and Vertex AI."""

from __future__ import annotations

from nbtool.errors import (
    AuthenticationFailed,
    ContextTooLong,
    ModelNotFound,
    RateLimited,
    ServerOverloaded,
    ToolsNotSupported,
)
from tests.providers.behaviour import PLAIN, Behaviour, Topic, detail, google
from tests.providers.conditions import (
    always,
    has_call_ids,
    has_functions_and_hidden_provider_tools,
    has_functions_and_provider_tools,
    has_schema_keywords,
    has_thought_request,
    has_tools,
    has_unsigned_call,
)

GOOGLE_ROWS = (
    Behaviour(
        "google", "gemini", "wants the signature of a call back", r"gemini-(?:[3-9]|\d\d).*", has_unsigned_call, 400,
        google(
            400, "INVALID_ARGUMENT",
            "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
            "correctly, and missing thought_signature may lead to degraded model performance. Additional data, "
            "function call `default_api:double` , position 2. Please refer to "
            "https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
        ),
        "2026-06-22", "lbjlaq/Antigravity-Manager#3202", "gemini-3.5-flash",
        trigger=PLAIN, fields={"contents": [
                {"role": "user", "parts": [{"text": "Double 21."}]},
                {"role": "model", "parts": [{"functionCall": {"name": "double", "args": {"n": 21}}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "double", "response": {"output": "42"}}}]},
            ]},
        topic=Topic.THINKING,
    ),
    Behaviour(
        "google", "gemini", "has no thoughts to summarise", r"gemini-2\.5-plain", has_thought_request, 400,
        google(400, "INVALID_ARGUMENT", "Unable to submit request because Thinking_config.include_thoughts is only "
                                        "enabled when thinking is enabled."),
        "2026-11-22", "cloud.google.com/vertex-ai/generative-ai/docs/thinking", "gemini-2.5-plain", trigger=PLAIN,
    ),
    Behaviour(
        "google", "gemini", "wants its own tools shown beside functions", r"gemini-(?:[3-9]|\d\d).*",
        has_functions_and_hidden_provider_tools, 400,
        google(400, "INVALID_ARGUMENT", "Please enable tool_config.include_server_side_tool_invocations to use "
                                        "Built-in tools with Function calling."),
        "2026-08-10", "ag2ai/ag2#3145", "gemini-3.6-flash",
        trigger=PLAIN, fields={"tools": [
            {"googleSearch": {}}, {"functionDeclarations": [{"name": "double", "description": "Twice."}]},
        ]},
        topic=Topic.PROVIDER_TOOLS, provider_tools=("web_search",),
    ),
    Behaviour(
        "google", "gemini", "takes its own tools or functions, not both", r"gemini-2.*",
        has_functions_and_provider_tools, 400,
        google(400, "INVALID_ARGUMENT", "Tool use with function calling is unsupported"),
        "2025-04-18", "lobehub/lobehub#7463", "gemini-2.5-flash",
        trigger=PLAIN, fields={"tools": [
            {"googleSearch": {}}, {"functionDeclarations": [{"name": "double", "description": "Twice."}]},
        ]}, error=ToolsNotSupported,
        topic=Topic.PROVIDER_TOOLS, provider_tools=("web_search",),
    ),
    Behaviour(
        "google", "gemini", "takes an OpenAPI schema as parameters", r"gemini-.*", has_schema_keywords, 400,
        google(400, "INVALID_ARGUMENT", "Invalid JSON payload received. Unknown name \"exclusiveMinimum\" at "
                                        "'tools[0].function_declarations[0].parameters.properties[0].value': Cannot "
                                        "find field."),
        "2026-09-07", "pizza-bot-app/pizza-bot#62", "gemini-3.8-flash",
        trigger=PLAIN, fields={"tools": [{"functionDeclarations": [
            {"name": "double", "parameters": {"properties": {"n": {"exclusiveMinimum": 0}}}},
        ]}]},
    ),
    Behaviour(
        "google", "gemini", "has reached a rate limit", r"gemini-busy", always, 429,
        google(
            429, "RESOURCE_EXHAUSTED",
            "You exceeded your current quota, please check your plan and billing details. For more information on this "
            "error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.\nPlease retry in 91.5s.",
            detail("QuotaFailure", violations=[{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel"}]),
            detail("Help", links=[{"url": "https://ai.google.dev/gemini-api/docs/rate-limits"}]),
            detail("RetryInfo", retryDelay="91.5s"),
        ),
        "2026-07-23", "gke-labs/gemini-for-kubernetes-development#1215", "gemini-busy", trigger=PLAIN,
        error=RateLimited,
        topic=Topic.ACCOUNT,
    ),
    Behaviour(
        "google", "gemini", "is overloaded", r"gemini-down", always, 503,
        google(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
        "2026-11-22", "ai.google.dev/gemini-api/docs/troubleshooting", "gemini-down", trigger=PLAIN,
        error=ServerOverloaded,
        topic=Topic.ACCOUNT,
    ),
    Behaviour(
        "google", "gemini", "does not have the model", r"gemini-none", always, 404,
        google(404, "NOT_FOUND", "models/{model} is not found for API version v1beta, or is not supported for "
                                 "generateContent. Call ModelService.ListModels to see the list of available models "
                                 "and their supported methods."),
        "2026-11-22", "recorded traffic", "gemini-none", trigger=PLAIN, error=ModelNotFound,
        topic=Topic.RETIRED,
    ),
    Behaviour(
        "google", "gemini", "refuses a key that is not valid", r"gemini-locked", always, 400,
        google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.",
               detail("ErrorInfo", reason="API_KEY_INVALID", domain="googleapis.com")),
        "2026-11-22", "recorded traffic", "gemini-locked", trigger=PLAIN, error=AuthenticationFailed,
        topic=Topic.ACCOUNT,
    ),
    Behaviour(
        "google", "gemini", "does not enable function calling for the model", r"gemma-.*", has_tools, 400,
        google(400, "INVALID_ARGUMENT", "Function calling is not enabled for models/gemma-3-27b-it"),
        "2026-11-22", "BerriAI/litellm#10313, agno-agi/agno#3505", "gemma-3-27b-it", error=ToolsNotSupported,
        topic=Topic.TOOLS,
    ),
)  # fmt: skip

VERTEX_ROWS = (
    Behaviour(
        "vertex", "gemini", "does not know the ids of calls", r".*", has_call_ids, 400,
        google(400, "INVALID_ARGUMENT",
               "Invalid JSON payload received. Unknown name \"id\" at 'contents[1].parts[0].function_call': Cannot "
               "find field.",
               detail("BadRequest", fieldViolations=[{"field": "contents[1].parts[0].function_call"}])),
        "2026-04-14", "pydantic/pydantic-ai#5081", "gemini-2.5-flash",
        trigger=PLAIN, fields={"contents": [
            {"role": "model", "parts": [{"functionCall": {"name": "double", "args": {}, "id": "a"}}]},
        ]},
        topic=Topic.HISTORY,
    ),
    Behaviour(
        "vertex", "gemini", "takes no longer input than its context", r"gemini-short", always, 400,
        google(400, "INVALID_ARGUMENT",
               "The input token count (1250074) exceeds the maximum number of tokens allowed (1048576)."),
        "2026-08-19", "recorded traffic", "gemini-short", trigger=PLAIN, error=ContextTooLong,
        topic=Topic.ACCOUNT,
    ),
)  # fmt: skip

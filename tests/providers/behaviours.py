"""What each provider refuses, in its own words: one row a behaviour, with the day it was reported and where.

`models` matches the model of the request. `is_refused` looks at the body alone, so that a row holds for every request
of that shape; `trigger` is a prompt whose request has it, and `error` what nbtool makes of the refusal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from nbtool.errors import (
    AuthenticationFailed,
    ContextTooLong,
    ModelNotFound,
    ProviderError,
    RateLimited,
    ServerOverloaded,
    ToolsNotSupported,
    WireNotSupported,
)
from nbtool.messages import user
from nbtool.wire import Prompt, ToolSpec
from tests.chaos import Received

Body = dict[str, Any]

DOUBLE = ToolSpec("double", "Twice a number.", {"type": "object", "properties": {"n": {"type": "integer"}}})
PLAIN = Prompt((user("Hi"),))
WITH_TOOLS = Prompt((user("Double 21."),), tools=(DOUBLE,))


@dataclass(frozen=True)
class Behaviour:
    """One refusal of one provider; `{model}` in its body is the model of the request."""

    provider: str
    dialect: str
    name: str
    models: str
    is_refused: Callable[[Body], bool]
    status: int
    body: Body
    date: str
    source: str
    model: str
    trigger: Prompt = WITH_TOOLS
    error: type[ProviderError] = ProviderError
    headers: Mapping[str, str] = field(default_factory=dict)

    def refuses(self, body: Body, request: Received) -> bool:
        """Whether a request is refused."""
        return bool(re.fullmatch(self.models, requested_model(body, request))) and self.is_refused(body)

    def body_for(self, body: Body, request: Received) -> Body:
        """Give the body of the refusal."""
        model = json.dumps(requested_model(body, request))[1:-1]
        answer: Body = json.loads(json.dumps(self.body).replace("{model}", model))
        return answer


def requested_model(body: Body, request: Received) -> str:
    """Give the model of a request, from its body or its path."""
    in_path = re.search(r"/models/([^/:?]+):", request.path)
    return in_path[1] if in_path else str(body.get("model", ""))


# --- what a request holds -------------------------------------------------------------------------------------


def always(body: Body) -> bool:  # noqa: ARG001 - the interface of all conditions
    return True


def has_tools(body: Body) -> bool:
    return bool(body.get("tools"))


def has_tools_and_effort(body: Body) -> bool:
    return has_tools(body) and body.get("reasoning_effort", "none") != "none"


def has_tools_without_effort_none(body: Body) -> bool:
    return has_tools(body) and body.get("reasoning_effort") != "none"


def has_forced_choice(body: Body) -> bool:
    choice = body.get("tool_choice")
    return isinstance(choice, dict) and choice.get("type") in ("any", "tool")


def has_encrypted_include(body: Body) -> bool:
    return "reasoning.encrypted_content" in body.get("include", [])


def has_unreadable_arguments(body: Body) -> bool:
    """Whether the history holds a call whose arguments are not JSON, for servers that parse them again."""
    for message in body.get("messages", []):
        for call in message.get("tool_calls") or []:
            try:
                json.loads(call["function"]["arguments"])
            except ValueError:
                return True
    return False


def gemini_parts(body: Body) -> Iterator[tuple[str, Body]]:
    """Yield each part of a conversation with its role."""
    for content in body.get("contents", []):
        for part in content.get("parts", []):
            yield content.get("role", "user"), part


def has_unsigned_call(body: Body) -> bool:
    """Whether the first call of a step lacks its signature; only the steps since the person's last text are checked."""
    contents = body.get("contents", [])
    begin = max(
        (at for at, content in enumerate(contents) if content.get("role") == "user" and _has_text(content)), default=0
    )
    for content in contents[begin:]:
        calls = [part for part in content.get("parts", []) if "functionCall" in part]
        if calls and not calls[0].get("thoughtSignature"):
            return True
    return False


def _has_text(content: Body) -> bool:
    return any(part.get("text") for part in content.get("parts", []))


def has_call_ids(body: Body) -> bool:
    return any(
        "id" in part.get(kind, {}) for _, part in gemini_parts(body) for kind in ("functionCall", "functionResponse")
    )


def has_functions_and_provider_tools(body: Body) -> bool:
    kinds = {kind for tool in body.get("tools", []) for kind in tool}
    return "functionDeclarations" in kinds and len(kinds) > 1


def has_functions_and_hidden_provider_tools(body: Body) -> bool:
    is_shown = body.get("toolConfig", {}).get("includeServerSideToolInvocations")
    return has_functions_and_provider_tools(body) and not is_shown


def has_thought_request(body: Body) -> bool:
    return bool(body.get("generationConfig", {}).get("thinkingConfig", {}).get("includeThoughts"))


def has_schema_keywords(body: Body) -> bool:
    """Whether a function's `parameters`, which are an OpenAPI schema, hold a keyword of JSON Schema."""
    declared = [spec for tool in body.get("tools", []) for spec in tool.get("functionDeclarations", [])]
    return any("exclusiveMinimum" in json.dumps(spec.get("parameters", {})) for spec in declared)


# --- the form of each provider's errors -----------------------------------------------------------------------


def openai(message: str, code: str | None = None, param: str | None = None) -> Body:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def anthropic(message: str, kind: str = "invalid_request_error") -> Body:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def google(code: int, status: str, message: str, *details: Body) -> Body:
    return {"error": {"code": code, "message": message, "status": status, **({"details": details} if details else {})}}


def detail(kind: str, **fields: Any) -> Body:
    return {"@type": f"type.googleapis.com/google.rpc.{kind}", **fields}


MODERN = r"gpt-(?:5\.(?:4|5)|\d+\.\d+|[6-9]).*"
FROM_5_6 = r"gpt-(?:5\.[6-9]|[6-9]).*"


def _refuses_tools(
    provider: str, name: str, status: int, body: Body, date: str, source: str, *, error: type[ProviderError]
) -> Behaviour:
    dialect, models, model = ("gemini", "gemma-.*", "gemma-3-27b-it") if provider == "google" else ("chat", ".*", "m")
    return Behaviour(provider, dialect, name, models, has_tools, status, body, date, source, model, error=error)


OPENAI_ROWS = (
    Behaviour(
        "openai", "chat", "takes no tools with a reasoning effort", MODERN, has_tools_and_effort, 400,
        openai(
            "Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. Please use "
            "/v1/responses instead.", param="reasoning_effort",
        ),
        "2026-03-16", "pipecat-ai/pipecat#4043", "gpt-5.4",
        trigger=Prompt((user("Hi"),), tools=(DOUBLE,), options={"reasoning_effort": "low"}),
        error=WireNotSupported,
    ),
    Behaviour(
        "openai", "chat", "takes no tools unless the reasoning effort is none", FROM_5_6, has_tools_without_effort_none,
        400,
        openai(
            "Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. To use "
            "function tools, use /v1/responses or set reasoning_effort to 'none'.", param="reasoning_effort",
        ),
        "2026-09-03", "GoogleChromeLabs/webmcp-tools#417", "gpt-5.6-terra", error=WireNotSupported,
    ),
    Behaviour(
        "openai", "responses", "hands out no encrypted reasoning", r"gpt-4.*", has_encrypted_include, 400,
        openai("Encrypted content is not supported with this model.", param="include"),
        "2026-06-24", "NousResearch/hermes-agent#23450", "gpt-4.1",
        trigger=Prompt((user("Hi"),), options={"include": ["reasoning.encrypted_content"]}),
    ),
    Behaviour(
        "openai", "responses", "has retired the model", r"gpt-5-mini", always, 404,
        openai(
            "The model `{model}` has been deprecated, learn more here: https://platform.openai.com/docs/deprecations",
            code="model_not_found",
        ),
        "2026-12-11", "developers.openai.com/api/docs/deprecations", "gpt-5-mini", trigger=PLAIN, error=ModelNotFound,
    ),
)  # fmt: skip

ANTHROPIC_ROWS = (
    Behaviour(
        "anthropic", "anthropic", "takes no forced tool choice",
        r"claude-(?:opus|sonnet|haiku)-5-5|claude-(?:fable|mythos)-5-[1-9]", has_forced_choice, 400,
        anthropic('tool_choice: type "tool" and "any" are not supported for this model.'),
        "2026-09-23", "can1357/oh-my-pi#12939", "claude-opus-5-5",
        trigger=Prompt((user("Hi"),), tools=(DOUBLE,), tool_choice="required"),
    ),
    Behaviour(
        "anthropic", "anthropic", "is overloaded", r"claude-busy", always, 529,
        anthropic("Overloaded", "overloaded_error"), "2026-11-22", "docs.anthropic.com/en/api/errors", "claude-busy",
        trigger=PLAIN, error=ServerOverloaded,
    ),
)  # fmt: skip

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
        trigger=Prompt(
            (user("Double 21."),),
            options={"contents": [
                {"role": "user", "parts": [{"text": "Double 21."}]},
                {"role": "model", "parts": [{"functionCall": {"name": "double", "args": {"n": 21}}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "double", "response": {"output": "42"}}}]},
            ]},
        ),
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
        trigger=Prompt((user("Hi"),), options={"tools": [
            {"googleSearch": {}}, {"functionDeclarations": [{"name": "double", "description": "Twice."}]},
        ]}),
    ),
    Behaviour(
        "google", "gemini", "takes its own tools or functions, not both", r"gemini-2.*",
        has_functions_and_provider_tools, 400,
        google(400, "INVALID_ARGUMENT", "Tool use with function calling is unsupported"),
        "2025-04-18", "lobehub/lobehub#7463", "gemini-2.5-flash",
        trigger=Prompt((user("Hi"),), options={"tools": [
            {"googleSearch": {}}, {"functionDeclarations": [{"name": "double", "description": "Twice."}]},
        ]}), error=ToolsNotSupported,
    ),
    Behaviour(
        "google", "gemini", "takes an OpenAPI schema as parameters", r"gemini-.*", has_schema_keywords, 400,
        google(400, "INVALID_ARGUMENT", "Invalid JSON payload received. Unknown name \"exclusiveMinimum\" at "
                                        "'tools[0].function_declarations[0].parameters.properties[0].value': Cannot "
                                        "find field."),
        "2026-09-07", "pizza-bot-app/pizza-bot#62", "gemini-3.8-flash",
        trigger=Prompt((user("Hi"),), options={"tools": [{"functionDeclarations": [
            {"name": "double", "parameters": {"properties": {"n": {"exclusiveMinimum": 0}}}},
        ]}]}),
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
    ),
    Behaviour(
        "google", "gemini", "is overloaded", r"gemini-down", always, 503,
        google(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
        "2026-11-22", "ai.google.dev/gemini-api/docs/troubleshooting", "gemini-down", trigger=PLAIN,
        error=ServerOverloaded,
    ),
    Behaviour(
        "google", "gemini", "does not have the model", r"gemini-none", always, 404,
        google(404, "NOT_FOUND", "models/{model} is not found for API version v1beta, or is not supported for "
                                 "generateContent. Call ModelService.ListModels to see the list of available models "
                                 "and their supported methods."),
        "2026-11-22", "recorded traffic", "gemini-none", trigger=PLAIN, error=ModelNotFound,
    ),
    Behaviour(
        "google", "gemini", "refuses a key that is not valid", r"gemini-locked", always, 400,
        google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.",
               detail("ErrorInfo", reason="API_KEY_INVALID", domain="googleapis.com")),
        "2026-11-22", "recorded traffic", "gemini-locked", trigger=PLAIN, error=AuthenticationFailed,
    ),
    _refuses_tools(
        "google", "does not enable function calling for the model", 400,
        google(400, "INVALID_ARGUMENT", "Function calling is not enabled for models/gemma-3-27b-it"),
        "2026-11-22", "BerriAI/litellm#10313, agno-agi/agno#3505", error=ToolsNotSupported,
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
        trigger=Prompt((user("Hi"),), options={"contents": [
            {"role": "model", "parts": [{"functionCall": {"name": "double", "args": {}, "id": "a"}}]},
        ]}),
    ),
    Behaviour(
        "vertex", "gemini", "takes no longer input than its context", r"gemini-short", always, 400,
        google(400, "INVALID_ARGUMENT",
               "The input token count (1250074) exceeds the maximum number of tokens allowed (1048576)."),
        "2026-08-19", "recorded traffic", "gemini-short", trigger=PLAIN, error=ContextTooLong,
    ),
)  # fmt: skip

TOOL_ROWS = (
    _refuses_tools(
        "ollama", "has no template for tools", 400,
        {"error": {"message": "registry.ollama.ai/library/gemma3:12b does not support tools", "type": "api_error"}},
        "2026-08-01", "open-webui/open-webui#27996", error=ToolsNotSupported,
    ),
    _refuses_tools(
        "openrouter", "finds no endpoint with tools", 404,
        {"error": {"message": "No endpoints found that support tool use. Try disabling \"double\".", "code": 404}},
        "2026-04-15", "Kilo-Org/kilocode#9006", error=ToolsNotSupported,
    ),
    _refuses_tools(
        "vllm", "was started without a tool parser", 400,
        {"object": "error", "type": "BadRequestError", "code": 400,
         "message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'},
        "2025-12-13", "vllm-project/vllm#30613", error=ToolsNotSupported,
    ),
    _refuses_tools(
        "llamacpp", "was started without a template", 500,
        {"error": {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"}},
        "2026-11-22", "recorded traffic", error=ToolsNotSupported,
    ),
    Behaviour(
        "vllm", "chat", "parses the arguments of earlier calls again", ".*", has_unreadable_arguments, 400,
        {"object": "error", "message": "Expecting ',' delimiter: line 1 column 9 (char 8)", "type": "BadRequestError",
         "code": 400},
        "2026-11-22", "vllm-project/vllm#43995, vllm-project/vllm#48922", "any",
        trigger=Prompt((user("Hi"),), options={"messages": [
            {"role": "assistant", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "double", "arguments": '{"n": 21'}},
            ]},
        ]}),
    ),
)  # fmt: skip

BEHAVIOURS: tuple[Behaviour, ...] = (*OPENAI_ROWS, *ANTHROPIC_ROWS, *GOOGLE_ROWS, *VERTEX_ROWS, *TOOL_ROWS)
"""All rows, in the order in which a provider checks them."""

"""What the other providers refuse, in their forms of Chat Completions."""

from __future__ import annotations

from typing import Any

from nbtool.errors import (
    AuthenticationFailed,
    ModelNotFound,
    ProviderError,
    RateLimited,
    ToolsNotSupported,
    WireNotSupported,
)
from tests.providers.behaviour import PLAIN, Behaviour, Body, Topic, openai
from tests.providers.conditions import (
    always,
    has_call_without_reasoning,
    has_foreign_call_id,
    has_reasoning_content,
    has_tool_without_parameters,
    has_tools,
)


def after_messages(*messages: Body) -> dict[str, Any]:
    """Give the field of a request that has these messages."""
    return {"messages": list(messages)}


def calling(**fields: Any) -> Body:
    function = {"name": "double", "arguments": '{"n": 21}'}
    return {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function": function}], **fields}


def _has_no_model(provider: str, status: int, body: Body, date: str, source: str) -> Behaviour:
    return Behaviour(
        provider, "chat", "does not have the model", "model-of-last-year", always, status, body, date, source,
        "model-of-last-year", trigger=PLAIN, error=ModelNotFound, topic=Topic.RETIRED,
    )  # fmt: skip


HOSTED_ROWS = (
    Behaviour(
        "mistral", "chat", "takes ids of calls of nine letters and digits", ".*", has_foreign_call_id, 400,
        {"object": "error", "message": "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
         "type": "invalid_function_call", "param": None, "code": "3280"},
        "2026-03-16", "nearai/ironclaw#1241", "mistral-large-latest", topic=Topic.HISTORY,
        trigger=PLAIN, fields=after_messages(calling()),
    ),
    Behaviour(
        "deepseek", "chat", "wants the reasoning of calls back", "deepseek-v4.*", has_call_without_reasoning, 400,
        openai("The `reasoning_content` in the thinking mode must be passed back to the API.", "invalid_request_error"),
        "2026-05-25", "mnfst/modelparams.dev#29", "deepseek-v4-pro", topic=Topic.THINKING,
        trigger=PLAIN, fields=after_messages(calling()),
    ),
    Behaviour(
        "moonshot", "chat", "wants the reasoning of calls back", "kimi-k.*", has_call_without_reasoning, 400,
        openai("thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"),
        "2026-03-18", "continuedev/continue#11600", "kimi-k2.5", topic=Topic.THINKING,
        trigger=PLAIN, fields=after_messages(calling()),
    ),
    Behaviour(
        "cerebras", "chat", "takes no reasoning back", ".*", has_reasoning_content, 400,
        {"message": "messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is "
                    "unsupported", "type": "invalid_request_error", "param": "validation_error",
         "code": "wrong_api_format"},
        "2026-07-16", "Alishahryar1/free-claude-code#1136", "zai-glm-4.7", topic=Topic.THINKING,
        trigger=PLAIN, fields=after_messages(calling(reasoning_content="Hm.")),
    ),
    _has_no_model(
        "groq", 400,
        {"error": {"message": "The model `{model}` has been decommissioned and is no longer supported. Please refer to "
                              "https://console.groq.com/docs/deprecations for a recommendation on which model to use "
                              "instead.", "type": "invalid_request_error", "code": "model_decommissioned"}},
        "2026-06-17", "continuedev/continue#12741",
    ),
    _has_no_model(
        "together", 400,
        {"id": "ok", "error": {"message": "Unable to access non-serverless model {model}. Please visit "
                               "https://api.together.ai/models/{model} to create and start a new dedicated endpoint "
                               "for the model.", "type": "invalid_request_error", "param": None,
                               "code": "model_not_available"}},
        "2026-11-22", "HeyPuter/puter#3168",
    ),
    _has_no_model(
        "xai", 404,
        {"code": "Some requested entity was not found",
         "error": "The model {model} does not exist or your team bdc397fa does not have access to it. Please ensure "
                  "you're using the correct API key. If you believe this is a mistake, please contact support and "
                  "quote your team ID and the model name."},
        "2025-07-15", "yihong0618/bilingual_book_maker#464",
    ),
    _has_no_model(
        "huggingface", 400,
        {"error": {"message": "The requested model '{model}' is not supported by any provider you have enabled.",
                   "type": "invalid_request_error", "param": "model", "code": "model_not_supported"}},
        "2025-10-03", "n4ze3m/page-assist#727",
    ),
    _has_no_model(
        "fireworks", 404,
        {"error": {"message": "Model not found, inaccessible, and/or not deployed", "param": "model",
                   "code": "NOT_FOUND", "type": "error"}},
        "2026-08-13", "warpdotdev/warp#15107",
    ),
    _has_no_model(
        "nvidia", 404,
        {"status": 404, "title": "Not Found",
         "detail": "Function '23d4f03a-b8a6-4adb-a183-7daa083a09cc': Not found for account 'Qawmu2vUw3rdcREnub'"},
        "2026-07-08", "Alishahryar1/free-claude-code#1021",
    ),
    Behaviour(
        "perplexity", "chat", "takes no tools", ".*", has_tools, 400,
        openai("Tool calling is not supported for this model"),
        "2026-06-23", "pipecat-ai/pipecat#4862", "sonar", error=ToolsNotSupported, topic=Topic.TOOLS,
    ),
    Behaviour(
        "zai", "chat", "has an account without credit", ".*", always, 429,
        {"error": {"code": "1113", "message": "Insufficient balance or no resource package. Please recharge."}},
        "2026-09-11", "zai-org/GLM-5#148", "glm-5.3", trigger=PLAIN, error=RateLimited, topic=Topic.ACCOUNT,
    ),
    Behaviour(
        "bedrock", "chat", "offers the model over another API only", r"openai\..*", always, 400,
        {"error": {"code": "validation_error", "param": None, "type": "invalid_request_error",
                   "message": "The model '{model}' does not support the '/v1/chat/completions' API"}},
        "2026-07-30", "mnfst/llm-gateway#2657", "openai.gpt-5.6-luna", trigger=PLAIN, error=WireNotSupported,
        topic=Topic.DIALECT,
    ),
    Behaviour(
        "databricks", "chat", "wants parameters of every tool", ".*", has_tool_without_parameters, 400,
        {"error_code": "BAD_REQUEST",
         "message": 'Bad request: "parameters" is a required property for "function" object in parameter "tools"'},
        "2026-08-12", "posit-dev/querychat#273", "databricks-meta-llama-3-3-70b-instruct", error=ProviderError,
        trigger=PLAIN, fields={"tools": [{"type": "function", "function": {"name": "double"}}]},
    ),
    Behaviour(
        "snowflake", "chat", "does not open the endpoint to the account", ".*", always, 403,
        {"code": "003001", "error_code": "003001", "request_id": "r",
         "message": "This account is not allowed to access this endpoint. Please contact Snowflake support."},
        "2026-09-20", "vllm-project/semantic-router#3608", "claude-4-sonnet", trigger=PLAIN,
        error=AuthenticationFailed, topic=Topic.ACCOUNT,
    ),
)  # fmt: skip

"""What servers on one's own machine, and gateways, refuse."""

from __future__ import annotations

from nbtool.errors import ContextTooLong, ModelNotFound, ProviderError, ToolsNotSupported
from tests.providers.behaviour import PLAIN, SERVER_DIALECTS, Behaviour, Body, Topic
from tests.providers.conditions import always, has_tools, has_unreadable_arguments
from tests.providers.replies import Answer


def _refuses_tools(
    provider: str, name: str, status: int, body: Body, date: str, source: str, dialects: tuple[str, ...] = ()
) -> Behaviour:
    return Behaviour(
        provider, "chat", name, ".*", has_tools, status, body, date, source, "m", error=ToolsNotSupported,
        topic=Topic.TOOLS, dialects=dialects,
    )  # fmt: skip


def _litellm(message: str) -> Body:
    return {"error": {"message": f"litellm.UnsupportedParamsError: {message}", "type": "None", "param": None,
                      "code": "400"}}  # fmt: skip


def _refuses(provider: str, name: str, error: type[ProviderError], body: Body, date: str, source: str) -> Behaviour:
    return Behaviour(
        provider, "chat", name, ".*", always, 400, body, date, source, "m", trigger=PLAIN, error=error,
        topic=Topic.RETIRED if error is ModelNotFound else Topic.ACCOUNT, dialects=SERVER_DIALECTS,
    )  # fmt: skip


SERVER_ROWS = (
    _refuses_tools(
        "ollama", "has no template for tools", 400,
        {"error": {"message": "registry.ollama.ai/library/gemma3:12b does not support tools", "type": "api_error"}},
        "2026-08-01", "open-webui/open-webui#27996", SERVER_DIALECTS,
    ),
    _refuses_tools(
        "openrouter", "finds no endpoint with tools", 404,
        {"error": {"message": "No endpoints found that support tool use. Try disabling \"double\".", "code": 404}},
        "2026-04-15", "Kilo-Org/kilocode#9006", SERVER_DIALECTS,
    ),
    _refuses_tools(
        "vllm", "was started without a tool parser", 400,
        {"object": "error", "type": "BadRequestError", "code": 400,
         "message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'},
        "2025-12-13", "vllm-project/vllm#30613", SERVER_DIALECTS,
    ),
    _refuses_tools(
        "llamacpp", "was started without a template", 500,
        {"error": {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"}},
        "2026-11-22", "recorded traffic",
    ),
    _refuses_tools(
        "litellm", "knows no tools of a provider", 400,
        _litellm("together_ai does not support parameters: ['tools'], for model=Qwen/Qwen3.7-Max. To drop these, set "
                 "`litellm.drop_params=True`"),
        "2026-08-25", "BerriAI/litellm#38265", SERVER_DIALECTS,
    ),
    _refuses_tools(
        "litellm", "knows no tools of a provider, in the singular", 400,
        _litellm("GradientAI does not support parameter 'tools'. To drop unsupported params, set `drop_params=True`.."),
        "2026-02-24", "BerriAI/litellm#22006", SERVER_DIALECTS,
    ),
    _refuses_tools(
        "litellm", "knows no tools of a provider, and repeats them", 400,
        _litellm("together_ai does not support parameters: {'tools': [{'type': 'function', 'function': {'name': "
                 "'double', 'parameters': {'type': 'object'}}}]}, for model=meta-llama/Llama-3.3-70B-Instruct-Turbo"),
        "2025-01-15", "BerriAI/litellm#7785", SERVER_DIALECTS,
    ),
    Behaviour(
        "vllm", "chat", "parses the arguments of earlier calls again", ".*", has_unreadable_arguments, 400,
        {"object": "error", "message": "Expecting ',' delimiter: line 1 column 9 (char 8)", "type": "BadRequestError",
         "code": 400},
        "2026-11-22", "vllm-project/vllm#43995, vllm-project/vllm#48922", "any", topic=Topic.HISTORY,
        answer=Answer("", calls=(("double", {"n": 21}),), is_broken=True), dialects=("chat", "responses"),
        trigger=PLAIN, fields={"messages": [
            {"role": "assistant", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "double", "arguments": '{"n": 21'}},
            ]},
        ]}),
    _refuses(
        "lmstudio", "has loaded no model", ModelNotFound,
        {"error": {"message": "No models loaded. Please load a model in the developer page or use the `lms load` "
                              "command.", "type": "invalid_request_error", "param": "model"}},
        "2026-06-26", "tinyhumansai/openhuman#4181",
    ),
    _refuses(
        "sglang", "takes no longer input than its context", ContextTooLong,
        {"object": "error", "type": "BadRequestError", "param": None, "code": 400,
         "message": "The input (61709 tokens) is longer than the model's context length (40960 tokens)."},
        "2025-04-29", "QwenLM/Qwen3#1321",
    ),
)  # fmt: skip

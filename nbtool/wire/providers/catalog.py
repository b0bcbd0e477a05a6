"""The provider catalog: each provider with its address, dialect and abilities."""

from __future__ import annotations

import re
from dataclasses import replace

from nbtool.settings import env
from nbtool.wire.providers.connection import Connection
from nbtool.wire.providers.model_data import default_model_of
from nbtool.wire.providers.provider import WRITES_CALLS, Provider
from nbtool.wire.providers.providers_toml import read_overrides


def _abilities(*extra: str) -> frozenset[str]:
    return frozenset({"tools", *extra})


_BUILTIN = (
    Provider(
        "openai", "https://api.openai.com/v1", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        wire="responses", compatible_wire="chat",
        abilities=_abilities("images", "audio", "files", "json_schema", "max_completion_tokens", "reasoning_summary"),
        key_page="https://platform.openai.com/api-keys",
    ),
    Provider(
        "anthropic", "https://api.anthropic.com/v1", ("ANTHROPIC_API_KEY",), ("ANTHROPIC_BASE_URL",), wire="anthropic",
        abilities=_abilities("images", "files"), connection=Connection(auth="x-api-key"),
        key_page="https://console.anthropic.com/settings/keys",
    ),
    Provider(
        "google", "https://generativelanguage.googleapis.com/v1beta", ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        wire="gemini", compatible_wire="chat",
        abilities=_abilities("images", "audio", "files", "json_schema"),
        key_page="https://aistudio.google.com/apikey",
    ),
    Provider(
        "mistral", "https://api.mistral.ai/v1", ("MISTRAL_API_KEY",),
        abilities=_abilities("images", "json_schema", "no_stream_options", "short_call_ids"),
        key_page="https://console.mistral.ai/api-keys",
    ),
    Provider(
        "deepseek", "https://api.deepseek.com", ("DEEPSEEK_API_KEY",),
        abilities=_abilities("echo_reasoning_with_calls"),
        key_page="https://platform.deepseek.com/api_keys",
    ),
    Provider(
        "groq", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",), abilities=_abilities("images"),
        key_page="https://console.groq.com/keys",
    ),
    Provider(
        "openrouter", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",),
        abilities=_abilities("images", "audio", "files", "echo_reasoning", "reports_cost", "kind:chat"),
        key_page="https://openrouter.ai/settings/keys",
    ),
    Provider(
        "together", "https://api.together.xyz/v1", ("TOGETHER_API_KEY",), abilities=_abilities("images"),
        key_page="https://api.together.ai/settings/api-keys",
    ),
    Provider(
        "xai", "https://api.x.ai/v1", ("XAI_API_KEY",),
        abilities=_abilities("images", "json_schema"),
        key_page="https://console.x.ai",
    ),
    Provider(
        "cerebras", "https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",),
        key_page="https://cloud.cerebras.ai",
    ),
    Provider(
        "azure", "", ("AZURE_OPENAI_API_KEY",), ("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_BASE_URL"),
        wire="responses", compatible_wire="chat", address_path="/openai/v1",
        abilities=_abilities("images", "json_schema", "max_completion_tokens", "reasoning_summary"),
        connection=Connection(auth="api-key"), key_page="https://portal.azure.com",
    ),
    Provider(
        "huggingface", "https://router.huggingface.co/v1", ("HF_TOKEN", "HUGGINGFACE_API_KEY"),
        abilities=_abilities("images"), key_page="https://huggingface.co/settings/tokens",
    ),
    Provider(
        "fireworks", "https://api.fireworks.ai/inference/v1", ("FIREWORKS_API_KEY",), abilities=_abilities("images"),
        key_page="https://app.fireworks.ai/settings/users/api-keys",
    ),
    Provider(
        "perplexity", "https://api.perplexity.ai", ("PERPLEXITY_API_KEY", "PPLX_API_KEY"),
        abilities=frozenset({"images", "no_stream_options"}),
        key_page="https://www.perplexity.ai/settings/api",
    ),
    Provider(
        "moonshot", "https://api.moonshot.ai/v1", ("MOONSHOT_API_KEY",),
        abilities=_abilities("images", "echo_reasoning_with_calls"),
        key_page="https://platform.moonshot.ai/console/api-keys",
    ),
    Provider(
        "zai", "https://api.z.ai/api/paas/v4", ("ZAI_API_KEY", "ZHIPU_API_KEY"),
        abilities=_abilities("images", "echo_reasoning_with_calls"),
        key_page="https://z.ai/manage-apikey/apikey-list",
    ),
    Provider(
        "nvidia", "https://integrate.api.nvidia.com/v1", ("NVIDIA_API_KEY",),
        key_page="https://build.nvidia.com/settings/api-keys",
    ),
    Provider(
        "vertex", "", (), ("VERTEX_BASE_URL",), wire="gemini",
        abilities=_abilities("images", "audio", "files", "json_schema"),
        connection=Connection(auth="bearer", key_command=("gcloud", "auth", "print-access-token")),
    ),
    Provider(
        "ollama", "http://127.0.0.1:11434/v1", ("OLLAMA_API_KEY",), ("OLLAMA_HOST",),
        abilities=_abilities("free", "images", "json_schema", WRITES_CALLS), port=11434,
    ),
    Provider(
        "lmstudio", "http://127.0.0.1:1234/v1", (), ("LMSTUDIO_HOST",),
        abilities=_abilities("free", "images", "json_schema", WRITES_CALLS), port=1234,
    ),
    Provider(
        "llamacpp", "http://127.0.0.1:8080/v1", ("LLAMA_API_KEY",), ("LLAMACPP_HOST",),
        abilities=_abilities(
            "free", "images", "json_schema", "echo_reasoning_with_calls", "empty_content", WRITES_CALLS
        ), port=8080,
    ),
    Provider(
        "vllm", "http://127.0.0.1:8000/v1", ("VLLM_API_KEY",), ("VLLM_HOST",),
        abilities=_abilities("free", "images", "json_schema", WRITES_CALLS), port=8000,
    ),
    Provider(
        "sglang", "http://127.0.0.1:30000/v1", ("SGLANG_API_KEY",), ("SGLANG_HOST",),
        abilities=_abilities("free", "images", "json_schema", WRITES_CALLS), port=30000,
    ),
    Provider(
        "litellm", "http://127.0.0.1:4000/v1", ("LITELLM_PROXY_API_KEY", "LITELLM_API_KEY"),
        ("LITELLM_PROXY_API_BASE", "LITELLM_BASE_URL"), abilities=_abilities("images", "files"), port=4000,
    ),
    Provider(
        "bedrock", "https://bedrock-mantle.{region}.api.aws/v1", ("AWS_BEARER_TOKEN_BEDROCK",), ("BEDROCK_BASE_URL",),
        abilities=_abilities("images"), key_page="https://console.aws.amazon.com/bedrock/home#/api-keys",
    ),
    Provider(
        "databricks", "", ("DATABRICKS_TOKEN",), ("DATABRICKS_HOST",), address_path="/serving-endpoints",
        abilities=_abilities("images"),
    ),
    Provider(
        "snowflake", "", ("SNOWFLAKE_PAT", "SNOWFLAKE_TOKEN"), ("SNOWFLAKE_ACCOUNT_URL", "SNOWFLAKE_HOST"),
        address_path="/api/v2/cortex/v1", abilities=_abilities("images", "json_schema"),
    ),
    Provider(
        "colab", "", ("MODEL_PROXY_API_KEY",), ("MODEL_PROXY_HOST",), address_path="/models/openapi",
        abilities=_abilities("images"),
    ),
    Provider("practice", "", abilities=_abilities("free", "images", "echo_reasoning_with_calls")),
)  # fmt: skip

BUILTIN: dict[str, Provider] = {
    provider.name: replace(provider, default_model=default_model_of(provider.name)) for provider in _BUILTIN
}
"""The built-in providers, in the order in which a default model is searched."""

REGION_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")
"""The environment variables of the region of AWS; the first that is set is used."""

DEFAULT_REGION = "us-east-1"

_REGION = re.compile(r"[a-z0-9-]{1,40}")


def _fill_address(provider: Provider) -> Provider:
    """Return a provider with the region of this environment in its address; with an invalid one it has none."""
    if "{region}" not in provider.base_url:
        return provider
    region = next((value for name in REGION_VARIABLES if (value := env(name))), DEFAULT_REGION)
    address = provider.base_url.replace("{region}", region) if _REGION.fullmatch(region) else ""
    return replace(provider, base_url=address)


def providers() -> dict[str, Provider]:
    """Return all providers by name: the built-in ones with the overrides of the user's file.

    Raises:
        nbtool.errors.SettingsError: the file cannot be read, or is invalid.
    """
    return {name: _fill_address(provider) for name, provider in (BUILTIN | read_overrides(BUILTIN)).items()}

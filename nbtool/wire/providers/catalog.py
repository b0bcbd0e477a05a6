"""The provider catalog, and model ids: `provider:model` → provider, address and dialect.

The user's file `providers.toml` in nbtool's data folder adds providers and overrides built-in ones, field by field:

    [lab]
    base_url = "https://llm.lab.example/v1"
    keys = ["LAB_API_KEY"]
    abilities = ["tools", "images"]
    auth = "bearer"
    headers = { X-Team = "${LAB_TEAM}" }
    query = { api-version = "2026-01-01" }
    key_command = ["lab-login", "print-token"]
    verify = "~/lab-ca.pem"

See `Connection` for the settings from `auth` on; `${NAME}` in headers and query is an environment variable.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Annotated, Any, ClassVar

from pydantic import Field, TypeAdapter, ValidationError

from nbtool.errors import BadUsage, SettingsError, UnknownModel
from nbtool.server_url import parse_server_url
from nbtool.settings import data_dir, display_path, env
from nbtool.text import shorten
from nbtool.wire.providers.connection import CONNECTION_SETTINGS, Connection, make_connection
from nbtool.wire.providers.model_data import default_model_of

SETTINGS_FILE = "providers.toml"

ABILITIES = {
    "tools": "supports native tool calling; without it tools are described in the prompt",
    "images": "accepts images (at least some of its models do)",
    "audio": "accepts audio",
    "files": "accepts files, including PDF",
    "json_schema": "supports a JSON schema as response format, without tools",
    "no_stream_options": "rejects `stream_options`, or always sends the usage",
    "max_completion_tokens": "requires `max_completion_tokens` instead of `max_tokens`",
    "echo_reasoning": "requires the reasoning back with every message",
    "echo_reasoning_with_calls": "requires the reasoning back with messages that contain tool calls only",
    "no_encrypted_reasoning": "rejects `include` for encrypted reasoning (Responses)",
    "reasoning_summary": "summarises its reasoning on request (Responses)",
    "thinking_display": "shows thinking and the text between calls on request (Messages)",
    "no_thought_summaries": "rejects the request for summaries of thoughts (Gemini)",
    "empty_content": "requires `content` in every message, empty next to tool calls",
    "short_call_ids": "requires call ids of nine letters and digits",
    "developer_role": "requires the system prompt under the role `developer`",
    "reports_cost": "reports the cost of every reply in US dollars",
    "no_cache_control": "rejects `cache_control` on the Messages wire",
    "prompted:hermes": "tools in the prompt are called as Hermes and Qwen models write it (`<tool_call>`)",
    "prompted:pythonic": "tools in the prompt are called as Llama 4 and LFM2 write it (a list of Python calls)",
    "kind:chat": "its models are chat models, whatever their names",
    "kind:image": "its models generate images",
    "kind:image-edit": "its models edit images",
    "kind:transcription": "its models transcribe speech",
    "kind:speech": "its models convert text to speech",
}
"""All abilities of a provider, with a description. Wires read them; chats read the first five."""

KIND_PREFIX = "kind:"
"""The prefix of an ability that sets the kind of all models of a provider; without it their names decide."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of models over HTTP.

    `keys` and `addresses` are names of environment variables; the first one that is set is used. `port` is the default
    port of a local server, which needs no key. `compatible_wire` is the dialect at hosts other than its own, if it
    differs from `wire`: compatible servers may support just the older one. `address_path` completes
    a configured address without a path. `{region}` in `base_url` is the region of AWS. `default_model` is used if a key
    was found and no model was chosen.
    """

    name: str
    base_url: str
    keys: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    wire: str = "chat"
    compatible_wire: str = ""
    abilities: frozenset[str] = frozenset({"tools"})
    connection: Connection = field(default_factory=Connection)
    default_model: str = ""
    address_path: str = ""
    port: Annotated[int, Field(ge=0, le=65535, strict=True)] = 0
    key_page: str = ""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    @property
    def needs_key(self) -> bool:
        """Whether requests require a key of the environment."""
        return bool(self.keys) and not self.port and not self.connection.key_command


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
        abilities=_abilities("images", "json_schema"), port=11434,
    ),
    Provider(
        "lmstudio", "http://127.0.0.1:1234/v1", (), ("LMSTUDIO_HOST",),
        abilities=_abilities("images", "json_schema"), port=1234,
    ),
    Provider(
        "llamacpp", "http://127.0.0.1:8080/v1", ("LLAMA_API_KEY",), ("LLAMACPP_HOST",),
        abilities=_abilities("images", "echo_reasoning_with_calls", "empty_content"), port=8080,
    ),
    Provider(
        "vllm", "http://127.0.0.1:8000/v1", ("VLLM_API_KEY",), ("VLLM_HOST",),
        abilities=_abilities("images", "json_schema"), port=8000,
    ),
    Provider(
        "sglang", "http://127.0.0.1:30000/v1", ("SGLANG_API_KEY",), ("SGLANG_HOST",),
        abilities=_abilities("images", "json_schema"), port=30000,
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
    Provider("practice", "", abilities=_abilities("images", "echo_reasoning_with_calls")),
)  # fmt: skip

BUILTIN: dict[str, Provider] = {
    provider.name: replace(provider, default_model=default_model_of(provider.name)) for provider in _BUILTIN
}
"""The built-in providers, in the order in which a default model is searched."""

_ALIASES = {
    "gemini": "google", "claude": "anthropic", "grok": "xai", "hf": "huggingface", "llama.cpp": "llamacpp",
    "llama_cpp": "llamacpp", "lm_studio": "lmstudio", "lm-studio": "lmstudio", "mistralai": "mistral",
    "azure_openai": "azure", "together_ai": "together", "fireworks_ai": "fireworks", "kimi": "moonshot",
    "zhipu": "zai", "z.ai": "zai", "x.ai": "xai",
}  # fmt: skip

_MODEL_PREFIXES = (
    ("gpt", "openai"), ("o1", "openai"), ("o3", "openai"), ("o4", "openai"), ("chatgpt", "openai"),
    ("claude", "anthropic"), ("gemini", "google"), ("mistral", "mistral"), ("magistral", "mistral"),
    ("deepseek", "deepseek"), ("grok", "xai"), ("sonar", "perplexity"), ("kimi", "moonshot"), ("glm", "zai"),
    ("llama", "ollama"), ("qwen", "ollama"), ("gemma", "ollama"),
)  # fmt: skip


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
    path = data_dir() / SETTINGS_FILE
    try:
        tables = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        tables = {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"{display_path(path)} cannot be read ({error}).", fix="Fix it, or remove it.") from None
    overridden = {name: _with_overrides(name, table, display_path(path)) for name, table in tables.items()}
    return {name: _fill_address(provider) for name, provider in (BUILTIN | overridden).items()}


def parse_model(model_id: str) -> tuple[Provider, str]:
    """Parse `provider:model` or `provider/model`.

    Only the provider is checked here; whether the model exists is decided by the provider.

    Raises:
        nbtool.errors.UnknownModel: the provider is missing or unknown, or the model is missing.
    """
    catalog = providers()
    parts = re.fullmatch(r"\s*([^:/\s]+)\s*[:/]\s*(\S.*?)?\s*", model_id)
    name = parts[1].lower() if parts else model_id.strip().lower()
    name = _ALIASES.get(name, name)
    if parts and name in catalog:
        if parts[2]:
            return catalog[name], parts[2]
        default_name = catalog[name].default_model or "MODEL"
        raise UnknownModel(f"{model_id!r} has no model name.", fix=f"Write {name}:{default_name}.")
    raise UnknownModel(
        f"Unknown provider {shorten(name, 100)!r}." if parts else f"{model_id!r} has no provider.",
        fix=_suggestion(model_id.strip(), name, catalog),
    )


def _suggestion(model_id: str, name: str, catalog: dict[str, Provider]) -> str:
    if not model_id:
        return f"Write provider:model, for example openai:{BUILTIN['openai'].default_model}."
    if name in catalog:
        return f"Write {name}:{catalog[name].default_model or 'MODEL'}."
    close_matches = difflib.get_close_matches(name, [*catalog, *_ALIASES], n=3, cutoff=0.75)
    if close_matches:
        return f"Did you mean {' or '.join(dict.fromkeys(_ALIASES.get(prefix, prefix) for prefix in close_matches))}?"
    for model_prefix, provider in _MODEL_PREFIXES:
        if name.startswith(model_prefix):
            return f"Did you mean {provider}:{model_id}?"
    return f"Write provider:model; the providers are {', '.join(catalog)}."


def _with_overrides(name: str, table: Any, path: str) -> Provider:
    """Return the provider with this name, with the overrides of one table of the user's file."""
    location = f"[{name}] in {path}"
    if not isinstance(table, dict):
        raise SettingsError(f"{location} is not a table.", fix="Write `[name]` and below it `base_url = …`.")
    access = {key: value for key, value in table.items() if key in CONNECTION_SETTINGS}
    others = {key: value for key, value in table.items() if key not in access}
    builtin = BUILTIN.get(name, Provider(name, ""))
    values = {one.name: getattr(builtin, one.name) for one in fields(builtin)}
    others = {"compatible_wire": "", **others} if "wire" in others else others
    try:
        provider = _validator().validate_python(values | others)
    except ValidationError as error:
        raise _invalid_field(error, location) from None
    for key, fix in (("name", "The title of the table is the name: remove it."), ("connection", "Remove it.")):
        if key in table:
            raise SettingsError(f"{location} has a field {key!r}.", fix=fix)
    provider = replace(provider, connection=builtin.connection.merge(_parse_connection(access, location)))
    _check_abilities(provider.abilities, location)
    if not provider.base_url and not provider.addresses and name != "practice":
        raise SettingsError(f"{location} has no address.", fix='Add `base_url = "https://…/v1"`.')
    return replace(provider, base_url=_parse_base_url(provider.base_url, location)) if "base_url" in table else provider


@cache
def _validator() -> TypeAdapter[Provider]:
    return TypeAdapter(Provider)


def _invalid_field(error: ValidationError, location: str) -> SettingsError:
    first = error.errors(include_url=False, include_context=False)[0]
    path, value = ".".join(map(str, first["loc"])), first["input"]
    if first["type"] == "unexpected_keyword_argument":
        own = (one.name for one in fields(Provider) if one.name not in ("name", "connection"))
        available = ", ".join((*own, *CONNECTION_SETTINGS))
        return SettingsError(f"{location} has an unknown field {path!r}.", fix=f"Available: {available}.")
    # A text is not repeated: it may be a key.
    description = repr(value) if isinstance(value, int | float) else f"of type {type(value).__name__}"
    return SettingsError(f"{location}: {path}: {first['msg']}.", fix=f"It is {description}.")


def _parse_connection(table: dict[str, Any], location: str) -> Connection:
    try:
        return make_connection(table)
    except BadUsage as error:
        raise SettingsError(f"{location}: {error.message}", fix=error.fix) from None


def _parse_base_url(text: str, location: str) -> str:
    try:
        return str(parse_server_url(text))
    except BadUsage as error:
        raise SettingsError(f"{location}: base_url: {error.message}", fix=error.fix) from None


def _check_abilities(abilities: frozenset[str], location: str) -> None:
    if unknown := abilities - ABILITIES.keys():
        raise SettingsError(
            f"{location} has an unknown ability {min(unknown)!r}.", fix=f"Available: {', '.join(ABILITIES)}."
        )

"""Providers as data, and model ids: `provider:model` → whom to ask, where, and in which dialect.

A person's own file `providers.toml` in the folder of nbtool adds providers and changes ours, field by field:

    [lab]
    base_url = "https://llm.lab.example/v1"
    keys = ["LAB_API_KEY"]
    abilities = ["tools", "images"]
"""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from nbtool.errors import BadUsage, SettingsError, UnknownModel
from nbtool.server_url import parse_server_url
from nbtool.settings import data_dir, display_path

SETTINGS_FILE = "providers.toml"

ABILITIES = {
    "tools": "takes tools natively; without it tools go through the prompt",
    "images": "takes images (some of its models do)",
    "audio": "takes sound",
    "files": "takes files, PDF among them",
    "json_schema": "takes a JSON schema as the rule of an answer, where no tools are offered",
    "no_stream_options": "refuses `stream_options`, or sends the usage unasked",
    "max_completion_tokens": "wants `max_completion_tokens` in place of `max_tokens`",
    "echo_reasoning": "wants the model's thoughts back with every message",
    "echo_reasoning_with_calls": "wants the thoughts back with messages that ask for calls only",
    "encrypted_reasoning": "gives its reasoning encrypted, to be sent back (Responses)",
    "empty_content": "fails on messages without `content`, and takes an empty one beside calls",
    "short_call_ids": "takes ids of calls of nine letters and digits only",
    "developer_role": "wants the system prompt under the role `developer`",
    "reports_cost": "says with every reply what it cost in US dollars",
    "no_cache_control": "refuses `cache_control` marks on the Messages wire",
    "kind:chat": "its models chat, whatever they are called",
    "kind:image": "its models make images",
    "kind:image-edit": "its models edit images",
    "kind:transcription": "its models write down what is said",
    "kind:speech": "its models read text aloud",
}
"""Every word an ability can be, and what it says of a provider. Wires read them; chats read the first five."""

KIND_PREFIX = "kind:"
"""How an ability begins that says what all models of a provider do; without one their names say it."""

KeyHeader = Literal["authorization", "x-api-key", "api-key"]


@dataclass(frozen=True, slots=True)
class Provider:
    """One who offers models over HTTP.

    `keys` and `addresses` are names of environment variables; the first one that is set holds. `port` is the usual
    port of a local server, which needs no key. `default_model` is asked where a key was found and nothing chosen.
    """

    name: str
    base_url: str
    keys: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    wire: str = "chat"
    abilities: frozenset[str] = frozenset({"tools"})
    key_header: KeyHeader = "authorization"
    default_model: str = ""
    port: int = 0
    key_page: str = ""

    @property
    def needs_key(self) -> bool:
        """Whether nothing can be asked without a key."""
        return bool(self.keys) and not self.port


def _abilities(*extra: str) -> frozenset[str]:
    return frozenset({"tools", *extra})


_BUILTIN = (
    Provider(
        "openai", "https://api.openai.com/v1", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        abilities=_abilities("images", "audio", "files", "json_schema", "max_completion_tokens", "encrypted_reasoning"),
        default_model="gpt-5-mini",
        key_page="https://platform.openai.com/api-keys",
    ),
    Provider(
        "anthropic", "https://api.anthropic.com/v1", ("ANTHROPIC_API_KEY",), ("ANTHROPIC_BASE_URL",), wire="anthropic",
        abilities=_abilities("images", "files"), key_header="x-api-key", default_model="claude-sonnet-4-5",
        key_page="https://console.anthropic.com/settings/keys",
    ),
    Provider(
        "google", "https://generativelanguage.googleapis.com/v1beta/openai", ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        abilities=_abilities("images", "audio"), default_model="gemini-2.5-flash",
        key_page="https://aistudio.google.com/apikey",
    ),
    Provider(
        "mistral", "https://api.mistral.ai/v1", ("MISTRAL_API_KEY",),
        abilities=_abilities("images", "json_schema", "no_stream_options", "short_call_ids"),
        default_model="mistral-medium-latest", key_page="https://console.mistral.ai/api-keys",
    ),
    Provider(
        "deepseek", "https://api.deepseek.com", ("DEEPSEEK_API_KEY",),
        abilities=_abilities("echo_reasoning_with_calls"), default_model="deepseek-chat",
        key_page="https://platform.deepseek.com/api_keys",
    ),
    Provider(
        "groq", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",), abilities=_abilities("images"),
        default_model="llama-3.3-70b-versatile", key_page="https://console.groq.com/keys",
    ),
    Provider(
        "openrouter", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",),
        abilities=_abilities("images", "audio", "files", "echo_reasoning", "reports_cost", "kind:chat"),
        default_model="openrouter/auto",
        key_page="https://openrouter.ai/settings/keys",
    ),
    Provider(
        "together", "https://api.together.xyz/v1", ("TOGETHER_API_KEY",), abilities=_abilities("images"),
        default_model="meta-llama/Llama-3.3-70B-Instruct-Turbo", key_page="https://api.together.ai/settings/api-keys",
    ),
    Provider(
        "xai", "https://api.x.ai/v1", ("XAI_API_KEY",),
        abilities=_abilities("images", "json_schema", "encrypted_reasoning"),
        default_model="grok-4",        key_page="https://console.x.ai",
    ),
    Provider(
        "cerebras", "https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",), default_model="gpt-oss-120b",
        key_page="https://cloud.cerebras.ai",
    ),
    Provider(
        "azure", "", ("AZURE_OPENAI_API_KEY",), ("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_BASE_URL"),
        abilities=_abilities("images", "json_schema", "max_completion_tokens", "encrypted_reasoning"),
        key_header="api-key", key_page="https://portal.azure.com",
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
        abilities=frozenset({"images", "no_stream_options"}), default_model="sonar",
        key_page="https://www.perplexity.ai/settings/api",
    ),
    Provider(
        "moonshot", "https://api.moonshot.ai/v1", ("MOONSHOT_API_KEY",),
        abilities=_abilities("images", "echo_reasoning_with_calls"), default_model="kimi-latest",
        key_page="https://platform.moonshot.ai/console/api-keys",
    ),
    Provider(
        "zai", "https://api.z.ai/api/paas/v4", ("ZAI_API_KEY", "ZHIPU_API_KEY"),
        abilities=_abilities("images", "echo_reasoning_with_calls"), default_model="glm-4.6",
        key_page="https://z.ai/manage-apikey/apikey-list",
    ),
    Provider(
        "nvidia", "https://integrate.api.nvidia.com/v1", ("NVIDIA_API_KEY",),
        key_page="https://build.nvidia.com/settings/api-keys",
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
    Provider("practice", "", abilities=_abilities("images", "echo_reasoning_with_calls"), default_model="default"),
)  # fmt: skip

BUILTIN: dict[str, Provider] = {provider.name: provider for provider in _BUILTIN}
"""The providers that come with nbtool, those tried first for a default model first."""

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


def providers() -> dict[str, Provider]:
    """Give every provider by name: the person's file laid over ours.

    Raises:
        nbtool.errors.SettingsError: the file cannot be read, or says something that makes no sense.
    """
    path = data_dir() / SETTINGS_FILE
    try:
        tables = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return dict(BUILTIN)
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"{display_path(path)} cannot be read ({error}).", fix="Mend it, or move it away."
        ) from None
    return BUILTIN | {name: _with_overrides(name, table, display_path(path)) for name, table in tables.items()}


def parse_model(model_id: str) -> tuple[Provider, str]:
    """Read `provider:model` or `provider/model`.

    Whether the provider knows the model is its own business: only the provider must be known here.

    Raises:
        nbtool.errors.UnknownModel: no provider is named, or none of that name is known, or the model is missing.
    """
    catalog = providers()
    parts = re.fullmatch(r"\s*([^:/\s]+)\s*[:/]\s*(\S.*?)?\s*", model_id)
    name = parts[1].lower() if parts else model_id.strip().lower()
    name = _ALIASES.get(name, name)
    if parts and name in catalog:
        if parts[2]:
            return catalog[name], parts[2]
        wanted_name = catalog[name].default_model or "MODEL"
        raise UnknownModel(f"{model_id!r} names a provider and no model.", fix=f"Write {name}:{wanted_name}.")
    raise UnknownModel(
        f"{model_id!r} names no provider that is known.", fix=_suggestion(model_id.strip(), name, catalog)
    )


def _suggestion(model_id: str, name: str, catalog: dict[str, Provider]) -> str:
    if not model_id:
        return "Write provider:model, for example openai:gpt-5-mini."
    if name in catalog:
        return f"Write {name}:{catalog[name].default_model or 'MODEL'}."
    close_matches = difflib.get_close_matches(name, [*catalog, *_ALIASES], n=3, cutoff=0.75)
    if close_matches:
        return f"Did you mean {' or '.join(dict.fromkeys(_ALIASES.get(prefix, prefix) for prefix in close_matches))}?"
    for model_prefix, provider in _MODEL_PREFIXES:
        if name.startswith(model_prefix):
            return f"Did you mean {provider}:{model_id}?"
    return f"Write provider:model; providers are {', '.join(catalog)}."


def _with_overrides(name: str, table: Any, path: str) -> Provider:
    """Lay one table of the person's file over the provider of that name."""
    location = f"[{name}] in {path}"
    if not isinstance(table, dict):
        raise SettingsError(f"{location} is no table.", fix="Write `[name]` and below it `base_url = …`.")
    kinds: dict[str, type] = {
        field.name: {"keys": list, "addresses": list, "abilities": list, "port": int}.get(field.name, str)
        for field in fields(Provider)
        if field.name != "name"
    }
    for key, value in table.items():
        if key not in kinds:
            raise SettingsError(f"{location} has an unknown field {key!r}.", fix=f"Known are {', '.join(kinds)}.")
        if not isinstance(value, kinds[key]):
            raise SettingsError(f"{location}: {key} must be a {kinds[key].__name__}.", fix=f"It is {value!r}.")
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    if "abilities" in values:
        values["abilities"] = _checked_abilities(frozenset(map(str, values["abilities"])), location)
    if address := values.get("base_url"):
        values["base_url"] = _parse_base_url(address, location)
    provider = replace(BUILTIN.get(name, Provider(name, "")), **values)
    if not provider.base_url and not provider.addresses and name != "practice":
        raise SettingsError(f"{location} has no address.", fix='Add `base_url = "https://…/v1"`.')
    return provider


def _parse_base_url(text: str, location: str) -> str:
    try:
        return str(parse_server_url(text))
    except BadUsage as error:
        raise SettingsError(f"{location}: base_url: {error.message}", fix=error.fix) from None


def _checked_abilities(abilities: frozenset[str], location: str) -> frozenset[str]:
    if unknown := abilities - ABILITIES.keys():
        raise SettingsError(
            f"{location} has an unknown ability {min(unknown)!r}.", fix=f"Known are {', '.join(ABILITIES)}."
        )
    return abilities

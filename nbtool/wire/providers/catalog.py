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
from nbtool.settings import home, shown_path

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

KIND = "kind:"
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


def _can(*more: str) -> frozenset[str]:
    return frozenset({"tools", *more})


_OURS = (
    Provider(
        "openai", "https://api.openai.com/v1", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        abilities=_can("images", "audio", "files", "json_schema", "max_completion_tokens", "encrypted_reasoning"),
        default_model="gpt-5-mini",
        key_page="https://platform.openai.com/api-keys",
    ),
    Provider(
        "anthropic", "https://api.anthropic.com/v1", ("ANTHROPIC_API_KEY",), ("ANTHROPIC_BASE_URL",), wire="anthropic",
        abilities=_can("images", "files"), key_header="x-api-key", default_model="claude-sonnet-4-5",
        key_page="https://console.anthropic.com/settings/keys",
    ),
    Provider(
        "google", "https://generativelanguage.googleapis.com/v1beta/openai", ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        abilities=_can("images", "audio"), default_model="gemini-2.5-flash",
        key_page="https://aistudio.google.com/apikey",
    ),
    Provider(
        "mistral", "https://api.mistral.ai/v1", ("MISTRAL_API_KEY",),
        abilities=_can("images", "json_schema", "no_stream_options", "short_call_ids"),
        default_model="mistral-medium-latest", key_page="https://console.mistral.ai/api-keys",
    ),
    Provider(
        "deepseek", "https://api.deepseek.com", ("DEEPSEEK_API_KEY",),
        abilities=_can("echo_reasoning_with_calls"), default_model="deepseek-chat",
        key_page="https://platform.deepseek.com/api_keys",
    ),
    Provider(
        "groq", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",), abilities=_can("images"),
        default_model="llama-3.3-70b-versatile", key_page="https://console.groq.com/keys",
    ),
    Provider(
        "openrouter", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",),
        abilities=_can("images", "audio", "files", "echo_reasoning", "reports_cost", "kind:chat"),
        default_model="openrouter/auto",
        key_page="https://openrouter.ai/settings/keys",
    ),
    Provider(
        "together", "https://api.together.xyz/v1", ("TOGETHER_API_KEY",), abilities=_can("images"),
        default_model="meta-llama/Llama-3.3-70B-Instruct-Turbo", key_page="https://api.together.ai/settings/api-keys",
    ),
    Provider(
        "xai", "https://api.x.ai/v1", ("XAI_API_KEY",), abilities=_can("images", "json_schema", "encrypted_reasoning"),
        default_model="grok-4",        key_page="https://console.x.ai",
    ),
    Provider(
        "cerebras", "https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",), default_model="gpt-oss-120b",
        key_page="https://cloud.cerebras.ai",
    ),
    Provider(
        "azure", "", ("AZURE_OPENAI_API_KEY",), ("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_BASE_URL"),
        abilities=_can("images", "json_schema", "max_completion_tokens", "encrypted_reasoning"), key_header="api-key",
        key_page="https://portal.azure.com",
    ),
    Provider(
        "huggingface", "https://router.huggingface.co/v1", ("HF_TOKEN", "HUGGINGFACE_API_KEY"),
        abilities=_can("images"), key_page="https://huggingface.co/settings/tokens",
    ),
    Provider(
        "fireworks", "https://api.fireworks.ai/inference/v1", ("FIREWORKS_API_KEY",), abilities=_can("images"),
        key_page="https://app.fireworks.ai/settings/users/api-keys",
    ),
    Provider(
        "perplexity", "https://api.perplexity.ai", ("PERPLEXITY_API_KEY", "PPLX_API_KEY"),
        abilities=frozenset({"images", "no_stream_options"}), default_model="sonar",
        key_page="https://www.perplexity.ai/settings/api",
    ),
    Provider(
        "moonshot", "https://api.moonshot.ai/v1", ("MOONSHOT_API_KEY",),
        abilities=_can("images", "echo_reasoning_with_calls"), default_model="kimi-latest",
        key_page="https://platform.moonshot.ai/console/api-keys",
    ),
    Provider(
        "zai", "https://api.z.ai/api/paas/v4", ("ZAI_API_KEY", "ZHIPU_API_KEY"),
        abilities=_can("images", "echo_reasoning_with_calls"), default_model="glm-4.6",
        key_page="https://z.ai/manage-apikey/apikey-list",
    ),
    Provider(
        "nvidia", "https://integrate.api.nvidia.com/v1", ("NVIDIA_API_KEY",),
        key_page="https://build.nvidia.com/settings/api-keys",
    ),
    Provider(
        "ollama", "http://127.0.0.1:11434/v1", ("OLLAMA_API_KEY",), ("OLLAMA_HOST",),
        abilities=_can("images", "json_schema"), port=11434,
    ),
    Provider(
        "lmstudio", "http://127.0.0.1:1234/v1", (), ("LMSTUDIO_HOST",),
        abilities=_can("images", "json_schema"), port=1234,
    ),
    Provider(
        "llamacpp", "http://127.0.0.1:8080/v1", ("LLAMA_API_KEY",), ("LLAMACPP_HOST",),
        abilities=_can("images", "echo_reasoning_with_calls", "empty_content"), port=8080,
    ),
    Provider(
        "vllm", "http://127.0.0.1:8000/v1", ("VLLM_API_KEY",), ("VLLM_HOST",),
        abilities=_can("images", "json_schema"), port=8000,
    ),
    Provider("practice", "", abilities=_can("images", "echo_reasoning_with_calls"), default_model="default"),
)  # fmt: skip

OURS: dict[str, Provider] = {provider.name: provider for provider in _OURS}
"""The providers that come with nbtool, those tried first for a default model first."""

_OTHER_NAMES = {
    "gemini": "google", "claude": "anthropic", "grok": "xai", "hf": "huggingface", "llama.cpp": "llamacpp",
    "llama_cpp": "llamacpp", "lm_studio": "lmstudio", "lm-studio": "lmstudio", "mistralai": "mistral",
    "azure_openai": "azure", "together_ai": "together", "fireworks_ai": "fireworks", "kimi": "moonshot",
    "zhipu": "zai", "z.ai": "zai", "x.ai": "xai",
}  # fmt: skip

_MAKERS = (
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
    path = home() / SETTINGS_FILE
    try:
        tables = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return dict(OURS)
    except (OSError, ValueError) as error:
        raise SettingsError(f"{shown_path(path)} cannot be read ({error}).", fix="Mend it, or move it away.") from None
    return OURS | {name: _merged(name, table, shown_path(path)) for name, table in tables.items()}


def parse_model(model_id: str) -> tuple[Provider, str]:
    """Read `provider:model` or `provider/model`.

    Whether the provider knows the model is its own business: only the provider must be known here.

    Raises:
        nbtool.errors.UnknownModel: no provider is named, or none of that name is known, or the model is missing.
    """
    known = providers()
    parts = re.fullmatch(r"\s*([^:/\s]+)\s*[:/]\s*(\S.*?)?\s*", model_id)
    name = parts[1].lower() if parts else model_id.strip().lower()
    name = _OTHER_NAMES.get(name, name)
    if parts and name in known:
        if parts[2]:
            return known[name], parts[2]
        wanted = known[name].default_model or "MODEL"
        raise UnknownModel(f"{model_id!r} names a provider and no model.", fix=f"Write {name}:{wanted}.")
    raise UnknownModel(f"{model_id!r} names no provider that is known.", fix=_advice(model_id.strip(), name, known))


def _advice(model_id: str, name: str, known: dict[str, Provider]) -> str:
    if not model_id:
        return "Write provider:model, for example openai:gpt-5-mini."
    if name in known:
        return f"Write {name}:{known[name].default_model or 'MODEL'}."
    near = difflib.get_close_matches(name, [*known, *_OTHER_NAMES], n=3, cutoff=0.75)
    if near:
        return f"Did you mean {' or '.join(dict.fromkeys(_OTHER_NAMES.get(word, word) for word in near))}?"
    for beginning, maker in _MAKERS:
        if name.startswith(beginning):
            return f"Did you mean {maker}:{model_id}?"
    return f"Write provider:model; providers are {', '.join(known)}."


def _merged(name: str, table: Any, path: str) -> Provider:
    """Lay one table of the person's file over the provider of that name."""
    where = f"[{name}] in {path}"
    if not isinstance(table, dict):
        raise SettingsError(f"{where} is no table.", fix="Write `[name]` and below it `base_url = …`.")
    kinds: dict[str, type] = {
        field.name: {"keys": list, "addresses": list, "abilities": list, "port": int}.get(field.name, str)
        for field in fields(Provider)
        if field.name != "name"
    }
    for key, value in table.items():
        if key not in kinds:
            raise SettingsError(f"{where} has an unknown field {key!r}.", fix=f"Known are {', '.join(kinds)}.")
        if not isinstance(value, kinds[key]):
            raise SettingsError(f"{where}: {key} must be a {kinds[key].__name__}.", fix=f"It is {value!r}.")
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    if "abilities" in values:
        values["abilities"] = _checked(frozenset(map(str, values["abilities"])), where)
    if address := values.get("base_url"):
        values["base_url"] = _address(address, where)
    provider = replace(OURS.get(name, Provider(name, "")), **values)
    if not provider.base_url and not provider.addresses and name != "practice":
        raise SettingsError(f"{where} has no address.", fix='Add `base_url = "https://…/v1"`.')
    return provider


def _address(written: str, where: str) -> str:
    try:
        return str(parse_server_url(written))
    except BadUsage as error:
        raise SettingsError(f"{where}: base_url: {error.message}", fix=error.fix) from None


def _checked(abilities: frozenset[str], where: str) -> frozenset[str]:
    if unknown := abilities - ABILITIES.keys():
        raise SettingsError(
            f"{where} has an unknown ability {min(unknown)!r}.", fix=f"Known are {', '.join(ABILITIES)}."
        )
    return abilities

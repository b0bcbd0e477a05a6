"""Parse model ids: `provider:model` → provider and model, or an error that suggests what was meant."""

from __future__ import annotations

import difflib
import re

from nbtool.errors import UnknownModel
from nbtool.text import shorten
from nbtool.wire.providers.catalog import BUILTIN, providers
from nbtool.wire.providers.model_data import MAX_NAME
from nbtool.wire.providers.provider import Provider

_ALIASES = {
    "gemini": "google", "claude": "anthropic", "grok": "xai", "hf": "huggingface", "llama.cpp": "llamacpp",
    "llama_cpp": "llamacpp", "lm_studio": "lmstudio", "lm-studio": "lmstudio", "mistralai": "mistral",
    "azure_openai": "azure", "together_ai": "together", "fireworks_ai": "fireworks", "kimi": "moonshot",
    "zhipu": "zai", "z.ai": "zai", "x.ai": "xai",
}  # fmt: skip

_SNAPSHOT = re.compile(r"(?:[-@:](?:20\d{6}|20\d\d-\d\d(?:-\d\d)?|\d{3,4}|latest|default|free|v\d+(?::\d+)?))+$")
"""What a name adds to that of its model: `-2026-09-01`, `-001`, `-latest`, `@20260301`, `:free`."""

_MODEL_PREFIXES = (
    ("gpt", "openai"), ("o1", "openai"), ("o3", "openai"), ("o4", "openai"), ("chatgpt", "openai"),
    ("claude", "anthropic"), ("gemini", "google"), ("mistral", "mistral"), ("magistral", "mistral"),
    ("deepseek", "deepseek"), ("grok", "xai"), ("sonar", "perplexity"), ("kimi", "moonshot"), ("glm", "zai"),
    ("llama", "ollama"), ("qwen", "ollama"), ("gemma", "ollama"),
)  # fmt: skip


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


def is_same_model(asked: str, answered: str) -> bool:
    """Whether two names are of one model: they differ in a folder, a date, a version of its files, or `latest`."""
    return _plain_name(asked) == _plain_name(answered)


def _plain_name(name: str) -> str:
    return _SNAPSHOT.sub("", name.strip().lower().rpartition("/")[2]) if len(name) <= MAX_NAME else name


def _suggestion(model_id: str, name: str, catalog: dict[str, Provider]) -> str:
    if not model_id:
        return f"Write provider:model, for example openai:{BUILTIN['openai'].default_model}."
    if name in catalog:
        return f"Write {name}:{catalog[name].default_model or 'MODEL'}."
    for prefix, provider in _MODEL_PREFIXES:
        if re.match(rf"{prefix}(?![a-z])", name):
            return f"Did you mean {provider}:{model_id}?"
    close_matches = difflib.get_close_matches(name, [*catalog, *_ALIASES], n=3, cutoff=0.75)
    if close_matches:
        return f"Did you mean {' or '.join(dict.fromkeys(_ALIASES.get(prefix, prefix) for prefix in close_matches))}?"
    return (
        f"Write provider:model; the providers are {', '.join(catalog)}. "
        "A name on a server of your own needs its address: `%config NbTool.base_url`, or base_url in Python."
    )

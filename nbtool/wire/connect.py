"""Make an endpoint from a model id: select provider, address, key and wire."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from pydantic import SecretStr

from nbtool.errors import BadUsage, MissingKey, Unsupported
from nbtool.server_url import parse_server_url
from nbtool.wire.dialects.think_tags import ThinkTagWire
from nbtool.wire.providers.catalog import ABILITIES, KeyHeader, Provider, parse_model, providers
from nbtool.wire.providers.credentials import configured_url, find_base_url, key_for_host
from nbtool.wire.providers.env_consent import check_allowed
from nbtool.wire.providers.model_kinds import kind_of
from nbtool.wire.registry import find_wire
from nbtool.wire.transport.discovery import default_model
from nbtool.wire.transport.endpoint import HttpEndpoint
from nbtool.wire.transport.model_list import fetch_model_list
from nbtool.wire.transport.retry import Timeouts

__all__ = [
    "HttpEndpoint",
    "Timeouts",
    "default_model",
    "find_provider",
    "list_models",
    "make_endpoint",
    "register_local_server",
]

TEXT_DIALECTS = ("chat", "responses", "anthropic")
"""The wires of text models, whose replies may contain thinking."""


class LocalServer(Protocol):
    """A server in this process: its address and its key."""

    @property
    def base_url(self) -> str:
        """The address, with its path."""

    @property
    def key(self) -> SecretStr | None:
        """The key, if it requires one."""


_local: dict[str, Callable[[], LocalServer]] = {}


def register_local_server(name: str, start: Callable[[], LocalServer]) -> None:
    """Register a function that starts a provider's local server, or finds it running, for its first endpoint."""
    _local[name] = start


HOST_ONLY_ABILITIES = frozenset({"max_completion_tokens", "encrypted_reasoning", "developer_role"})
"""Abilities of a provider's own host only: compatible servers may support just the older names."""


@dataclass(frozen=True, slots=True)
class _Address:
    base_url: str
    key: SecretStr | None
    key_from: str = ""


def make_endpoint(
    model_id: str,
    *,
    base_url: str | None = None,
    api_key: str | SecretStr | None = None,
    wire: str | None = None,
    abilities: Iterable[str] | None = None,
    timeouts: Timeouts | None = None,
) -> HttpEndpoint:
    """Return the endpoint of a model.

    With `base_url` the id may be a bare model name; the key is then `api_key`, or the provider's key if the host is the
    provider's.

    Raises:
        nbtool.errors.UnknownModel: the id names no known provider.
        nbtool.errors.MissingKey: a required key was not found, or belongs to another host.
        nbtool.errors.EnvFileNotAllowed: only a `.env` names the address, and that file was not allowed.
        nbtool.errors.BadUsage: an address, a wire or an ability is invalid.
    """
    provider, model = _provider_and_model(model_id, base_url)
    if abilities is not None:
        provider = replace(provider, abilities=_checked_abilities(abilities))
    name = wire or _wire_of(provider, model)
    address = _address(provider, base_url, api_key, name)
    abilities = (
        provider.abilities if _is_own_host(provider, address.base_url) else provider.abilities - HOST_ONLY_ABILITIES
    )
    return HttpEndpoint(
        ThinkTagWire(find_wire(name)) if name in TEXT_DIALECTS else find_wire(name),
        address.base_url,
        model,
        provider=provider.name,
        key=address.key,
        key_from=address.key_from,
        key_header=_header(provider, name),
        abilities=abilities,
        timeouts=timeouts or Timeouts(),
    )


def is_in_process(provider: str) -> bool:
    """Whether a provider's server runs in this process, so that no data leaves it."""
    return provider in _local


async def list_models(
    provider_name: str, *, base_url: str | None = None, api_key: str | SecretStr | None = None
) -> list[str]:
    """Return the sorted model ids of a provider, or of the server at `base_url`, for `make_endpoint`.

    Raises:
        nbtool.errors.WireError: it does not answer with a list of models.
        nbtool.errors.ModelError: the provider is unknown, or has no key.
    """
    provider = find_provider(provider_name) if base_url is None or provider_name in providers() else Provider("", "")
    name = f"{provider.name}:models" if provider.name else "models"
    names = await fetch_model_list(make_endpoint(name, base_url=base_url, api_key=api_key))
    return [f"{provider.name}:{name}" if provider.name else name for name in names]


def find_provider(name: str) -> Provider:
    """Return a provider by its name or by a model id.

    Raises:
        nbtool.errors.UnknownModel: the provider is unknown.
    """
    return parse_model(name if re.search("[:/]", name) else f"{name}:any")[0]


def _provider_and_model(model_id: str, base_url: str | None) -> tuple[Provider, str]:
    if base_url is None or _names_provider(model_id):
        return parse_model(model_id)
    if not model_id.strip():
        raise BadUsage("The model id is empty.", fix="Pass the model's name on the server.")
    return Provider("", str(parse_server_url(base_url))), model_id.strip()


def _names_provider(model_id: str) -> bool:
    name, _, model = model_id.partition(":")
    return bool(model) and name.lower() in providers()


def _is_own_host(provider: Provider, url: str) -> bool:
    own_url = provider.base_url
    return not own_url or parse_server_url(url).origin == parse_server_url(own_url).origin


def _address(provider: Provider, base_url: str | None, api_key: str | SecretStr | None, wire: str) -> _Address:
    """Select address and key: the caller's, else the configured ones, else the provider's own."""
    explicit_key = SecretStr(api_key.strip()) if isinstance(api_key, str) else api_key
    if base_url is None and provider.name in _local:
        server = _local[provider.name]()
        return _Address(server.base_url, explicit_key or server.key)
    url, is_explicit = configured_url(provider, wire) if base_url is None else (parse_server_url(base_url), None)
    if url is None:
        fix = f"Set {' or '.join(provider.addresses)}." if provider.addresses else "Pass base_url."
        raise MissingKey(f"{provider.name} has no default address.", fix=fix)
    address = is_explicit or find_base_url(provider)
    wants_key = explicit_key is None and bool(provider.name or provider.keys)
    credential = key_for_host(provider, str(url), address=address) if wants_key else None
    check_allowed([is_explicit], url.netloc)
    if credential:
        return _Address(str(url), credential.value, credential.source)
    return _Address(str(url), explicit_key, "the one passed as api_key" if explicit_key else "")


def _wire_of(provider: Provider, model: str) -> str:
    kind = kind_of(provider, model)
    return provider.wire if kind == "chat" else kind


def _header(provider: Provider, wire: str) -> KeyHeader:
    return "x-api-key" if wire == "anthropic" and provider.key_header == "authorization" else provider.key_header


def _checked_abilities(abilities: Iterable[str]) -> frozenset[str]:
    abilities_chosen = frozenset(abilities)
    if unknown := abilities_chosen - ABILITIES.keys():
        raise Unsupported(f"Unknown ability {min(unknown)!r}.", fix=f"Available: {', '.join(ABILITIES)}.")
    return abilities_chosen

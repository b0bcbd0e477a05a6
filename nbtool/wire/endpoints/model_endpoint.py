"""Make an endpoint from a model id: select provider, address, key and wire."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

from nbtool.errors import BadUsage, MissingKey, NbtoolError, SettingsError, Unsupported
from nbtool.policy import register_own_server, site_policy
from nbtool.secret import Secret, SecretValue
from nbtool.server_url import ServerUrl, parse_server_url
from nbtool.wire.base import CHARGES_NOTHING
from nbtool.wire.dialect import TOOL_SEARCH, find_dialect
from nbtool.wire.dialects.prose_wire import text_wire
from nbtool.wire.providers.catalog import providers
from nbtool.wire.providers.connection import NO_AUTH, Connection, auth_header
from nbtool.wire.providers.credentials import (
    Credential,
    configured_url,
    find_base_url,
    is_trusted,
    key_for_host,
    lookup,
)
from nbtool.wire.providers.env_consent import check_allowed
from nbtool.wire.providers.google import GOOGLE_WIRE, PROJECT_VARIABLES, at_wire, is_vertex, wire_at
from nbtool.wire.providers.model_data import model_data
from nbtool.wire.providers.model_id import parse_model
from nbtool.wire.providers.model_kinds import kind_of
from nbtool.wire.providers.provider import ABILITIES, FREE, Provider
from nbtool.wire.transport.http_endpoint import HttpEndpoint
from nbtool.wire.transport.models.default_model import default_model
from nbtool.wire.transport.models.model_list import fetch_model_list
from nbtool.wire.transport.request.expiring_keys import KeyFunction, KeySource, check_key, key_command_source
from nbtool.wire.transport.retry import Timeouts

__all__ = [
    "HttpEndpoint",
    "Timeouts",
    "default_model",
    "find_provider",
    "list_models",
    "make_endpoint",
    "provider_of",
    "register_local_server",
]


class LocalServer(Protocol):
    """A server in this process: its address and its key."""

    @property
    def base_url(self) -> str:
        """The address, with its path."""

    @property
    def key(self) -> Secret | None:
        """The key, if it requires one."""


_local: dict[str, Callable[[], LocalServer]] = {}


def register_local_server(name: str, start: Callable[[], LocalServer]) -> None:
    """Register a function that starts a provider's local server, or finds it running, for its first endpoint."""
    _local[name] = start


HOST_ONLY_ABILITIES = frozenset({"max_completion_tokens", "reasoning_summary", "developer_role"})
"""Abilities of a provider's own host only: compatible servers may support just the older names."""


@dataclass(frozen=True, slots=True)
class _Address:
    base_url: str
    key: Secret | None = None
    key_from: str = ""
    key_source: KeySource | None = None
    connection: Connection = field(default_factory=Connection)


def make_endpoint(  # noqa: PLR0913 - how a model is accessed, as keywords
    model_id: str,
    *,
    base_url: str | None = None,
    api_key: str | SecretValue | KeyFunction | KeySource | None = None,
    wire: str | None = None,
    abilities: Iterable[str] | None = None,
    timeouts: Timeouts | None = None,
    connection: Connection | None = None,
) -> HttpEndpoint:
    """Return the endpoint of a model.

    With `base_url` the id may be a bare model name; the key is then `api_key`, or the provider's key if the host is the
    provider's. `connection` is merged over the provider's, which is used for the provider's own host only.

    Raises:
        nbtool.errors.UnknownModel: the id names no known provider.
        nbtool.errors.MissingKey: a required key was not found, or belongs to another host.
        nbtool.errors.EnvFileNotAllowed: only a `.env` names the address, and that file was not allowed.
        nbtool.errors.BadUsage: an address, a wire, a key or an ability is invalid.
        nbtool.errors.PolicyRefused: the administrator's policy does not allow the address.
    """
    provider, model = _provider_and_model(model_id, base_url)
    if abilities is not None:
        provider = replace(provider, abilities=_checked_abilities(abilities))
    name = wire or _wire_of(provider, model)
    access = _Access(provider, check_key(api_key), connection or Connection(), name)
    address = _address(access, base_url)
    is_own_host = _is_own_host(provider, address.base_url)
    if not (wire or is_own_host) and name == provider.wire:
        name = (
            wire_at(parse_server_url(address.base_url), is_google=provider.wire == GOOGLE_WIRE)
            or provider.compatible_wire
            or name
        )
        address = address if name == access.wire else _address(replace(access, wire=name), base_url)
    abilities = provider.abilities if is_own_host else provider.abilities - HOST_ONLY_ABILITIES
    dialect = find_dialect(name)
    if dialect.thinking_abilities and model_data().thinks_by_default.search(model):
        abilities |= dialect.thinking_abilities
    if is_own_host and dialect.search_tool and _searches_tools(provider.name, model):
        abilities |= {TOOL_SEARCH}
    if is_own_host and FREE in abilities:
        abilities |= {CHARGES_NOTHING}
    if provider.wire != name:
        abilities -= find_dialect(provider.wire).own_abilities
    return HttpEndpoint(
        text_wire(name),
        address.base_url,
        model,
        provider=provider.name,
        is_own_host=is_own_host and bool(provider.name) and not (provider.port or is_in_process(provider.name)),
        key=address.key,
        key_from=address.key_from,
        key_source=address.key_source,
        connection=address.connection,
        provider_tools=provider.provider_tools if is_own_host and dialect.is_text else None,
        abilities=abilities,
        timeouts=timeouts or Timeouts(),
    )


def _searches_tools(provider: str, model: str) -> bool:
    pattern = model_data().searches_tools.get(provider)
    return pattern is not None and bool(pattern.search(model))


def is_in_process(provider: str) -> bool:
    """Whether a provider's server runs in this process, so that no data leaves it."""
    return provider in _local


async def list_models(
    provider_name: str,
    *,
    base_url: str | None = None,
    api_key: str | SecretValue | KeyFunction | KeySource | None = None,
    connection: Connection | None = None,
) -> list[str]:
    """Return the sorted model ids of a provider, or of the server at `base_url`, for `make_endpoint`.

    Raises:
        nbtool.errors.WireError: it does not answer with a list of models.
        nbtool.errors.ModelError: the provider is unknown, or has no key.
    """
    provider = find_provider(provider_name) if base_url is None or provider_name in providers() else Provider("", "")
    name = f"{provider.name}:models" if provider.name else "models"
    names = await fetch_model_list(make_endpoint(name, base_url=base_url, api_key=api_key, connection=connection))
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
    url = parse_server_url(base_url)
    return Provider("", str(url), wire=wire_at(url) or "chat"), model_id.strip()


def provider_of(model_id: str, base_url: str | None) -> str | None:
    """Return the provider that an id names, "" for a bare name on the server at `base_url`; None if it is invalid."""
    with suppress(NbtoolError):
        return _provider_and_model(model_id, base_url)[0].name
    return None


def _names_provider(model_id: str) -> bool:
    name, _, model = model_id.partition(":")
    return bool(model) and name.lower() in providers()


def _is_own_host(provider: Provider, url: str) -> bool:
    own_url = provider.base_url
    return not own_url or parse_server_url(url).origin == parse_server_url(own_url).origin


@dataclass(frozen=True, slots=True)
class _Access:
    """What a caller wants: a provider by a wire, with a key and settings that override the provider's."""

    provider: Provider
    api_key: Secret | KeySource | None
    connection: Connection
    wire: str


def _address(access: _Access, base_url: str | None) -> _Address:
    """Select address, key and settings: the caller's, else the configured ones, else the provider's own."""
    provider, api_key = access.provider, access.api_key
    if base_url is None and provider.name in _local:
        site_policy().check_readable()
        server = _local[provider.name]()
        register_own_server(server.base_url)
        return _Address(server.base_url, api_key if isinstance(api_key, Secret) else server.key)
    url, setting = configured_url(provider, access.wire) if base_url is None else (parse_server_url(base_url), None)
    if url is None:
        names = (*provider.addresses, PROJECT_VARIABLES[0]) if provider.name == "vertex" else provider.addresses
        fix = f"Set {' or '.join(names)}." if names else "Pass base_url."
        raise MissingKey(f"{provider.name} has no default address.", fix=fix)
    site_policy().check_model_url(str(url))
    if setting and setting.from_env_file and (access.api_key is not None or access.connection.carries_secrets):
        raise MissingKey(
            f"{setting.source} names {url.netloc}, which gets no key, headers, query or key command of yours.",
            fix="Pass the address too: base_url=…",
        )
    url = at_wire(url, access.wire)
    connection = _connection(access, url, setting or find_base_url(provider))
    address = _Address(str(url), connection=connection)
    if connection.auth == NO_AUTH:
        found = address
    elif api_key is not None:
        source = "the one passed as api_key"
        found = (
            replace(address, key=api_key, key_from=source)
            if isinstance(api_key, Secret)
            else replace(address, key_from=source, key_source=api_key)
        )
    elif command := connection.key_command:
        key_source = key_command_source(command, connection.key_seconds)
        found = replace(address, key_source=key_source, key_from="key_command")
    else:
        found = _with_found_key(address, access, url, setting)
    check_allowed([setting], url.netloc)
    return found


def _connection(access: _Access, url: ServerUrl, setting: Credential | None) -> Connection:
    """Return the settings for a server: the caller's over the provider's, if those may be sent there."""
    provider, own = access.provider, Connection()
    if is_trusted(provider, url, setting):
        own = provider.connection
    elif provider.connection.auth:
        own = Connection(auth=provider.connection.auth)
    try:
        own = own.expand(lambda name: found.value if (found := lookup((name,))) else None)
    except BadUsage as error:
        raise SettingsError(f"[{provider.name}]: {error.message}", fix=error.fix) from None
    merged = own.merge(access.connection)
    return replace(merged, auth=merged.auth or ("bearer" if is_vertex(url) else find_dialect(access.wire).auth))


def _with_found_key(address: _Address, access: _Access, url: ServerUrl, setting: Credential | None) -> _Address:
    """Return the address with the key of the environment, unless a header replaces it, or there is none."""
    provider = access.provider
    if not (provider.name or provider.keys) or not address.connection.sends_key(
        auth_header(address.connection.auth)[0]
    ):
        return address
    credential = key_for_host(provider, str(url), address=setting or find_base_url(provider))
    return replace(address, key=credential.value, key_from=credential.source) if credential else address


def _wire_of(provider: Provider, model: str) -> str:
    kind = kind_of(provider, model)
    return provider.wire if kind == "chat" else kind


def _checked_abilities(abilities: Iterable[str]) -> frozenset[str]:
    abilities_chosen = frozenset(abilities)
    if unknown := abilities_chosen - ABILITIES.keys():
        raise Unsupported(f"Unknown ability {min(unknown)!r}.", fix=f"Available: {', '.join(ABILITIES)}.")
    return abilities_chosen

"""Find the keys and addresses of providers, and decide to which host a key may be sent.

The environment takes precedence over the nearest `.env` upwards from the working directory, which is read once. A key
is bound to a scheme, a host and a port, and is sent to no other.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from nbtool.errors import BadUsage, MissingKey, SettingsError
from nbtool.secret import Secret
from nbtool.server_url import ServerUrl, parse_server_url
from nbtool.wire.dialect import find_dialect
from nbtool.wire.providers.env_file import find_env_file, shown_path
from nbtool.wire.providers.google import PROJECT_VARIABLES, is_vertex, vertex_url
from nbtool.wire.providers.provider import Provider


class Credential(NamedTuple):
    """A secret value and a description of its source."""

    value: Secret
    source: str
    from_env_file: bool
    name: str = ""


def find_key(provider: Provider) -> Credential | None:
    """Return the provider's key and its source."""
    return lookup(provider.keys)


def find_base_url(provider: Provider) -> Credential | None:
    """Return the configured address that overrides the provider's own; for Vertex AI, that of the project too."""
    found = lookup(provider.addresses)
    if found or provider.name != "vertex" or not (project := lookup(PROJECT_VARIABLES[:1])):
        return found
    location = lookup(PROJECT_VARIABLES[1:])
    url = vertex_url(project.value.get_secret_value(), location.value.get_secret_value() if location else "")
    is_from_file = project.from_env_file or bool(location and location.from_env_file)
    return project._replace(value=Secret(url), from_env_file=is_from_file)


def key_for_host(provider: Provider, base_url: str, *, address: Credential | None) -> Credential | None:
    """Return the key of a provider for an address, or None if the provider needs none.

    A key from the environment is sent to the provider's own origin (scheme, host and port), or to the address that is
    configured in the environment too; an address from a `.env`, which may belong to a downloaded project, receives only
    a key from the same file.

    Raises:
        nbtool.errors.MissingKey: there is no key, or it must not be sent to this address.
    """
    credential = find_key(provider)
    if credential is None:
        if provider.needs_key:
            raise MissingKey(f"No key for {provider.name}: {_searched_places(provider)}.", fix=_setup_hint(provider))
        return None
    url = parse_server_url(base_url)
    if provider.base_url and url.origin == parse_server_url(provider.base_url).origin:
        return credential
    if (
        address
        and url.origin == parse_address(provider, address).origin
        and (credential.from_env_file or not address.from_env_file)
    ):
        return credential
    if not provider.needs_key:
        return None
    source = url.netloc if url.scheme == "https" else f"{url.scheme}://{url.netloc}"
    raise MissingKey(
        f"{credential.source} belongs to {provider.name} and is not sent to {source}.",
        fix=f"Pass a key for this address (api_key=…), or set {provider.addresses[0]} where the key is set."
        if provider.addresses
        else "Pass a key for this address (api_key=…).",
    )


def is_trusted(provider: Provider, url: ServerUrl, address: Credential | None) -> bool:
    """Whether the headers, the query and the key command of a provider's settings may be used for an address.

    That is the provider's own origin, or the address that the environment sets; never one that only a `.env` sets.
    Tokens for Vertex AI are sent to Google's hosts, whatever names the project.
    """
    if provider.name == "vertex" and is_vertex(url):
        return True
    if provider.base_url and url.origin == parse_server_url(provider.base_url).origin:
        return True
    return bool(address and not address.from_env_file and url.origin == parse_address(provider, address).origin)


def parse_address(provider: Provider, credential: Credential) -> ServerUrl:
    """Parse the configured address of a provider; the default port of a local server may be omitted.

    Raises:
        nbtool.errors.SettingsError: it is invalid.
    """
    text = credential.value.get_secret_value()
    try:
        url = parse_server_url(text)
    except BadUsage as error:
        raise SettingsError(f"{credential.source}: {error.message}", fix=error.fix) from None
    if provider.port and not url.path and url.scheme == "http" and url.has_default_port:
        return replace(url, port=provider.port)
    return url


def configured_url(provider: Provider, wire: str) -> tuple[ServerUrl | None, Credential | None]:
    """Return the address of a provider, and the setting that overrides its own; each None if there is none.

    Raises:
        nbtool.errors.SettingsError: the configured address is invalid.
    """
    credential = find_base_url(provider)
    if credential is None:
        return parse_server_url(provider.base_url) if provider.base_url else None, None
    url = parse_address(provider, credential)
    if url.path:
        return url, credential
    if provider.address_path:
        return replace(url, path=provider.address_path), credential
    return replace(url, path="/v1" if provider.port else find_dialect(wire).base_path), credential


def lookup(names: Iterable[str]) -> Credential | None:
    """Return the first of these names that is set, in the environment, then in the nearest `.env`."""
    for name in names:
        if value := os.environ.get(name, "").strip():
            return Credential(Secret(value), name, from_env_file=False, name=name)
    values, path = find_env_file()
    for name in names:
        if secret := values.get(name):
            return Credential(secret, f"{name} in {shown_path(path)}", from_env_file=True, name=name)
    return None


def _searched_places(provider: Provider) -> str:
    _, path = find_env_file()
    names = " and ".join(provider.keys)
    verb = "is" if len(provider.keys) == 1 else "are"
    return f"{names} {verb} set neither in the environment nor in {shown_path(path) if path else 'a .env file'}"


def _setup_hint(provider: Provider) -> str:
    name = provider.keys[0]
    page = f" Create a key at {provider.key_page}." if provider.key_page else ""
    return (
        f"Write {name}=… to a file .env next to the notebook, or set it in the shell before Jupyter starts; "
        f"for this kernel only: import os, getpass; os.environ['{name}'] = getpass.getpass()."
        f" Do not write it into a cell: cells are saved.{page}"
    )

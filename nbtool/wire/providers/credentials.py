"""Keys and addresses: where they are found, and which of them belong together.

The environment goes first, then the nearest `.env` upwards from the working folder, which is read once and never
overrides. A key belongs to a scheme, a host and a port, and is sent to no other.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pydantic import SecretStr

from nbtool.errors import BadUsage, MissingKey, SettingsError
from nbtool.server_url import ServerUrl, parse_server_url
from nbtool.wire.providers.catalog import Provider

MAX_ENV_FILE = 256 * 1024
"""Bytes of a `.env` that are read."""

_ASSIGNMENT = re.compile(
    r"""\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^#]*?))\s*(?:\#.*)?"""
)


class Found(NamedTuple):
    """A value and where it was found, in words."""

    value: SecretStr
    source: str
    from_file: bool
    name: str = ""


def find_key(provider: Provider) -> Found | None:
    """Give the provider's key and where it was found."""
    return find_value(provider.keys)


def find_address(provider: Provider) -> Found | None:
    """Give the address that the person set in place of the provider's own."""
    return find_value(provider.addresses)


def own_key(provider: Provider, base_url: str, *, address: Found | None) -> Found | None:
    """Give the key of a provider for an address, or None where the provider needs none.

    A key of the environment goes to the provider's own origin (scheme, host and port), or to the one the person set
    beside it; an address out of a `.env`, which may have come with somebody's project, gets no key but one out of the
    same file.

    Raises:
        nbtool.errors.MissingKey: there is none, or there is one that must not go there.
    """
    found = find_key(provider)
    if found is None:
        if provider.needs_key:
            raise MissingKey(f"No key for {provider.name}: {_looked_for(provider)}.", fix=_how_to_set(provider))
        return None
    url = parse_server_url(base_url)
    if provider.base_url and url.origin == parse_server_url(provider.base_url).origin:
        return found
    if address and url.origin == address_of(provider, address).origin and (found.from_file or not address.from_file):
        return found
    if not provider.needs_key:
        return None
    where = url.netloc if url.scheme == "https" else f"{url.scheme}://{url.netloc}"
    raise MissingKey(
        f"{found.source} belongs to {provider.name} and is not sent to {where}.",
        fix=f"Give a key for that address (api_key=…), or set {provider.addresses[0]} beside the key."
        if provider.addresses
        else "Give a key for that address (api_key=…).",
    )


def address_of(provider: Provider, found: Found) -> ServerUrl:
    """Read the address that was set in place of a provider's own; a local server's usual port may be left out.

    Raises:
        nbtool.errors.SettingsError: it is no address.
    """
    written = found.value.get_secret_value()
    try:
        url = parse_server_url(written)
    except BadUsage as error:
        raise SettingsError(f"{found.source}: {error.message}", fix=error.fix) from None
    if provider.port and not url.path and url.scheme == "http" and url.has_default_port:
        return replace(url, port=provider.port)
    return url


def configured_url(provider: Provider, wire: str) -> tuple[ServerUrl | None, Found | None]:
    """Give where a provider is reached, and what was set in place of its own address; None where there is none.

    Raises:
        nbtool.errors.SettingsError: what was set is no address.
    """
    found = find_address(provider)
    if found is None:
        return parse_server_url(provider.base_url) if provider.base_url else None, None
    url = address_of(provider, found)
    if url.path:
        return url, found
    if provider.name == "azure":
        return replace(url, path="/openai/v1"), found
    return replace(url, path="/v1") if provider.port or wire == "anthropic" else url, found


def find_value(names: Iterable[str]) -> Found | None:
    """Give the first of these names that is set: all of them in the environment, then all in the nearest `.env`."""
    for name in names:
        if value := os.environ.get(name, "").strip():
            return Found(SecretStr(value), name, from_file=False, name=name)
    values, path = env_file()
    for name in names:
        if secret := values.get(name):
            return Found(secret, f"{name} in {shown_path(path)}", from_file=True, name=name)
    return None


def shown_path(path: str) -> str:
    """Give a path as it is seen from the working folder: outputs are saved, and tell nobody where a home lies."""
    try:
        return os.path.relpath(path) if path else ".env"
    except (OSError, ValueError):  # the folder is gone; another drive
        return Path(path).name


@cache
def env_file() -> tuple[dict[str, SecretStr], str]:
    """Read the nearest `.env`, upwards from the working folder; give its values and its path.

    It is read once; `env_file.cache_clear()` forgets it.
    """
    try:
        here = Path.cwd()
    except OSError:
        return {}, ""
    for folder in (here, *here.parents):
        path = folder / ".env"
        if path.is_file():
            return _read(path), str(path)
    return {}, ""


def _read(path: Path) -> dict[str, SecretStr]:
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            text = file.read(MAX_ENV_FILE)
    except OSError:
        return {}
    values: dict[str, SecretStr] = {}
    for line in text.splitlines():
        if found := _ASSIGNMENT.fullmatch(line):
            name, double, single, bare = found.groups()
            if value := double.replace('\\"', '"') if double else single or bare:
                values[name] = SecretStr(value)
    return values


def _looked_for(provider: Provider) -> str:
    _, path = env_file()
    names = " and ".join(provider.keys)
    verb = "is" if len(provider.keys) == 1 else "are"
    return f"{names} {verb} set neither in the environment nor in {shown_path(path) if path else 'a .env file'}"


def _how_to_set(provider: Provider) -> str:
    name = provider.keys[0]
    page = f" Keys are made at {provider.key_page}." if provider.key_page else ""
    return (
        f"Write {name}=… into a file .env beside the notebook or set it in the shell before Jupyter starts; "
        f"for this kernel alone: import os, getpass; os.environ['{name}'] = getpass.getpass()."
        f" Not into a cell: cells are saved.{page}"
    )

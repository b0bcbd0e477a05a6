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


class Credential(NamedTuple):
    """A value and where it was found, in words."""

    value: SecretStr
    source: str
    from_env_file: bool
    name: str = ""


def find_key(provider: Provider) -> Credential | None:
    """Give the provider's key and where it was found."""
    return lookup(provider.keys)


def find_base_url(provider: Provider) -> Credential | None:
    """Give the address that the person set in place of the provider's own."""
    return lookup(provider.addresses)


def key_for_host(provider: Provider, base_url: str, *, address: Credential | None) -> Credential | None:
    """Give the key of a provider for an address, or None where the provider needs none.

    A key of the environment goes to the provider's own origin (scheme, host and port), or to the one the person set
    beside it; an address out of a `.env`, which may have come with somebody's project, gets no key but one out of the
    same file.

    Raises:
        nbtool.errors.MissingKey: there is none, or there is one that must not go there.
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
        fix=f"Give a key for that address (api_key=…), or set {provider.addresses[0]} beside the key."
        if provider.addresses
        else "Give a key for that address (api_key=…).",
    )


def parse_address(provider: Provider, credential: Credential) -> ServerUrl:
    """Read the address that was set in place of a provider's own; a local server's usual port may be left out.

    Raises:
        nbtool.errors.SettingsError: it is no address.
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
    """Give where a provider is reached, and what was set in place of its own address; None where there is none.

    Raises:
        nbtool.errors.SettingsError: what was set is no address.
    """
    credential = find_base_url(provider)
    if credential is None:
        return parse_server_url(provider.base_url) if provider.base_url else None, None
    url = parse_address(provider, credential)
    if url.path:
        return url, credential
    if provider.name == "azure":
        return replace(url, path="/openai/v1"), credential
    return replace(url, path="/v1") if provider.port or wire == "anthropic" else url, credential


def lookup(names: Iterable[str]) -> Credential | None:
    """Give the first of these names that is set: all of them in the environment, then all in the nearest `.env`."""
    for name in names:
        if value := os.environ.get(name, "").strip():
            return Credential(SecretStr(value), name, from_env_file=False, name=name)
    values, path = find_env_file()
    for name in names:
        if secret := values.get(name):
            return Credential(secret, f"{name} in {shown_path(path)}", from_env_file=True, name=name)
    return None


def shown_path(path: str) -> str:
    """Give a path as it is seen from the working folder: outputs are saved, and tell nobody where a home lies."""
    try:
        return os.path.relpath(path) if path else ".env"
    except (OSError, ValueError):  # the folder is gone; another drive
        return Path(path).name


@cache
def find_env_file() -> tuple[dict[str, SecretStr], str]:
    """Read the nearest `.env`, upwards from the working folder; give its values and its path.

    It is read once; `find_env_file.cache_clear()` forgets it.
    """
    try:
        start = Path.cwd()
    except OSError:
        return {}, ""
    for folder in (start, *start.parents):
        path = folder / ".env"
        if path.is_file():
            return _read_env_file(path), str(path)
    return {}, ""


def _read_env_file(path: Path) -> dict[str, SecretStr]:
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            text = file.read(MAX_ENV_FILE)
    except OSError:
        return {}
    values: dict[str, SecretStr] = {}
    for line in text.splitlines():
        if match := _ASSIGNMENT.fullmatch(line):
            name, double, single, unquoted = match.groups()
            if value := double.replace('\\"', '"') if double else single or unquoted:
                values[name] = SecretStr(value)
    return values


def _searched_places(provider: Provider) -> str:
    _, path = find_env_file()
    names = " and ".join(provider.keys)
    verb = "is" if len(provider.keys) == 1 else "are"
    return f"{names} {verb} set neither in the environment nor in {shown_path(path) if path else 'a .env file'}"


def _setup_hint(provider: Provider) -> str:
    name = provider.keys[0]
    page = f" Keys are made at {provider.key_page}." if provider.key_page else ""
    return (
        f"Write {name}=… into a file .env beside the notebook or set it in the shell before Jupyter starts; "
        f"for this kernel alone: import os, getpass; os.environ['{name}'] = getpass.getpass()."
        f" Not into a cell: cells are saved.{page}"
    )

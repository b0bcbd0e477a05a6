"""The user's file of providers.

`providers.toml` in nbtool's data folder adds providers and overrides built-in ones, field by field:

    [lab]
    base_url = "https://llm.lab.example/v1"
    keys = ["LAB_API_KEY"]
    abilities = ["tools", "images"]
    auth = "bearer"
    headers = { X-Team = "${LAB_TEAM}" }
    query = { api-version = "2026-01-01" }
    key_command = ["lab-login", "print-token"]
    verify = "~/lab-ca.pem"
    provider_tools = ["web_search"]

See `Connection` for the settings from `auth` to `verify`. `${NAME}` in headers, query, proxy and the password of a
client certificate is an environment variable.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from nbtool.errors import BadUsage, SettingsError
from nbtool.server_url import parse_server_url
from nbtool.settings import data_dir, display_path
from nbtool.wire.providers.connection import CONNECTION_SETTINGS, make_connection
from nbtool.wire.providers.provider import ABILITIES, Provider
from nbtool.wire.providers.provider_tools import parse_provider_tools

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

SETTINGS_FILE = "providers.toml"
MAX_PORT = 65_535

T = TypeVar("T")


def read_overrides(builtin: Mapping[str, Provider]) -> dict[str, Provider]:
    """Return the providers of the user's file by name: new ones, and built-in ones with the changes of the file.

    Raises:
        nbtool.errors.SettingsError: the file cannot be read, or is invalid.
    """
    path = data_dir() / SETTINGS_FILE
    try:
        tables = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"{display_path(path)} cannot be read ({error}).", fix="Fix it, or remove it.") from None
    return {
        name: _override(builtin.get(name) or Provider(name, ""), table, f"[{name}] in {display_path(path)}")
        for name, table in tables.items()
    }


def _override(builtin: Provider, table: Any, location: str) -> Provider:
    """Return a provider with the overrides of one table."""
    if not isinstance(table, dict):
        raise SettingsError(f"{location} is not a table.", fix="Write `[name]` and below it `base_url = …`.")
    from pydantic import ValidationError  # noqa: PLC0415 - only where the user has such a file

    access = {key: value for key, value in table.items() if key in CONNECTION_SETTINGS}
    others = {key: value for key, value in table.items() if key not in access}
    values = {field.name: getattr(builtin, field.name) for field in fields(builtin)}
    others = {"compatible_wire": "", **others} if "wire" in others else others
    if "provider_tools" in table:
        others["provider_tools"] = _parsed(parse_provider_tools, table["provider_tools"], location)
    _check_port(others.get("port", 0), location)
    try:
        provider = _validator().validate_python(values | others)
    except ValidationError as error:
        raise _invalid_field(error, location) from None
    for key, fix in (("name", "The title of the table is the name: remove it."), ("connection", "Remove it.")):
        if key in table:
            raise SettingsError(f"{location} has a field {key!r}.", fix=fix)
    provider = replace(provider, connection=builtin.connection.merge(_parsed(make_connection, access, location)))
    _check_abilities(provider.abilities, location)
    if not provider.base_url and not provider.addresses and provider.name != "practice":
        raise SettingsError(f"{location} has no address.", fix='Add `base_url = "https://…/v1"`.')
    return replace(provider, base_url=_parse_base_url(provider.base_url, location)) if "base_url" in table else provider


@cache
def _validator() -> TypeAdapter[Provider]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - only where the user has such a file

    return TypeAdapter(Provider)


def _check_port(port: Any, location: str) -> None:
    if type(port) is not int or not 0 <= port <= MAX_PORT:
        shown = repr(port) if isinstance(port, int | float) else f"of type {type(port).__name__}"
        raise SettingsError(f"{location}: port is no number from 0 to {MAX_PORT}.", fix=f"It is {shown}.")


def _invalid_field(error: ValidationError, location: str) -> SettingsError:
    first = error.errors(include_url=False, include_context=False)[0]
    path, value = ".".join(map(str, first["loc"])), first["input"]
    if first["type"] == "unexpected_keyword_argument":
        own = (field.name for field in fields(Provider) if field.name not in ("name", "connection"))
        available = ", ".join((*own, *CONNECTION_SETTINGS))
        return SettingsError(f"{location} has an unknown field {path!r}.", fix=f"Available: {available}.")
    # A text is not repeated: it may be a key.
    description = repr(value) if isinstance(value, int | float) else f"of type {type(value).__name__}"
    return SettingsError(f"{location}: {path}: {first['msg']}.", fix=f"It is {description}.")


def _parsed(parse: Callable[[Any], T], value: Any, location: str) -> T:
    try:
        return parse(value)
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

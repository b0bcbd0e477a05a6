"""Read and check the configuration of MCP servers: the common `mcpServers` object."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from nbtool.errors import BadUsage
from nbtool.secret import Secret
from nbtool.server_url import parse_server_url
from nbtool.text import count_of
from nbtool.tools.approval import make_digest
from nbtool.tools.mcp.config.config_variables import Expansion, variables_in, without_secrets
from nbtool.tools.mcp.config.limits import ServerLimits
from nbtool.tools.mcp.config.registered_client import RegisteredClient, read_client
from nbtool.tools.mcp.questions.login_prompt import LoginPrompt
from nbtool.tools.values.sanitize import single_line

INHERITED_VARIABLES = ("PATH", "HOME", "LANG", "TERM", "SHELL", "USER")
"""Environment variables inherited by a stdio server: no keys, no proxies with passwords, no settings."""

NEWEST_PROTOCOL = "2026-07-28"
"""The revision of the protocol that `"protocol"` can ask for: calls may become tasks, and no handshake is made."""

MAX_CONFIG = 1_000_000
"""Maximum number of characters of a configuration file."""

_SCHEMES = frozenset({"bearer", "basic", "token", "apikey", "api-key", "key", "digest"})
"""What precedes a key in a header of authorization."""

_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,64}")
_INVALID_CHARACTERS = re.compile(
    r"LD_.*|DYLD_.*|PYTHON(PATH|HOME|STARTUP|BREAKPOINT|EXECUTABLE)|NODE_(OPTIONS|PATH)|BASH_ENV|ENV|BASH_FUNC_.*"
    r"|PERL5?(LIB|OPT|DB)|RUBY(LIB|OPT)|GCONV_PATH|_?JAVA_(TOOL_)?OPTIONS|JDK_JAVA_OPTIONS",
    re.IGNORECASE,
)
"""Variables that make a program run other code than its own."""


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """How to reach one server: a command on stdio, or a URL. Values that may be secret are not in its repr.

    With `uses_oauth`, a person logs in, who is asked by `login_prompt`; `client` is one that was registered by hand.
    With `prefers_newest`, a server that knows the newest protocol is used with that, and not with a handshake.
    `template` is the configuration before its variables were expanded, `variables` are the values from the environment,
    `header_variables` the variable names in each header.
    """

    name: str
    command: str = field(default="", repr=False)
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, Secret] = field(default_factory=dict, repr=False)
    folder: str | None = field(default=None, repr=False)
    url: str = field(default="", repr=False)
    headers: Mapping[str, Secret] = field(default_factory=dict, repr=False)
    template: Mapping[str, Any] = field(default_factory=dict, repr=False)
    variables: Mapping[str, Secret] = field(default_factory=dict, repr=False)
    header_variables: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    limits: ServerLimits = field(default_factory=ServerLimits)
    uses_oauth: bool = False
    client: RegisteredClient | None = field(default=None, repr=False)
    prefers_newest: bool = False
    login_prompt: LoginPrompt | None = field(default=None, repr=False, compare=False)

    @property
    def identity(self) -> str:
        """Identifies this server among others of the same name; a new value of a variable does not change it."""
        return f"mcp.{self.name}@{make_digest(**self.template)[:16]}"

    def without_secrets(self, text: str) -> str:
        """Remove the values of variables, headers and environment from a text for a person or a model."""
        return without_secrets(text, self.variables, {**self.env, **self.headers, **self._credentials()})

    def _credentials(self) -> dict[str, Secret]:
        """Return what follows the scheme in headers of authorization, and the values of the query, by their places."""
        values = [value.get_secret_value().split(None, 1) for value in self.headers.values()]
        keys = [parts[1].strip() for parts in values if len(parts) > 1 and parts[0].lower() in _SCHEMES]
        query = [value for _, value in parse_qsl(urlsplit(self.url).query)]
        return {f"credential {number}": Secret(value) for number, value in enumerate((*keys, *query))}

    @property
    def environment(self) -> dict[str, str]:
        """The whole environment of a stdio server."""
        inherited = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
        return inherited | {name: value.get_secret_value() for name, value in self.env.items()}


def read_config(config: Mapping[str, Any] | str | Path) -> list[ServerSpec]:
    """Return the servers of a configuration object or JSON file, except those marked `disabled`.

    Keys of other programs (`autoApprove` and the like) have no effect.

    Raises:
        BadUsage: it cannot be read, or is invalid.
    """
    data = _read_file(Path(config)) if isinstance(config, str | Path) else config
    servers = data.get("mcpServers") if isinstance(data, Mapping) else None
    if not isinstance(servers, Mapping) or not servers:
        fix = 'Expected: {"mcpServers": {name: {"command": …} or {"url": …}}}.'
        raise BadUsage("The configuration has no MCP servers.", fix=fix)
    return [_parse_entry(name, entry) for name, entry in servers.items() if not _is_disabled(entry)]


def _read_file(path: Path) -> Any:
    try:
        text = path.expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadUsage(f"{path.name!r} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    if len(text) > MAX_CONFIG:
        raise BadUsage(f"{path.name!r} has {count_of(len(text), 'character')}; the maximum is {MAX_CONFIG}.")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadUsage(f"{path.name!r} is not valid JSON: {error}.") from None


def _is_disabled(entry: Any) -> bool:
    return isinstance(entry, Mapping) and entry.get("disabled") is True


def _parse_entry(name: Any, entry: Any) -> ServerSpec:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadUsage(f"{name!r} is not a valid name of an MCP server: expected one line of 1 to 64 characters.")
    if not isinstance(entry, Mapping) or ("command" in entry) == ("url" in entry):
        raise BadUsage(f"The MCP server {name!r} needs either 'command' or 'url'.")
    expansion = Expansion(name)
    if "url" in entry:
        return _parse_http_entry(name, entry, expansion)
    command, args, folder = entry["command"], entry.get("args", []), entry.get("cwd")
    if not _is_text(command) or not isinstance(args, list) or not all(map(_is_text, [*args, folder or "."])):
        raise BadUsage(f"The MCP server {name!r}: command and cwd must be strings, args a list of strings.")
    env = _string_items(name, entry, "env", expansion)
    for variable in env:
        if _INVALID_CHARACTERS.fullmatch(variable) or "=" in variable or not variable:
            raise BadUsage(
                f"The MCP server {name!r} may not set {variable!r}.", fix="It would run other code than the server's."
            )
    return ServerSpec(
        name,
        expansion.expand(command, "command"),
        tuple(expansion.expand(arg, "args") for arg in args),
        env,
        folder and expansion.expand(folder, "cwd"),
        template={"command": command, "args": args},
        variables=expansion.values,
        prefers_newest=_prefers_newest(name, entry),
    )


def _parse_http_entry(name: str, entry: Mapping[str, Any], expansion: Expansion) -> ServerSpec:
    headers = _string_items(name, entry, "headers", expansion)
    for header, value in headers.items():
        if not all(" " <= char <= "~" or char == "\t" for char in header + value.get_secret_value()):
            raise BadUsage(f"The MCP server {name!r}: the header {single_line(header)!r} has invalid characters.")
    client = read_client(name, entry, expansion)
    return ServerSpec(
        name,
        url=_parse_url(name, entry, expansion),
        uses_oauth=_uses_oauth(name, entry, headers, client),
        client=client,
        prefers_newest=_prefers_newest(name, entry),
        headers=headers,
        template={"url": entry["url"]},
        variables=expansion.values,
        header_variables={header: variables_in(value) for header, value in (entry.get("headers") or {}).items()},
    )


def _prefers_newest(name: str, entry: Mapping[str, Any]) -> bool:
    protocol = entry.get("protocol")
    if protocol not in (None, NEWEST_PROTOCOL):
        raise BadUsage(
            f'The MCP server {name!r}: "protocol" can only be "{NEWEST_PROTOCOL}".',
            fix="Leave it out for a handshake, as of 2025-11-25.",
        )
    return protocol is not None


def _uses_oauth(
    name: str, entry: Mapping[str, Any], headers: Mapping[str, Secret], client: RegisteredClient | None
) -> bool:
    auth = entry.get("auth") or ("oauth" if client else None)
    if auth not in (None, "oauth"):
        raise BadUsage(f'The MCP server {name!r}: "auth" can only be "oauth".')
    if auth and any(header.lower() == "authorization" for header in headers):
        raise BadUsage(f"The MCP server {name!r} has a login and a header Authorization.", fix="Remove one of them.")
    return auth == "oauth"


def _parse_url(name: str, entry: Mapping[str, Any], expansion: Expansion) -> str:
    url = entry["url"]
    if entry.get("type") == "sse":
        raise BadUsage(f"The MCP server {name!r} uses the deprecated SSE transport.", fix="Use streamable HTTP.")
    url = expansion.expand(url, "url") if isinstance(url, str) else url
    if not isinstance(url, str) or "://" not in url:
        raise BadUsage(f"The MCP server {name!r}: url must be an http or https URL.")
    try:
        address = parse_server_url(url, may_have_query=True)
    except BadUsage as error:
        raise BadUsage(f"The MCP server {name!r}: {error.message}", fix=error.fix) from None
    if (entry.get("headers") or entry.get("auth") or entry.get("oauth") or address.query) and not address.may_carry_key:
        raise BadUsage(
            f"The MCP server {name!r}: keys in headers or a query are not sent over plain HTTP to {address.host},"
            " nor is the token of a login.",
            fix="Use https://…",
        )
    return url.strip()


def _string_items(name: str, entry: Mapping[str, Any], key: str, expansion: Expansion) -> dict[str, Secret]:
    value_given = entry.get(key) or {}
    if not isinstance(value_given, Mapping) or not all(_is_text(item) for pair in value_given.items() for item in pair):
        raise BadUsage(f"The MCP server {name!r}: {key} must be an object with string values.")
    return {item: Secret(expansion.expand(value, f"{key}.{item}").strip()) for item, value in value_given.items()}


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value

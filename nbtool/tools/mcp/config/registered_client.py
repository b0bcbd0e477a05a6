"""An OAuth client that a person has registered by hand, in the entry of a server: `"oauth": {"clientId": …}`.

Some authorization servers register no clients by themselves. What they compare is the whole address to which the
browser comes back, so it is in the entry; and because a server names its authorization server itself, a secret is only
used with the issuer that the entry names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from nbtool.errors import BadUsage
from nbtool.secret import Secret
from nbtool.server_url import parse_server_url
from nbtool.tools.mcp.config.config_variables import Expansion

KEYS = ("clientId", "clientSecret", "redirectUri", "callbackPort", "issuer")
EXAMPLE_URI = "http://127.0.0.1:3118/callback"

_VARIABLE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_PATH = re.compile(r"/[A-Za-z0-9._~/-]*")
_LOCAL = ("127.0.0.1", "localhost")


@dataclass(frozen=True, slots=True)
class RegisteredClient:
    """The client: its id, where the browser comes back, and with a `secret` the `issuer` that may get it."""

    client_id: str
    redirect_uri: str
    secret: Secret | None = None
    issuer: str = ""


def read_client(name: str, entry: Mapping[str, Any], expansion: Expansion) -> RegisteredClient | None:
    """Return the client in the entry of a server; None if it has none.

    Raises:
        BadUsage: it is incomplete, or its secret is written out.
    """
    given = entry.get("oauth")
    if not isinstance(given, Mapping) or not any(given.get(key) for key in KEYS):
        return None
    label = f"The MCP server {name!r}: oauth"
    texts = {key: given[key] for key in KEYS if key != "callbackPort" and given.get(key) is not None}
    if wrong := next((key for key, text in texts.items() if not isinstance(text, str) or "\0" in text), None):
        raise BadUsage(f"{label}.{wrong} must be a string.")
    if not texts.get("clientId"):
        raise BadUsage(f"{label} has no clientId.", fix="Add the id of the client that you registered.")
    secret = texts.get("clientSecret", "")
    if secret and not _VARIABLE.fullmatch(secret):
        raise BadUsage(
            f"{label}.clientSecret is written out.", fix='Name an environment variable: "clientSecret": "${NAME}".'
        )
    expanded = {key: expansion.expand(text, f"oauth.{key}").strip() for key, text in texts.items()}
    issuer = _check_issuer(label, expanded.get("issuer", ""), has_secret=bool(secret))
    uri = _check_uri(label, expanded.get("redirectUri") or _uri_at(label, given.get("callbackPort")))
    return RegisteredClient(
        expanded["clientId"], uri, Secret(expanded["clientSecret"]) if expanded.get("clientSecret") else None, issuer
    )


def _check_issuer(label: str, issuer: str, *, has_secret: bool) -> str:
    if has_secret and not issuer:
        raise BadUsage(
            f"{label} has a clientSecret, and does not say who may get it.",
            fix='Add "issuer": "https://…", the authorization server at which the client is registered.',
        )
    if not issuer:
        return ""
    try:
        address = parse_server_url(issuer)
    except BadUsage as error:
        raise BadUsage(f"{label}.issuer: {error.message}", fix=error.fix) from None
    if not address.may_carry_key:
        raise BadUsage(f"{label}.issuer: a secret is not sent over plain HTTP to {address.host}.", fix="Use https://…")
    return issuer


def _uri_at(label: str, port: Any) -> str:
    """Return the address with a port, in the form in which other programs register it."""
    if port is None:
        raise BadUsage(
            f"{label} does not say where the browser comes back to.",
            fix=f'Add "redirectUri": "{EXAMPLE_URI}", the address that is registered for the client.',
        )
    return f"http://localhost:{port}/callback"


def _check_uri(label: str, uri: str) -> str:
    try:
        parts = urlsplit(uri)
        port, host = parts.port, parts.hostname
    except ValueError:
        parts, port, host = urlsplit(""), None, None
    is_plain = uri == f"http://{host}:{port}{parts.path}" and bool(_PATH.fullmatch(parts.path))
    if host not in _LOCAL or not port or not is_plain:
        raise BadUsage(
            f"{label}.redirectUri must be an address of this machine with a port and a path.",
            fix=f'For example "{EXAMPLE_URI}".',
        )
    return uri

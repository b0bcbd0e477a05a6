"""How the server of a provider is accessed: headers, query, kind of authorization, certificates, proxy.

The same settings come from three places: `providers.toml`, the arguments of a chat, and `%config NbTool`. Values of
headers and of the query are secrets everywhere, and no error repeats the value of any of these settings.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from nbtool.errors import BadUsage
from nbtool.secret import Secret, SecretValue
from nbtool.server_url import ServerUrl, parse_server_url
from nbtool.text import shorten

AUTH_HEADERS = {
    "bearer": ("authorization", "Bearer "),
    "x-api-key": ("x-api-key", ""),
    "api-key": ("api-key", ""),
    "x-goog-api-key": ("x-goog-api-key", ""),
}
"""The header of the key, and what precedes the key in it, by kind of authorization."""

NO_AUTH = "none"
"""The kind of authorization that sends no key."""

CONNECTION_SETTINGS = (
    "headers", "query", "auth", "key_command", "key_seconds", "proxy", "verify", "client_certificate",
)  # fmt: skip
"""The names of the settings, in `providers.toml`, in `Chat` and in `%config NbTool`."""

SYSTEM, CERTIFI = "system", "certifi"
"""The values of `verify` that are no path: the trust store of the operating system, and the bundle of certifi."""

MAX_PAIRS = 64
"""Maximum number of headers, or of parameters of the query."""

MAX_VALUE = 16 * 1024
"""Maximum length of the value of a header or of a parameter."""

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_OWN_HEADERS = frozenset(
    {"host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding", "te", "upgrade"}
)
_NO_SECRETS = frozenset(
    {"api-version", "anthropic-version", "anthropic-beta", "openai-beta", "user-agent", "accept", "version"}
)
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_PROXY = re.compile(r"(?:https?|socks5h?)://(?:[^\s/@]*@)?[^\s/@]+/?")


@dataclass(frozen=True)
class Connection:
    """The settings for accessing one server; each is empty where nothing was set.

    `auth` is a key of `AUTH_HEADERS`, `none`, or the name of a header that takes the key as it is. `key_command` is a
    program with its arguments that prints a key, valid for `key_seconds` if it does not say for how long. `verify` is
    `system`, `certifi` or a file or folder of certificates (PEM). `client_certificate` is a PEM file that contains the
    key too, or a certificate, its key, and the password of the key.
    """

    headers: Mapping[str, Secret] = field(default_factory=dict)
    query: Mapping[str, Secret] = field(default_factory=dict)
    auth: str = ""
    key_command: tuple[str, ...] = field(default=(), repr=False)
    key_seconds: float | None = None
    proxy: Secret | None = None
    verify: str = ""
    client_certificate: tuple[Secret, ...] = ()

    def __bool__(self) -> bool:
        return self != Connection()

    @property
    def carries_secrets(self) -> bool:
        """Whether requests carry values that no other server may see."""
        return bool(self.headers or self.query or self.key_command or self.client_certificate)

    @property
    def has_remote_proxy(self) -> bool:
        """Whether requests go through a proxy that is not on this machine."""
        return self.proxy is not None and not _parse_proxy_url(self.proxy.get_secret_value()).is_loopback

    @property
    def secrets(self) -> list[Secret]:
        """The values to redact in texts; versions of an interface are no secrets."""
        pairs = [*self.headers.items(), *self.query.items()]
        values = [value for name, value in pairs if name.lower() not in _NO_SECRETS]
        values += [self.proxy] if self.proxy else []
        return [*values, *proxy_passwords(self.proxy), *self.client_certificate[2:]]

    @property
    def secret_names(self) -> list[str]:
        """The names of the settings that contain a secret."""
        named = [
            *(("headers", *pair) for pair in self.headers.items()),
            *(("query", *pair) for pair in self.query.items()),
        ]
        pairs = [(f"{kind} {name}", value) for kind, name, value in named if name.lower() not in _NO_SECRETS]
        pairs += [("proxy", value) for value in proxy_passwords(self.proxy)[:1]]
        pairs += [("client_certificate", value) for value in self.client_certificate[2:]]
        return [name for name, _ in pairs]

    @property
    def settings(self) -> dict[str, Any]:
        """The settings as `make_connection` takes them, secrets as plain texts; not for a log."""
        return {
            "headers": {name: value.get_secret_value() for name, value in self.headers.items()},
            "query": {name: value.get_secret_value() for name, value in self.query.items()},
            "auth": self.auth,
            "key_command": self.key_command,
            "key_seconds": self.key_seconds,
            "proxy": self.proxy and self.proxy.get_secret_value(),
            "verify": self.verify,
            "client_certificate": tuple(value.get_secret_value() for value in self.client_certificate),
        }

    def sends_key(self, header: str) -> bool:
        """Whether the key is sent in this header: a header of the same name replaces it."""
        return self.auth != NO_AUTH and header not in {name.lower() for name in self.headers}

    def merge(self, other: Connection) -> Connection:
        """Return these settings with those of another connection over them; headers and query by name."""
        changes = {name: value for name in CONNECTION_SETTINGS if (value := getattr(other, name))}
        headers = {**self.headers, **other.headers}
        return replace(self, **{**changes, "headers": headers, "query": {**self.query, **other.query}})

    def expand(self, find: Callable[[str], Secret | None]) -> Connection:
        """Return the connection with `${NAME}` in its secrets replaced by the variables that `find` returns.

        In a proxy the values are percent-encoded; of a client certificate only the password has variables.

        Raises:
            nbtool.errors.BadUsage: a variable is not set, or is no text for a header.
        """

        def expand_pairs(pairs: Mapping[str, Secret]) -> dict[str, Secret]:
            return {name: _expand_value(value, find) for name, value in pairs.items()}

        headers = expand_pairs(self.headers)
        for name, value in headers.items():
            _check_header(name, value)
        return replace(
            self,
            headers=headers,
            query=expand_pairs(self.query),
            proxy=self.proxy and _expand_value(self.proxy, find, encode=partial(quote, safe="")),
            client_certificate=(
                *self.client_certificate[:2],
                *(_expand_value(password, find) for password in self.client_certificate[2:]),
            ),
        )


def proxy_passwords(proxy: Secret | None) -> list[Secret]:
    """Return the credentials in the address of a proxy, as they are and percent-decoded."""
    user_info = proxy.get_secret_value().partition("://")[2].rpartition("@")[0] if proxy else ""
    parts = [user_info, user_info.partition(":")[2]]
    return [Secret(part) for part in dict.fromkeys([*parts, *map(unquote, parts)]) if part]


def auth_header(auth: str) -> tuple[str, str]:
    """Return the header of the key, and what precedes the key in it."""
    kind = auth or "bearer"
    return AUTH_HEADERS.get(kind, (kind.lower(), ""))


def make_connection(settings: Mapping[str, Any]) -> Connection:
    """Return a connection from settings by name; None and empty values count as not set.

    Raises:
        nbtool.errors.BadUsage: a setting is unknown or invalid. Values are not repeated.
    """
    if unknown := settings.keys() - set(CONNECTION_SETTINGS):
        raise BadUsage(f"Unknown setting {min(unknown)!r}.", fix=f"Available: {', '.join(CONNECTION_SETTINGS)}.")
    values = {name: _PARSERS[name](name, value) for name, value in settings.items() if value not in (None, "", (), [])}
    return Connection(**values)


def _parse_headers(name: str, value: Any) -> dict[str, Secret]:
    pairs = _parse_pairs(name, value)
    for header, secret in pairs.items():
        if not _TOKEN.fullmatch(header) or header.lower() in _OWN_HEADERS:
            raise BadUsage(f"headers: {shorten(header, 40)!r} cannot be set.", fix="Remove it.")
        _check_header(header, secret)
    return pairs


def _check_header(name: str, value: Secret) -> None:
    text = value.get_secret_value()
    if not (text.isascii() and text.isprintable()):
        raise BadUsage(f"headers: the value of {name} contains invalid characters.", fix="Write it in ASCII.")


def _parse_pairs(name: str, value: Any) -> dict[str, Secret]:
    if not isinstance(value, Mapping) or len(value) > MAX_PAIRS:
        raise BadUsage(f"{name}: expected a table of at most {MAX_PAIRS} names and texts.", fix='{"name": "text"}')
    pairs: dict[str, Secret] = {}
    for key, item in value.items():
        text = item.get_secret_value() if isinstance(item, SecretValue) else item
        if isinstance(key, str) and not isinstance(text, str):
            raise BadUsage(
                f"{name}: the value of {key!r} has to be a text, not {type(text).__name__}.", fix="Quote it."
            )
        if not (isinstance(key, str) and key.strip() and len(text) <= MAX_VALUE):
            raise BadUsage(f"{name}: expected names and texts of at most {MAX_VALUE:,} characters.")
        pairs[key.strip()] = Secret(text.strip())
    return pairs


def _parse_auth(name: str, value: Any) -> str:
    kinds = (*AUTH_HEADERS, NO_AUTH)
    text = value.strip() if isinstance(value, str) else ""
    if text.lower() in kinds:
        return text.lower()
    is_header = _TOKEN.fullmatch(text) and ("-" in text or text.lower() == "authorization")
    if not is_header or text.lower() in _OWN_HEADERS:
        raise BadUsage(
            f"{name}: expected {', '.join(kinds)}, or the name of a header with a hyphen.", fix='auth = "bearer"'
        )
    return text


def _parse_command(name: str, value: Any) -> tuple[str, ...]:
    try:
        words = shlex.split(value) if isinstance(value, str) else value
    except ValueError:
        words = None
    if isinstance(words, list | tuple):
        words = [word.get_secret_value() if isinstance(word, SecretValue) else word for word in words]
    is_list = isinstance(words, list | tuple) and all(isinstance(word, str) and "\0" not in word for word in words)
    if not (is_list and words and words[0]):
        raise BadUsage(f"{name}: expected a program and its arguments.", fix='["az", "account", "get-access-token"]')
    return tuple(words)


def _parse_seconds(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise BadUsage(f"{name}: expected a number of seconds greater than 0.")
    return float(value)


def _parse_proxy(name: str, value: Any) -> Secret:
    text = value.get_secret_value() if isinstance(value, SecretValue) else value
    text = text.strip() if isinstance(text, str) else ""
    if not _PROXY.fullmatch(text):
        raise BadUsage(f"{name}: expected the address of a proxy.", fix="http://NAME:PASSWORD@proxy.example:3128")
    _parse_proxy_url(text)
    return Secret(text)


def _parse_proxy_url(text: str) -> ServerUrl:
    """Parse the address of a proxy without its user and password, which no error may repeat."""
    scheme, _, rest = text.partition("://")
    return parse_server_url(f"{'https' if scheme == 'https' else 'http'}://{rest.rpartition('@')[2]}")


def _parse_verify(name: str, value: Any) -> str:
    text = str(value) if isinstance(value, str | Path) else ""
    if text in (SYSTEM, CERTIFI):
        return text
    path = Path(text).expanduser()
    if not text or not path.exists():
        raise BadUsage(f"{name}: expected {SYSTEM}, {CERTIFI}, or a file or folder of certificates (PEM).")
    return str(path)


def _parse_certificate(name: str, value: Any) -> tuple[Secret, ...]:
    parts = [value] if isinstance(value, str | Path) else value
    texts = (
        [part.get_secret_value() if isinstance(part, SecretValue) else part for part in parts]
        if isinstance(parts, Iterable)
        else []
    )
    if not 1 <= len(texts) <= 3 or not all(isinstance(text, str | Path) and str(text) for text in texts):
        raise BadUsage(
            f"{name}: expected a PEM file that contains the key too, or [certificate, key], or [certificate, key, "
            "password]."
        )
    paths = [Path(text).expanduser() for text in texts[:2]]
    if missing := next((path for path in paths if not path.is_file()), None):
        raise BadUsage(f"{name}: there is no file {missing.name!r}.", fix="Write the full path of a PEM file.")
    return tuple(Secret(str(text)) for text in (*paths, *texts[2:]))


def _expand_value(value: Secret, find: Callable[[str], Secret | None], *, encode: Callable[[str], str] = str) -> Secret:
    def value_of(match: re.Match[str]) -> str:
        if (found := find(match[1])) is None:
            raise BadUsage(f"The variable {match[1]} is not set.", fix=f"Set {match[1]} where Jupyter starts.")
        return encode(found.get_secret_value())

    return Secret(_VARIABLE.sub(value_of, value.get_secret_value()))


_PARSERS: dict[str, Callable[[str, Any], Any]] = {
    "headers": _parse_headers,
    "query": _parse_pairs,
    "auth": _parse_auth,
    "key_command": _parse_command,
    "key_seconds": _parse_seconds,
    "proxy": _parse_proxy,
    "verify": _parse_verify,
    "client_certificate": _parse_certificate,
}

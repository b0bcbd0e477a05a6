"""Where the tokens of logins are kept: in the system's keyring where there is one, else in files of this user alone."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtool.files import replace_file
from nbtool.settings import data_dir

if TYPE_CHECKING:
    from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken

FOLDER = "mcp-logins"
KEYRING_SERVICE = "nbtool MCP login"
MAX_BYTES = 100_000
"""Maximum size of a stored login in bytes; a larger one is none of ours."""


class TokenStore:
    """The login at one server, by its whole address: tokens of one server are never read for another.

    `read_issuer` returns the authorization server of a login: its address is stored too, since later only it may get
    the token that renews the others.

    Implements `mcp.client.auth.TokenStorage`.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self.read_issuer: Callable[[], OAuthMetadata | None] = lambda: None
        self._name = hashlib.sha256(url.encode()).hexdigest()[:32]

    async def get_tokens(self) -> OAuthToken | None:
        """Return the stored tokens; None if there are none."""
        from mcp.shared.auth import OAuthToken  # noqa: PLC0415 - loaded only for a login

        tokens: OAuthToken | None = _model(OAuthToken, (await self._read()).get("tokens"))
        return tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store tokens, when they expire, and who issued them."""
        expires = None if tokens.expires_in is None else time.time() + tokens.expires_in
        issuer = self.read_issuer()
        parts = {"tokens": tokens.model_dump(mode="json", exclude_none=True), "expires": expires}
        await self._update(**parts, issuer=issuer and issuer.model_dump(mode="json", exclude_none=True))

    async def get_issuer(self) -> tuple[OAuthMetadata | None, float | None]:
        """Return who issued the stored tokens, and when they expire, in seconds since the epoch; None if not known."""
        from mcp.shared.auth import OAuthMetadata  # noqa: PLC0415 - loaded only for a login

        data = await self._read()
        issuer, expires = _model(OAuthMetadata, data.get("issuer")), data.get("expires")
        return issuer, float(expires) if isinstance(expires, int | float) else None

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return what the authorization server registered for this client; None if nothing."""
        from mcp.shared.auth import OAuthClientInformationFull  # noqa: PLC0415 - loaded only for a login

        info: OAuthClientInformationFull | None = _model(OAuthClientInformationFull, (await self._read()).get("client"))
        return info

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Store what the authorization server registered."""
        await self._update(client=client_info.model_dump(mode="json", exclude_none=True))

    async def clear(self) -> None:
        """Delete the login."""
        await asyncio.to_thread(self._delete)

    @property
    def path(self) -> Path:
        """The file, where there is no keyring: readable by this user alone."""
        return data_dir() / FOLDER / f"{self._name}.json"

    async def _read(self) -> dict[str, Any]:
        text = await asyncio.to_thread(self._read_text)
        with suppress(ValueError, RecursionError):
            data = json.loads(text)
            if isinstance(data, dict) and data.get("url") == self._url:
                return data
        return {}

    async def _update(self, **parts: Any) -> None:
        text = json.dumps({**await self._read(), "url": self._url, **parts})
        await asyncio.to_thread(self._write_text, text)

    def _read_text(self) -> str:
        keyring = find_keyring()
        with suppress(Exception):  # a locked keyring, or one that was removed: there may be a file
            if keyring and (text := keyring.get_password(KEYRING_SERVICE, self._name)):
                return str(text)
        with suppress(OSError, UnicodeDecodeError):
            if self.path.stat().st_size <= MAX_BYTES:
                return self.path.read_text(encoding="utf-8")
        return ""

    def _write_text(self, text: str) -> None:
        if keyring := find_keyring():
            with suppress(Exception):  # it is locked, or takes no text of this length
                keyring.set_password(KEYRING_SERVICE, self._name, text)
                self.path.unlink(missing_ok=True)
                return
        self.path.parent.mkdir(exist_ok=True, mode=0o700)
        replace_file(self.path, text.encode(), is_private=True)

    def _delete(self) -> None:
        if keyring := find_keyring():
            with suppress(Exception):  # it has none
                keyring.delete_password(KEYRING_SERVICE, self._name)
        self.path.unlink(missing_ok=True)


def _model(kind: Any, data: Any) -> Any:
    """Return stored data as a model; None if there is none, or it is not valid any more."""
    with suppress(ValueError):
        return kind.model_validate(data) if data else None
    return None


def find_keyring() -> Any:
    """Return the module of the keyring, if it is installed and has a keyring of the system; else None."""
    try:
        import keyring  # noqa: PLC0415 - optional, and slow to import
        from keyring.backends import fail, null  # noqa: PLC0415 - the same
    except ImportError:
        return None
    return None if isinstance(keyring.get_keyring(), (fail.Keyring, null.Keyring)) else keyring

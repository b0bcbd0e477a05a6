"""Keys that expire: a function or a program returns the next one.

A key is used until shortly before its end, which the function or the program says, or the key itself if it is a JSON
web token. It is fetched again once when a server refuses it (401).
"""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
import math
import os
import signal
import subprocess
import time
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial
from pathlib import PurePath
from typing import Any

from nbtool.errors import BadUsage, MissingKey
from nbtool.secret import Secret, SecretValue
from nbtool.threads.thread_pool import run_in_worker

EARLY_SECONDS = 60.0
"""Seconds before its end at which a key is renewed; a fifth of its lifetime if that is less."""

DEFAULT_SECONDS = 300.0
"""Seconds for which the key of a program is used if neither the program nor the key says how long it is valid."""

FETCH_SECONDS = 60.0
"""Time limit for a function or a program that returns a key."""

MAX_KEY = 64 * 1024
"""Maximum length of what a program prints, and of a key."""

PIPE_SECONDS = 0.5
"""Time limit for the rest of what an ended program printed: one that it started may keep its pipe open."""

MAX_FORMER = 8
"""Maximum number of former keys that are still redacted."""

KeyFunction = Callable[[], Any]
"""Returns a key: a text, `(key, expiry)`, or an object with `token` and `expires_on`; it may be asynchronous."""

_KEY_FIELDS = ("access_token", "accessToken", "token", "id_token", "api_key", "key")
_END_FIELDS = ("expires_on", "expires_at", "expiry", "token_expiry", "expirationTimestamp", "expiresOn", "expiration")
_SECONDS_FIELDS = ("expires_in", "expiresIn", "lifetime")
_EPOCH = 1e8
"""A number below this one is a lifetime in seconds, above it a time in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A key and the time at which it ends, in seconds since 1970; None if that is unknown."""

    value: Secret
    expires: float | None = None


@dataclass(eq=False)
class KeySource:
    """The current key of a function or a program; concurrent requests share one renewal.

    A key whose end is unknown is used for `default_seconds`.
    """

    fetch: Callable[[], Awaitable[IssuedKey]] = field(repr=False)
    label: str
    default_seconds: float = 0.0
    fetch_seconds: float = FETCH_SECONDS
    clock: Callable[[], float] = field(default=time.time, repr=False)
    _current: IssuedKey | None = field(default=None, repr=False)
    _renew_at: float = 0.0
    _former: deque[Secret] = field(default_factory=lambda: deque(maxlen=MAX_FORMER), repr=False)
    _locks: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = field(
        default_factory=weakref.WeakKeyDictionary, repr=False
    )

    @property
    def current(self) -> Secret | None:
        """The key that was returned last."""
        return self._current.value if self._current else None

    @property
    def issued(self) -> list[Secret]:
        """The current key and the last former ones, which a late response may still contain."""
        return [*filter(None, [self.current]), *self._former]

    async def key(self) -> Secret:
        """Return a valid key, and fetch the next one if the current one ends soon.

        Raises:
            nbtool.errors.MissingKey: the function or the program returned no key.
        """
        async with self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            if self._current is None or self.clock() >= self._renew_at:
                issued = await self._fetch_in_time()
                self._former.extend(filter(None, [self.current]))
                self._current, self._renew_at = issued, self._end_of_use(issued)
            return self._current.value

    def discard(self, refused: Secret | None) -> None:
        """Have the next request fetch another key, unless the refused one was replaced already."""
        if refused == self.current:
            self._renew_at = 0.0

    def _end_of_use(self, issued: IssuedKey) -> float:
        now = self.clock()
        if issued.expires is None:
            return now + self.default_seconds
        return issued.expires - min(EARLY_SECONDS, max(0.0, issued.expires - now) / 5)

    async def _fetch_in_time(self) -> IssuedKey:
        try:
            async with asyncio.timeout(self.fetch_seconds):
                return await self.fetch()
        except TimeoutError:
            message, fix = f"{self.label} returned no key within {self.fetch_seconds:g} s.", "Try again."
        except MissingKey as error:
            message, fix = error.message, error.fix
        except Exception as error:  # noqa: BLE001 - reading what was returned may run code of the user's
            message, fix = _failure(self.label, error)
        raise MissingKey(message, fix=fix)  # another one: the frames of the first one may hold the key


def _failure(label: str, error: BaseException) -> tuple[str, str]:
    """Return the message and the fix for an error whose text is not shown, because it may contain the key."""
    return f"{label} failed ({type(error).__name__}).", "Call it in a cell to see why."


def key_function_source(function: KeyFunction) -> KeySource:
    """Return a source that calls a function, with or without `async`, whenever a key is needed."""
    name = getattr(function, "__name__", type(function).__name__)
    label = f"The key function {name if name.isidentifier() else 'api_key'}"

    async def fetch() -> IssuedKey:
        try:
            if inspect.iscoroutinefunction(function):
                value = await function()
            else:
                outcome = await run_in_worker(function)
                if outcome.error:
                    raise outcome.error
                value = await outcome.value if inspect.isawaitable(outcome.value) else outcome.value
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - its text may contain the key, so only its type is shown
            message, fix = _failure(label, error)
        else:
            return parse_key(value, label)
        raise MissingKey(message, fix=fix)

    return KeySource(fetch, label)


@cache
def key_command_source(command: tuple[str, ...], seconds: float | None = None) -> KeySource:
    """Return the source that runs a program; all endpoints of one program share its key."""
    label = f"The key command {PurePath(command[0]).name!r}"

    async def fetch() -> IssuedKey:
        return parse_key(_parse_output(await _run_command(command, label)), label)

    return KeySource(fetch, label, seconds or DEFAULT_SECONDS)


def parse_key(value: Any, label: str) -> IssuedKey:
    """Return the key in the result of a function, or in the JSON of a program.

    Raises:
        nbtool.errors.MissingKey: it contains none.
    """
    token, end = _split_result(value)
    token = token.get_secret_value() if isinstance(token, SecretValue) else token
    text = token.strip() if isinstance(token, str) else ""
    if not text or len(text) > MAX_KEY or not (text.isascii() and text.isprintable()):
        raise MissingKey(
            f"{label} returned no key.", fix="Expected a text in one line, or a text and the time of its end."
        )
    expires = _as_time(end)
    return IssuedKey(Secret(text), _end_of_web_token(text) if expires is None else expires)


def _split_result(value: Any) -> tuple[Any, Any]:
    if isinstance(value, tuple) and len(value) == 2:
        return value[0], value[1]
    if isinstance(value, Mapping):
        nested = value.get("status") if isinstance(value.get("status"), Mapping) else value.get("credential")
        fields = nested if isinstance(nested, Mapping) else value
        end = next((fields[name] for name in _END_FIELDS if fields.get(name)), None)
        seconds = next((fields[name] for name in _SECONDS_FIELDS if fields.get(name)), None)
        return next((fields[name] for name in _KEY_FIELDS if fields.get(name)), None), end or seconds
    if not isinstance(value, str | SecretValue) and hasattr(value, "token"):
        return value.token, getattr(value, "expires_on", None) or getattr(value, "expiry", None)
    return value, None


def _as_time(end: Any) -> float | None:
    """Return the end of a key in seconds since 1970, from a time, a lifetime or a date; None if it is unknown."""
    with suppress(ValueError, OverflowError, OSError):  # no date, or one out of range
        if isinstance(end, str):
            number = _as_number(end)
            end = datetime.fromisoformat(end.strip()) if number is None else number
        if isinstance(end, datetime):
            return end.timestamp()  # without a time zone it is local time, as the Azure CLI prints it
        if isinstance(end, int | float) and not isinstance(end, bool) and math.isfinite(end):
            return time.time() + end if end < _EPOCH else float(end)
    return None


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _end_of_web_token(token: str) -> float | None:
    """Return the `exp` claim of a JSON web token (RFC 7519); None for any other key."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    with suppress(ValueError, OverflowError, RecursionError):
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        end = claims.get("exp") if isinstance(claims, dict) else None
        return float(end) if isinstance(end, int | float) and end > _EPOCH else None
    return None


def _parse_output(output: bytes) -> Any:
    text = output.decode("utf-8", "replace").strip()
    if text.startswith("{"):
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    return text


async def _run_command(command: tuple[str, ...], label: str) -> bytes:
    """Run a program without a shell and return what it prints; its arguments and its errors stay unseen."""
    process = _start(command, label)
    output = bytearray()
    reading = run_in_worker(partial(_read_output, process, output))
    ending = run_in_worker(process.wait)
    try:
        await asyncio.wait({reading, ending}, return_when=asyncio.FIRST_COMPLETED)
        if len(output) <= MAX_KEY:
            await ending
            await asyncio.wait({reading}, timeout=PIPE_SECONDS)
    finally:
        _kill(process)
    if len(output) > MAX_KEY:
        raise MissingKey(f"{label} printed more than {MAX_KEY:,} bytes.", fix="Have it print the key only.")
    if process.returncode:
        raise MissingKey(
            f"{label} ended with exit status {process.returncode}.", fix="Run it in a terminal to see why."
        )
    return bytes(output)


def _start(command: tuple[str, ...], label: str) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=os.name == "posix",  # an interrupt of the kernel is not for the program
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "invalid"
    raise MissingKey(f"{label} cannot be started ({reason}).", fix="Write the full path of the program.")


def _read_output(process: subprocess.Popen[bytes], output: bytearray) -> None:
    """Add what a program prints; only this thread waits for a program that it started and that keeps the pipe open."""
    if process.stdout is None:  # pragma: no cover - it was requested
        return
    with process.stdout:
        while len(output) <= MAX_KEY and (chunk := os.read(process.stdout.fileno(), MAX_KEY)):
            output += chunk


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a program that still runs, with the programs that it started."""
    if process.poll() is None:
        with suppress(OSError):
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            else:  # pragma: no cover - another system
                process.kill()
        process.wait()


def check_key(key: Any) -> Secret | KeySource | None:
    """Return a key argument in its stored form: a secret, or the source that calls a function.

    Raises:
        nbtool.errors.BadUsage: it is neither a text nor a function. It is not repeated.
    """
    if key is None or isinstance(key, KeySource):
        return key
    if isinstance(key, SecretValue):
        key = key.get_secret_value()
    if isinstance(key, str):
        return Secret(key.strip()) if key.strip() else None
    if callable(key):
        return key_function_source(key)
    raise BadUsage(f"api_key: expected a text or a function, not {type(key).__name__}.", fix='api_key="…"')

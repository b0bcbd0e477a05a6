"""The audit file of a chat: one line of JSON for each decision about a call, written before anything acts on it.

A line says who decided, about which call and tool, how, and when. It has a digest of the arguments and no content: no
argument, no result, no reason, and no known secret.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nbtool.errors import BadUsage
from nbtool.events import BY_ERROR, BY_NOBODY, Gate
from nbtool.text import shorten
from nbtool.tools.approval import BY_PERSON, BY_POLICY, BY_REMEMBERED, BY_REVIEWER, canonical_json
from nbtool.wire.framing.known_secrets import hide_secrets

Who = Literal["person", "remembered", "policy", "reviewer", "approver", "nobody", "error"]
"""Who decided: `remembered` is an earlier approval, `approver` code of the person's, `error` code that failed."""

MAX_NAME = 200
"""Characters of a name in a line."""

BY_TIME = "expired"
"""The `by` of a denial because nobody answered in time."""

_WHO: Mapping[str, Who] = {
    **dict.fromkeys(BY_PERSON, "person"),
    BY_REMEMBERED: "remembered",
    BY_POLICY: "policy",
    BY_REVIEWER: "reviewer",
    BY_NOBODY: "nobody",
    BY_TIME: "nobody",
    BY_ERROR: "error",
}

RESERVED = frozenset(_WHO) - {BY_POLICY}
"""The names of deciders that no approver of the person's can take. One called a policy is not remembered."""


def who_decided(by: str) -> Who:
    """Return who the `by` of a decision means."""
    return _WHO.get(by, "approver")


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision: about a gate of a call, with the arguments that ran or would have run."""

    call_id: str
    tool: str
    gate: Gate
    decision: Literal["approved", "denied", "released", "withheld"]
    by: str
    arguments: Mapping[str, Any]
    is_edited: bool = False
    remember: str = ""


@dataclass(frozen=True, slots=True)
class AuditFile:
    """The file of a chat, if it has one, and those that a policy requires, for the calls of one turn."""

    path: Path | None
    chat_id: str = ""
    turn_id: str = ""
    required: tuple[Path, ...] = ()

    @property
    def paths(self) -> tuple[Path, ...]:
        """Where a line is written."""
        return (*self.required, *((self.path,) if self.path and self.path not in self.required else ()))

    def write(self, decided: Decided) -> None:
        """Append a line, which is on the disk when this returns.

        Raises:
            OSError: it cannot be written; its `filename` is where.
        """
        line = {
            "time": dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "chat": self.chat_id,
            "turn": self.turn_id,
            "call": decided.call_id,
            "tool": _name(decided.tool),
            "gate": decided.gate,
            "decision": decided.decision,
            "who": who_decided(decided.by),
            "by": _name(decided.by),
            "arguments": arguments_digest(decided.arguments),
            "edited": decided.is_edited,
            "remember": decided.remember,
        }
        data = (json.dumps(line, ensure_ascii=True) + "\n").encode()
        for path in self.paths:
            try:
                _append(path, data)
            except OSError as error:
                raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def open_audit(path: str | os.PathLike[str]) -> str:
    """Return the whole path of an audit file, which is made if it does not exist.

    Raises:
        BadUsage: it cannot be written.
    """
    whole = Path(path).expanduser().absolute()
    try:
        os.close(_open(whole))
    except OSError as error:
        raise BadUsage(
            f"The audit file {whole} cannot be written ({error.strerror or error}).",
            fix="Name a file in a folder of yours.",
        ) from None
    return str(whole)


def arguments_digest(arguments: Mapping[str, Any]) -> str:
    """Return the digest of arguments: equal arguments have the same one."""
    return f"sha256:{hashlib.sha256(canonical_json(dict(arguments)).encode()).hexdigest()}"


def _name(text: str) -> str:
    return shorten(hide_secrets(text), MAX_NAME)


def _append(path: Path, data: bytes) -> None:
    file = _open(path)
    try:
        if os.write(file, data) < len(data):
            raise OSError("only a part of a line could be written")
        os.fsync(file)
    finally:
        os.close(file)


def _open(path: Path) -> int:
    """Open a file to append to it; a new one is for its owner only."""
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)

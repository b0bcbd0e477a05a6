"""The parts of a recording's key: their types, and their format in a file.

{"prompt": "54bc…", "tool_mode": "auto", "tool": {"price": "ba4d…"}, "reads": {"price": {"LIMIT": "0c97…"}}, …}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, cast, get_args

from nbtool.errors import BadRecording
from nbtool.text import shorten

SingleKind = Literal[
    "prompt", "model", "wire", "address", "tool_mode", "system", "options", "answer", "choices", "history", "version"
]
NamedKind = Literal["plugin", "tool", "reads", "object", "result"]
PartKind = SingleKind | NamedKind


class Part(NamedTuple):
    """One part: some kinds occur once, others once for each `name`; `item` is a global that the tool `name` reads."""

    kind: PartKind
    name: str = ""
    item: str = ""

    @property
    def label(self) -> str:
        """Its label in hashes."""
        return " ".join(word for word in self if word)


def labelled(parts: Mapping[Part, str]) -> dict[str, str]:
    """Return the digests by label, for a hash."""
    return {part.label: word for part, word in parts.items()}


def dump_parts(parts: Mapping[Part, str]) -> dict[str, Any]:
    """Return parts in the format of the file."""
    written: dict[str, Any] = {}
    for part, word in parts.items():
        if part.kind in get_args(SingleKind):
            written[part.kind] = word
        elif part.kind == "reads":
            written.setdefault("reads", {}).setdefault(part.name, {})[part.item] = word
        else:
            written.setdefault(part.kind, {})[part.name] = word
    return written


def load_parts(written: Mapping[str, Any]) -> dict[Part, str]:
    """Parse parts in the format of the file.

    Raises:
        BadRecording: the format is invalid.
    """
    return dict(part for kind, held in written.items() for part in _read(kind, held))


def _read(kind: str, held: Any) -> Iterator[tuple[Part, str]]:
    if kind in get_args(SingleKind) and isinstance(held, str):
        yield Part(cast("SingleKind", kind)), held
    elif kind == "reads" and isinstance(held, dict) and all(isinstance(inner, dict) for inner in held.values()):
        yield from (
            (Part("reads", name, item), _word(word)) for name, inner in held.items() for item, word in inner.items()
        )
    elif kind in get_args(NamedKind) and isinstance(held, dict):
        yield from ((Part(cast("NamedKind", kind), name), _word(word)) for name, word in held.items())
    else:
        raise _unknown(kind)


def _word(word: Any) -> str:
    if not isinstance(word, str):
        raise _unknown(str(type(word).__name__))
    return word


def _unknown(what: str) -> BadRecording:
    return BadRecording(f"A recorded turn cannot be read: its key has an invalid part {shorten(what, 60)!r}.")

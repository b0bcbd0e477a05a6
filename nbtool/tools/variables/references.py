r"""Find, resolve and describe references: `$VAR_REF{{name}}`.

    $VAR_REF{{name}}               the object itself if it is the whole argument; its text inside a longer text
    $VAR_REF{{name:start}}         the text form from character `start` on
    $VAR_REF{{name:start:length}}  `length` characters of it
    $VAR_REF{{name['key'][0]}}     an item, by literal keys and integer indexes of plain containers, frames and arrays
    \$VAR_REF{{                    the literal text

Names are letters, digits, `_`, `-`, `/` and `.`. References are searched once, in all strings of the arguments
except keys, and never in the values that replace them. Nothing is evaluated or called, and no attribute is read.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from nbtool.errors import UnknownReference
from nbtool.events import ResolvedReference
from nbtool.text import clean_text, map_text, shorten
from nbtool.tools.values.named_parts import MultipartResult
from nbtool.tools.values.sanitize import excerpt
from nbtool.tools.values.type_and_shape import describe, summarize

REFERENCE_PREFIX = "$VAR_REF{{"
"""The start of a reference."""

_CLOSING = "}}"
_PREFIX = re.compile(r"(\\)?\$VAR_REF\{\{")
_KEY = r"""\[(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|-?[0-9]{1,18})\]"""
_BODY = re.compile(
    rf"(?P<name>[\w\-/.]+)(?:(?P<keys>(?:{_KEY})+)|:(?P<start>[0-9]{{1,18}})(?::(?P<length>[0-9]{{1,18}}))?)?\}}\}}"
)
_NAME = re.compile(r"\$VAR_REF\{\{([\w\-/.]{1,128})")
_ONE_KEY = re.compile(_KEY)

Path = tuple[str | int, ...]

__all__ = [
    "Path",
    "Reference",
    "ReferenceTarget",
    "ResolvedArguments",
    "describe",
    "parse",
    "referenced_names",
    "resolve",
    "resolve_one",
    "without_references",
]


class ReferenceSource(Protocol):
    """Looks up references."""

    def value(self, name: str) -> Any:
        """Return the object of this name; raises UnknownReference."""

    def text(self, name: str) -> str:
        """Return its text form; raises UnknownReference."""

    def render(self, value: Any) -> str:
        """Return the text form of an item of a variable."""


@dataclass(frozen=True, slots=True)
class Reference:
    """One parsed reference; `text` is its source."""

    text: str
    name: str
    keys: tuple[str | int, ...] = ()
    start: int | None = None
    length: int | None = None

    @property
    def path(self) -> str:
        """The text between the braces: the name, with keys or a slice."""
        return self.text[len(REFERENCE_PREFIX) : -len(_CLOSING)]


@dataclass(frozen=True, slots=True)
class ReferenceTarget:
    """A reference and its value when it was resolved: the object, or the `text` that replaced it."""

    reference: Reference
    value: Any = field(repr=False)
    text: str | None = field(default=None, repr=False)

    def resolved(self) -> ResolvedReference:
        """Return its description: name, type and shape; never a value."""
        note = "" if self.text is None else " (its text)"
        part = note if self.reference.start is None else " (a part of its text)"
        return ResolvedReference(self.reference.path, f"{describe(self.value)}{part}", f"{summarize(self.value)}{part}")


@dataclass(frozen=True, slots=True)
class ResolvedArguments:
    """Arguments with their references resolved: new containers with the original objects.

    `objects` are the live objects by path, `links` all references by path. `json_text` is the JSON of arguments without
    references; empty if it is not known.
    """

    arguments: dict[str, Any] = field(repr=False)
    objects: dict[Path, Any] = field(default_factory=dict, repr=False)
    links: dict[Path, tuple[ReferenceTarget, ...]] = field(default_factory=dict)
    json_text: str = field(default="", repr=False)

    def links_in(self, argument: str) -> tuple[ReferenceTarget, ...]:
        """Return the references inside one argument."""
        return tuple(link for path, links in self.links.items() if path[0] == argument for link in links)


def resolve(arguments: Mapping[str, Any], store: ReferenceSource) -> ResolvedArguments:
    """Resolve every reference in the arguments.

    Raises:
        UnknownReference: one is unknown or malformed, or its object was removed.
    """
    resolved = ResolvedArguments({})
    for name, value in arguments.items():
        resolved.arguments[clean_text(name)] = _resolve_value(value, (clean_text(name),), store, resolved)
    return resolved


def without_references(arguments: Mapping[str, Any]) -> ResolvedArguments:
    """Return the arguments unchanged, for a tool that takes references as text."""
    return ResolvedArguments(map_text(arguments, clean_text, keys=clean_text))


def parse(text: str) -> list[str | Reference]:
    """Split a text into plain pieces, with escapes removed, and references.

    Raises:
        UnknownReference: the text after `$VAR_REF{{` is malformed.
    """
    segments: list[str | Reference] = []
    position = 0
    for opening in _PREFIX.finditer(text):
        if opening.start() < position:
            continue  # inside a key of the previous reference
        segments.append(text[position : opening.start()])
        if opening.group(1):
            segments.append(REFERENCE_PREFIX)
            position = opening.end()
            continue
        body = _BODY.match(text, opening.end())
        if body is None:
            raise _malformed_error(text[opening.start() : opening.end() + 40])
        segments.append(_parse_reference(text[opening.start() : body.end()], body))
        position = body.end()
    segments.append(text[position:])
    return [match for match in segments if match != ""]


def referenced_names(text: str) -> list[str]:
    """Return the names of all references in a text, of malformed and escaped ones too."""
    return _NAME.findall(text)


def resolve_one(reference: Reference, store: ReferenceSource) -> Any:
    """Return the object that a reference names, without its slice.

    Raises:
        UnknownReference: the name or a key does not exist.
    """
    value = store.value(reference.name)
    for key in reference.keys:
        value = _get_item(value, key, reference)
    return value


def _resolve_value(value: Any, path: Path, store: ReferenceSource, resolved: ResolvedArguments) -> Any:
    if isinstance(value, str):
        return _resolve_text(clean_text(value), path, store, resolved)
    if isinstance(value, Mapping):
        return {
            clean_text(key): _resolve_value(item, (*path, clean_text(key)), store, resolved)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_resolve_value(item, (*path, index), store, resolved) for index, item in enumerate(value)]
    return value


def _resolve_text(text: str, path: Path, store: ReferenceSource, resolved: ResolvedArguments) -> Any:
    if REFERENCE_PREFIX not in text:
        return text
    pieces = parse(text)
    is_single = len(pieces) == 1
    links = tuple(
        _resolve_reference(segment, store, is_single=is_single) for segment in pieces if isinstance(segment, Reference)
    )
    if links:
        resolved.links[path] = links
    if is_single and links and links[0].text is None:
        resolved.objects[path] = links[0].value
        return links[0].value
    remaining_links = iter(links)
    return "".join(segment if isinstance(segment, str) else next(remaining_links).text or "" for segment in pieces)


def _resolve_reference(reference: Reference, store: ReferenceSource, *, is_single: bool) -> ReferenceTarget:
    value = resolve_one(reference, store)
    if is_single and reference.start is None:
        return ReferenceTarget(reference, value)
    text = store.render(value) if reference.keys else store.text(reference.name)
    start = reference.start or 0
    if reference.start is None:
        return ReferenceTarget(reference, value, text)
    return ReferenceTarget(
        reference, value, excerpt(text, start, None if reference.length is None else start + reference.length)
    )


def _parse_reference(text: str, body: re.Match[str]) -> Reference:
    start, length = body["start"], body["length"]
    try:
        keys = tuple(ast.literal_eval(key[1:-1]) for key in _ONE_KEY.findall(body["keys"] or ""))
    except (ValueError, SyntaxError):
        raise _malformed_error(text) from None
    return Reference(text, body["name"], keys, int(start) if start else None, int(length) if length else None)


def _malformed_error(text: str) -> UnknownReference:
    return UnknownReference(
        f"{shorten(text, 60)!r} is not a valid reference.",
        fix="Write $VAR_REF{{name}}, $VAR_REF{{name:start:length}} or $VAR_REF{{name['key']}}, "
        "and \\$VAR_REF{{ for the literal text.",
    )


def _get_item(value: Any, key: str | int, reference: Reference) -> Any:
    """Return an item of a container whose look-up runs no user code."""
    errors = UnknownReference(f"{reference.text} does not exist: {describe(value)} has no item {key!r}.")
    kind = type(value)
    try:
        if kind in (dict, list, tuple, MultipartResult):
            return value[key]
        if kind.__module__.partition(".")[0] in ("pandas", "numpy", "polars"):
            return _get_table_item(value, key)
    except Exception:  # noqa: BLE001 - each library has its own errors for a missing item
        raise errors from None
    raise errors


def _get_table_item(value: Any, key: str | int) -> Any:
    if type(value).__module__.startswith("pandas") and type(value).__name__ == "Series" and isinstance(key, int):
        return value.iloc[key]
    return value[key]

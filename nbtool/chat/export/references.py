"""Write references as Python: a name, an item of it, or an expression that yields the same text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from nbtool.blocks.sanitize import one_line
from nbtool.chat.export.literals import LiteralWriter, NotLiteral, text_literal
from nbtool.chat.export.names import NotebookNames, is_name
from nbtool.errors import UnknownReference
from nbtool.tools.values.output_suppression import suppress_output
from nbtool.tools.variables.references import Path, Reference, parse, resolve_one
from nbtool.tools.variables.store import Variables

MAX_QUOTED = 10_000
"""Maximum characters of a text that is copied because no expression yields it."""

_MISSING = object()
_CALL_SUFFIXES = ("_result", "_args")
"""Suffixes of the names under which nbtool stores results and arguments of calls."""


@dataclass(frozen=True, slots=True)
class Binding:
    """The meaning of a reference's name in the code: an expression, or why there is none (`missing`).

    `value` is the object, if it still exists. `keys` is the path prefix of references that the expression includes.
    """

    expression: str = ""
    missing: str = ""
    value: Any = field(default=_MISSING, repr=False)
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Text:
    """Source of a part of a text: a literal, an expression of type str, or one that needs `str()`."""

    source: str
    kind: Literal["literal", "text", "value"] = "text"


class ReferenceWriter:
    """Track the meaning of each reference's name while calls are exported in order.

    `remarks` collects comments about the references that were written last.
    """

    def __init__(self, names: NotebookNames, variables: Variables) -> None:
        self._names = names
        self._variables = variables
        self._bindings: dict[str, Binding] = {}
        self.remarks: list[str] = []

    def bind(self, name: str, binding: Binding) -> None:
        """Bind a name to the result of a call, for all later references."""
        self._bindings[name] = binding

    def locations(self, arguments: Mapping[str, Any]) -> dict[Path, str]:
        """Return an expression for every path in the arguments whose value contains a reference.

        Raises:
            NotLiteral: the target of a reference has no name in the code.
        """
        return dict(self._walk(arguments, ()))

    def _walk(self, value: Any, path: Path) -> list[tuple[Path, str]]:
        if isinstance(value, str):
            return [(path, self._string(value))] if "$VAR_REF{{" in value else []
        if isinstance(value, Mapping):
            return [pair for key, inner in value.items() for pair in self._walk(inner, (*path, key))]
        if isinstance(value, list):
            return [pair for index, inner in enumerate(value) for pair in self._walk(inner, (*path, index))]
        return []

    def _string(self, text: str) -> str:
        try:
            pieces = parse(text)
        except UnknownReference as error:
            raise NotLiteral(one_line(str(error))) from None
        if len(pieces) == 1 and isinstance(pieces[0], Reference) and pieces[0].start is None:
            return self._expression(pieces[0])
        texts = [
            _Text(text_literal(piece), "literal") if isinstance(piece, str) else self._text(piece)
            for piece in _join_texts(pieces)
        ]
        return _single_literal(texts) or self._sum(texts)

    def _sum(self, texts: list[_Text]) -> str:
        as_text = self._names.builtin("str")
        return " + ".join(text.source if text.kind != "value" else f"{as_text}({text.source})" for text in texts)

    def _expression(self, reference: Reference) -> str:
        binding = self._binding(reference)
        own = reference.keys[len(binding.keys) :]
        expression, value = binding.expression, binding.value
        for key in own:
            expression += f"{_accessor(value, key)}[{LiteralWriter(self._names).write(key)}]"
            value = _item(value, key)
        return expression

    def _text(self, reference: Reference) -> _Text:
        """Return source for the text of a reference, or for a slice of it."""
        expression, value = self._expression(replace(reference, start=None)), self._value(reference)
        start = reference.start or 0
        end = "" if reference.length is None else str(start + reference.length)
        part = "" if reference.start is None else f"[{start or ''}:{end}]"
        if value is _MISSING:
            label = one_line(reference.name)
            self.remarks.append(f"`{label}` is gone, so str() may yield another text than the call received.")
            return _Text(f"{self._names.builtin('str')}({expression}){part}")
        text = self._text_of(reference, value)
        if type(value) is str and value == text:
            return _Text(f"{expression}{part}")
        if _text_of_result(str, value) == text:
            return _Text(f"{self._names.builtin('str')}({expression}){part}") if part else _Text(expression, "value")
        if _text_of_result(_as_json, value) == text:
            return _Text(f"{self._names.module('json')}.dumps({expression}, ensure_ascii=False){part}")
        if self._is_closed(reference.name):
            label = one_line(reference.name)
            self.remarks.append(
                f"`{label}` was exposed by reference only, so its text is not copied; str() may yield another one."
            )
            return _Text(f"{self._names.builtin('str')}({expression}){part}")
        return self._quote(text, reference)

    def _is_closed(self, name: str) -> bool:
        """Whether a variable is exposed by reference only, or no longer known."""
        try:
            return not self._variables.get(name).is_readable
        except UnknownReference:
            return True

    def _quote(self, text: str, reference: Reference) -> _Text:
        start = reference.start or 0
        part = text[start:] if reference.length is None else text[start : start + reference.length]
        label = one_line(reference.name)
        if len(part) > MAX_QUOTED:
            raise NotLiteral(f"the text of `{label}`, which no expression yields")
        self.remarks.append(f"The text of `{label}` was rendered by nbtool and is copied in its current form.")
        return _Text(text_literal(part), "literal")

    def _value(self, reference: Reference) -> Any:
        binding = self._binding(reference)
        value = binding.value
        for key in reference.keys[len(binding.keys) :]:
            value = _item(value, key)
        return value

    def _text_of(self, reference: Reference, value: Any) -> str:
        if not reference.keys:
            try:
                return self._variables.text(reference.name)
            except UnknownReference:
                pass  # evicted meanwhile: use the value from the record
        return self._variables.render(value)

    def _binding(self, reference: Reference) -> Binding:
        name = reference.name
        binding = self._bindings.get(name) or self._in_notebook(name)
        if binding.missing:
            raise NotLiteral(binding.missing)
        if reference.keys[: len(binding.keys)] != binding.keys:
            raise NotLiteral(f"`{one_line(reference.text)}`, which is not part of the value in the code")
        return binding

    def _in_notebook(self, name: str) -> Binding:
        try:
            entry = self._variables.get(name)
            value = self._variables.value(name)
        except UnknownReference:
            if not is_name(name) or (name.endswith(_CALL_SUFFIXES) and not self._names.has(name)):
                return Binding(missing=f"`{one_line(name)}`, which no exported call produces")
            return Binding(self._names.use(name))
        if entry.kind != "exposed":
            return Binding(missing=f"`{one_line(name)}`, which no exported call produces")
        if entry.is_live and is_name(name):
            return Binding(self._names.use(name), value=value)
        expression = self._names.find(value) or (self._names.use(name) if is_name(name) else "")
        missing = "" if expression else f"`{one_line(name)}`, which has no name in the notebook"
        return Binding(expression, missing, value)


def _join_texts(pieces: list[str | Reference]) -> list[str | Reference]:
    """Join adjacent texts, which `parse` splits at escapes."""
    merged: list[str | Reference] = []
    for piece in pieces:
        last = merged[-1] if merged else None
        if isinstance(piece, str) and isinstance(last, str):
            merged[-1] = last + piece
        else:
            merged.append(piece)
    return merged


def _single_literal(texts: list[_Text]) -> str:
    """Return one literal, or an f-string if all other parts are plain names; else an empty string."""
    if len(texts) == 1 and texts[0].kind != "value":
        return texts[0].source
    parts = []
    for text in texts:
        if text.kind == "literal" and text.source[0] == '"':
            parts.append(text.source[1:-1].replace("{", "{{").replace("}", "}}"))
        elif text.kind != "literal" and text.source.isidentifier():
            parts.append(f"{{{text.source}}}" if text.kind == "text" else f"{{{text.source}!s}}")
        else:
            return ""
    return f'f"{"".join(parts)}"'


def _accessor(value: Any, key: str | int) -> str:
    """Return the accessor that a reference uses: a Series is indexed by position."""
    is_series = type(value).__module__.startswith("pandas") and type(value).__name__ == "Series"
    return ".iloc" if is_series and isinstance(key, int) else ""


def _item(value: Any, key: str | int) -> Any:
    if value is _MISSING:
        return _MISSING
    try:
        return resolve_one(Reference("", "", (key,)), _SingleStore(value))
    except UnknownReference:
        return _MISSING


@dataclass(frozen=True, slots=True)
class _SingleStore:
    """A variable store with a single object."""

    target: Any

    def value(self, _: str) -> Any:
        return self.target

    def text(self, _: str) -> str:
        raise NotImplementedError

    def render(self, _: Any) -> str:
        raise NotImplementedError


def _text_of_result(form: Any, value: Any) -> str | None:
    with suppress_output():
        try:
            return str(form(value))
        except Exception:  # noqa: BLE001 - user code: an object whose str() raises has no text
            return None


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

"""The references of a schema: what each refers to, and which definitions stay."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from nbtool.json_schema.bounds import MAX_VALUES
from nbtool.json_schema.keywords import ONE_SCHEMA, SCHEMA_LISTS, SCHEMA_MAPS
from nbtool.json_schema.names import name_digest

DEFINITION = "#/$defs/"
"""The beginning of a reference in normal form."""

MAX_REPEATED = 200
"""Maximum number of values of a definition that is copied to several places; a larger one stays a definition."""

MAX_LABEL = 40
"""Maximum number of characters of a definition's name, before its suffix."""

_UNFIT = re.compile(r"[^A-Za-z0-9_]+")


@dataclass(slots=True)
class Target:
    """What a reference refers to; `schema` is its normal form, which is being built while it is open."""

    name: str
    node: Any
    uses: int = 0
    schema: dict[str, Any] | None = None
    is_open: bool = False
    is_definition: bool = False

    @property
    def reference(self) -> str:
        """The reference to its definition."""
        return f"{DEFINITION}{self.name}"

    @property
    def in_place(self) -> dict[str, Any]:
        """What stands in the place of a reference: a copy, or a reference to the definition."""
        return {"$ref": self.reference} if self.schema is None or self.is_definition else dict(self.schema)

    def close(self, schema: dict[str, Any]) -> None:
        """Set the normal form; it stays a definition if it refers to itself, or is large and used in several places."""
        self.schema, self.is_open = schema, False
        self.is_definition = self.is_definition or (self.uses > 1 and count_values(schema, MAX_REPEATED) > MAX_REPEATED)


class Targets:
    """What the references of one document refer to: pointers into it, anchors and ids within it."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._by_node: dict[int, Target] = {}
        self._by_reference: dict[str, Target | None] = {}
        self._named: dict[str, Any] = {}
        self._labels: set[str] = set()
        references = self._scan()
        first_steps = {ref[2:].partition("/")[0] for ref in references if ref.startswith("#/")}
        self.containers = frozenset(first_steps) - SCHEMA_MAPS - SCHEMA_LISTS - ONE_SCHEMA
        for reference in references:
            if target := self.find(reference):
                target.uses += 1

    def _scan(self) -> list[str]:
        """Return all references, each as often as it occurs, and find the anchors and ids."""
        references: list[str] = []
        open_values: list[Any] = [self._root]
        while open_values:
            value = open_values.pop()
            if isinstance(value, dict):
                if isinstance(ref := value.get("$ref"), str):
                    references.append(ref)
                for key, prefix in (("$anchor", "#"), ("$dynamicAnchor", "#"), ("$id", ""), ("id", "")):
                    if isinstance(name := value.get(key), str):
                        self._named.setdefault(prefix + name, value)
                open_values.extend(value.values())
            elif isinstance(value, list):
                open_values.extend(value)
        return references

    def find(self, reference: str) -> Target | None:
        """Return what a reference refers to; None if it is not in this document."""
        if reference not in self._by_reference:
            node = self._resolve(reference)
            known = self._by_node.get(id(node)) if isinstance(node, dict) else None
            target = known or (Target(self._label(reference), node) if isinstance(node, dict | bool) else None)
            if target and isinstance(node, dict):
                self._by_node[id(node)] = target
            self._by_reference[reference] = target
        return self._by_reference[reference]

    def _resolve(self, reference: str) -> Any:
        if reference in self._named:
            return self._named[reference]
        pointer = reference.removeprefix(str(self._root.get("$id", "")))
        if pointer in ("", "#"):
            return self._root
        node: Any = self._root
        for step in pointer.removeprefix("#/").split("/") if pointer.startswith("#/") else [pointer]:
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(node, dict) and key in node:
                node = node[key]
            elif isinstance(node, list) and key.isdecimal() and int(key[:9]) < len(node):
                node = node[int(key)]
            else:
                return None
        return node if pointer.startswith("#/") else None

    def _label(self, reference: str) -> str:
        """Return the name of a definition: the last part of its address, with a suffix where that is not a name."""
        last = reference.rpartition("/")[2].lstrip("#") or "root"
        label = _UNFIT.sub("_", last)[:MAX_LABEL]
        if label != last or label in self._labels:
            label = f"{label}_{name_digest(reference, 6)}"
        self._labels.add(label)
        return label


def count_values(schema: Any, limit: int = MAX_VALUES) -> int:
    """Count the values of a schema, up to somewhat more than `limit`."""
    count, open_values = 0, [schema]
    while open_values and count <= limit:
        value = open_values.pop()
        count += 1
        if isinstance(value, dict):
            open_values.extend(value.values())
        elif isinstance(value, list | tuple):
            open_values.extend(value)
    return count

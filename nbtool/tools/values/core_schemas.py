"""Schemas of pydantic's core: change their nodes, and compile them as changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Node = dict[str, Any]
"""A node of a core schema; see https://docs.pydantic.dev/latest/api/pydantic_core_schema/."""


def nodes(core: Any) -> Iterator[Node]:
    """Yield every node of a core schema."""
    if isinstance(core, dict):
        yield core
        core = core.values()
    elif not isinstance(core, list | tuple):
        return
    for part in core:
        yield from nodes(part)


def with_changed_nodes(core: Any, change: Callable[[Node], Node]) -> Any:
    """Return a core schema in which each node is changed, after the nodes in it."""
    if isinstance(core, dict):
        return change({key: with_changed_nodes(value, change) for key, value in core.items()})
    return type(core)(with_changed_nodes(part, change) for part in core) if type(core) in (list, tuple) else core


@contextmanager
def compiled_as_written(core: Any) -> Iterator[None]:
    """Let pydantic compile each class in a schema as the schema says.

    Of a class that is complete it takes the class's own validator and serializer instead.
    """
    kinds = {node["cls"] for node in nodes(core) if isinstance(node.get("cls"), type)}
    complete = [kind for kind in kinds if vars(kind).get("__pydantic_complete__")]
    for kind in complete:
        kind.__pydantic_complete__ = False
    try:
        yield
    finally:
        for kind in complete:
            kind.__pydantic_complete__ = True

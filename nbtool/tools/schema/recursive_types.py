"""Types that contain themselves, such as a TypedDict of a tree: within it, a placeholder stands for the result."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Annotated, Any


class Whole:
    """Represents in an annotation a type that is being converted; `is_used` if it contains itself."""

    def __init__(self) -> None:
        self.converted: Any = None
        self.is_used = False

    def __get_pydantic_core_schema__(self, _source: Any, handler: Any) -> Any:
        return handler.generate_schema(self.converted)  # a reference, because it is in the middle of that


_unfinished: ContextVar[tuple[tuple[Any, Whole], ...]] = ContextVar("unfinished_types", default=())
"""The types around the one that is converted; some cannot be keys, because what is declared of them cannot."""


def lift_once(annotation: Any, lift: Callable[[], Any], name: Callable[[Any, Any], Any] | None = None) -> Any:
    """Return what a type is converted to, or what stands for that inside of it.

    Args:
        annotation: the type.
        lift: converts it.
        name: gives a name to the result, by which it can be referred to, if the result has none.
    """
    unfinished = _unfinished.get()
    if (outer := next((item for kind, item in unfinished if kind == annotation), None)) is not None:
        outer.is_used = True
        return Annotated[Any, outer]
    whole = Whole()
    token = _unfinished.set((*unfinished, (annotation, whole)))
    try:
        converted = lift()
    finally:
        _unfinished.reset(token)
    whole.converted = name(annotation, converted) if name and whole.is_used else converted
    return whole.converted


def name_type(annotation: Any, converted: Any) -> Any:
    """Return a converted alias as an alias again."""
    import typing_extensions  # noqa: PLC0415 - needed only when a tool is created

    return typing_extensions.TypeAliasType(str(getattr(annotation, "__name__", "Alias")), converted)

"""The parameters of a signature with their annotations: what `*args` and `**kwargs` unpack are parameters of their own.

`**options: Unpack[Options]` (PEP 692) takes the keys of the TypedDict `Options`, and `*args: *tuple[int, str]` (PEP
646) an integer and a text.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from nbtool.tools.schema.annotation_names import annotation_of
from nbtool.tools.schema.open_signature import OpenSignature
from nbtool.tools.schema.type_variables import substitute
from nbtool.tools.schema.typed_dicts import typed_dict_items

_KINDS = inspect.Parameter


@dataclass(frozen=True, slots=True)
class ResolvedParameter:
    """A parameter and its annotation.

    `is_required` says so where there is no default; `is_whole`: the annotation is that of all positional arguments.
    `name` is that of a key.
    """

    raw: inspect.Parameter
    annotation: Any
    is_required: bool | None = None
    is_whole: bool = False
    name: str = ""


def resolved_parameters(signature: OpenSignature) -> Iterator[ResolvedParameter]:
    """Yield the parameters that a caller may pass.

    Raises:
        BadUsage: an annotation cannot be resolved.
    """
    for raw in signature.parameters:
        annotation = annotation_of(raw, signature)
        unpacked = _unpacked(annotation) if raw.kind in (_KINDS.VAR_POSITIONAL, _KINDS.VAR_KEYWORD) else None
        if unpacked is None:
            yield ResolvedParameter(raw, annotation)
        elif raw.kind is _KINDS.VAR_KEYWORD:
            yield from _of_keys(unpacked)
        elif get_origin(unpacked) is tuple:
            has_fixed = any(item is not ... for item in get_args(unpacked)) and ... not in get_args(unpacked)
            yield ResolvedParameter(raw, unpacked, is_required=has_fixed, is_whole=True)
        else:  # a `TypeVarTuple`
            yield ResolvedParameter(raw, Any)


def _unpacked(annotation: Any) -> Any:
    """Return what an annotation unpacks; None if it does not."""
    import typing_extensions  # noqa: PLC0415 - needed only when a tool is created

    if get_origin(annotation) in (typing.Unpack, typing_extensions.Unpack):
        return get_args(annotation)[0]
    if getattr(annotation, "__unpacked__", False):
        return get_origin(annotation)[get_args(annotation)]
    return None


def _of_keys(kind: Any) -> Iterator[ResolvedParameter]:
    """Yield a parameter for each key of a TypedDict."""
    typed_dict = get_origin(kind) or kind
    arguments = dict(zip(getattr(typed_dict, "__parameters__", ()), get_args(kind), strict=False))
    for name, (annotation, is_required) in typed_dict_items(typed_dict).items():
        raw = _KINDS("_", _KINDS.KEYWORD_ONLY)  # a key may be no identifier
        yield ResolvedParameter(raw, substitute(annotation, arguments), is_required, name=name)

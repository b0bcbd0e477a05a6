"""Resolve the annotation of a parameter: the names in it mean what they mean where the function is defined.

Those are, from the inside out: the type parameters of the function (PEP 695), the names and type parameters of its
class, those of the functions around it, and those of its module. An annotation is a text under `from __future__ import
annotations`, in quotes, and in Python 3.14 where a name in it is not bound yet. A variable of the notebook may
hide a builtin type, as `str = "abc"` in an earlier cell does.
"""

from __future__ import annotations

import builtins
import inspect
import re
import reprlib
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from nbtool.errors import BadUsage
from nbtool.tools.schema.open_signature import OpenSignature
from nbtool.tools.schema.type_variables import substitute, type_arguments


def hidden_type_error(annotation: Any, parameter: str, function: str, names: Mapping[str, Any]) -> BadUsage | None:
    """Return the error for an annotation that is no type because its name belongs to a variable; None if it is not so.

    The annotation may be what the variable contained when the function was defined, or a text with its name.
    """
    found = next(
        (
            hidden_type_
            for hidden_type_ in _hidden_types(names)
            if _is_meant(annotation, hidden_type_, names[hidden_type_])
        ),
        None,
    )
    if found is None:
        return None
    return BadUsage(
        f"The annotation of the parameter {parameter!r} of {function} is no type: `{found}` is a variable of this"
        f" notebook ({reprlib.repr(names[found])}), not the type.",
        fix=f"`del {found}`, then define the tool again.",
    )


def _hidden_types(names: Mapping[str, Any]) -> Iterator[str]:
    for name, kind in vars(builtins).items():
        if isinstance(kind, type) and name in names and not isinstance(names[name], type):
            yield name


def _is_meant(annotation: Any, name: str, value: Any) -> bool:
    if annotation is value:
        return True
    return isinstance(annotation, str) and re.search(rf"(?<![\w.]){name}\b", annotation) is not None


_NO_TYPES = (
    str,
    bytes,
    int,
    float,
    complex,
    list,
    tuple,
    dict,
    set,
    frozenset,
    types.FunctionType,
    types.BuiltinFunctionType,
)
"""Values that are no annotation, but those of a variable with the name of a builtin type; lists are not evaluated."""


def annotation_of(raw: inspect.Parameter, signature: OpenSignature) -> Any:
    """Return the annotation of a parameter; Any if it has none.

    Raises:
        BadUsage: the annotation cannot be resolved.
    """
    if raw.annotation is inspect.Parameter.empty:
        return Any
    unwrapped = _unwrap(signature.function)
    defined_in = _class_of(unwrapped, signature.owner)
    module_names = getattr(unwrapped, "__globals__", None) or vars(sys.modules.get(unwrapped.__module__, types))
    class_names = vars(defined_in) if defined_in else {}
    local_names = _local_names(unwrapped, defined_in)
    try:
        try:
            resolved = evaluate(raw.annotation, module_names, local_names)
        except NameError:
            resolved = evaluate(raw.annotation, module_names, {**class_names, **local_names})
        annotation = substitute(resolved, type_arguments(signature.owner, defined_in))
    except Exception as error:
        _check_hidden_types(raw, signature, module_names)
        raise BadUsage(
            f"The annotation {raw.annotation!r} of the parameter {raw.name!r} of {function_name(signature.function)} "
            f"cannot be resolved: {error}.",
            fix="Import or define its names at the top level of the notebook or module, not only under "
            "`if TYPE_CHECKING:`, or annotate the parameter with Any.",
        ) from error
    if annotation is types.NoneType or isinstance(annotation, _NO_TYPES):
        _check_hidden_types(raw, signature, module_names)
    return annotation


def _check_hidden_types(raw: inspect.Parameter, signature: OpenSignature, names: Mapping[str, Any]) -> None:
    """Check that an annotation which is no type does not mean a variable with the name of a builtin type.

    Raises:
        BadUsage: it does.
    """
    if hidden := hidden_type_error(raw.annotation, raw.name, function_name(signature.function), names):
        raise hidden from None


def evaluate(annotation: Any, module_names: Mapping[str, Any], local_names: Mapping[str, Any]) -> Any:
    """Return what an annotation means, which may be a text or contain some."""
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    module: Any = module_names  # a dict is not copied: it may be all names of a notebook
    local: Any = local_names
    return typing.get_type_hints(holder, module, local, include_extras=True)["it"]


def function_name(function: Any) -> str:
    """Return the name of a function for a message, with its class if it is a method."""
    unwrapped = _unwrap(function)
    return str(getattr(unwrapped, "__qualname__", type(unwrapped).__name__)).rpartition("<locals>.")[2]


def _unwrap(function: Any) -> Any:
    """Return the function behind a method and decorators; of an object, its class's `__call__`."""
    unwrapped = inspect.unwrap(getattr(function, "__func__", function))
    if hasattr(unwrapped, "__globals__") or inspect.isclass(unwrapped):
        return unwrapped
    return type(unwrapped).__call__


def _class_of(function: Any, owner: Any) -> type | None:
    """Return the class in whose body a function is defined, if that can be found."""
    path, _, _ = getattr(function, "__qualname__", "").rpartition(".")
    for kind in getattr(owner if inspect.isclass(owner) else type(owner), "__mro__", ()):
        if kind.__qualname__ == path and kind.__module__ == getattr(function, "__module__", ""):
            return kind  # type: ignore[no-any-return]  # an item of `__mro__`
    found: Any = None
    if path and "<locals>" not in path:  # a static method, or a function taken from its class
        first, *rest = path.split(".")
        found = getattr(function, "__globals__", {}).get(first)
        for name in rest:
            found = getattr(found, name, None)
    return found if inspect.isclass(found) else None


def _local_names(function: Any, defined_in: type | None) -> dict[str, Any]:
    names: dict[str, Any] = {}
    if inspect.isfunction(function):
        for scope in reversed([*_running_scopes(function)]):
            names |= scope
        names |= _closure_values(function)
    if defined_in is not None:
        names |= {item.__name__: item for item in getattr(defined_in, "__type_params__", ())}
        names |= {name: value for name, value in vars(defined_in).items() if _is_for_annotations(value)}
    return names | {item.__name__: item for item in getattr(function, "__type_params__", ())}


def _is_for_annotations(value: Any) -> bool:
    """Whether an attribute of a class may stand in an annotation; a method named `list` does not hide the type."""
    return not hasattr(type(value), "__get__") or inspect.isclass(value)


def _closure_values(function: types.FunctionType) -> dict[str, Any]:
    """Return the values of the bound names of an enclosing function; `inspect.getclosurevars` needs all of them."""
    values = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # the cell is empty: the name is bound later
            values[name] = cell.cell_contents
    return values


def _running_scopes(function: types.FunctionType) -> Iterator[Mapping[str, Any]]:
    """Yield the names of the functions around a function that still run, the innermost first.

    A name that stands in annotations only is in no closure if the annotations are texts.
    """
    if "<locals>" not in function.__qualname__:
        return
    frame: types.FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_flags & inspect.CO_NEWLOCALS and _defines(frame.f_code, function.__code__):
            yield frame.f_locals
        frame = frame.f_back


def _defines(outer: types.CodeType, inner: types.CodeType) -> bool:
    """Whether the code of a function stands in other code, at any depth."""
    parts = [const for const in outer.co_consts if isinstance(const, types.CodeType)]
    return any(part is inner or _defines(part, inner) for part in parts)

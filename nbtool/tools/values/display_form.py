"""What an object is for a notebook, as text or data for a model: Markdown, formulas, HTML, charts.

The protocols are those of IPython; see https://ipython.readthedocs.io/en/stable/config/integrating.html.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator
from typing import Any

from nbtool.tools.values.array_form import array_size
from nbtool.tools.values.table_form import table_shape

TEXT_METHODS = (
    "_repr_markdown_", "_repr_latex_", "_repr_json_", "_repr_mimebundle_", "_repr_html_", "_repr_svg_",
    "_repr_javascript_", "_repr_pretty_",
)  # fmt: skip
"""Methods that return an object as text or data, the best for a model first."""

DATA_METHODS = ("to_plotly_json", "to_dict")
"""Methods of a chart that return what it draws."""

OMITTED_STYLE = "… (the style is left out)"
"""In the place of a template of plotly: colours and fonts, 7,000 characters long."""

_TEXT_TYPES = ("text/markdown", "text/latex", "application/json", "text/html", "image/svg+xml")


def display_form(value: Any) -> tuple[Any, bool] | None:
    """Return an object that a notebook displays as text or data, and whether that is all of it.

    None if its class has none of these methods, or they return nothing that can be read.
    """
    kind: Any = type(value)
    methods = [name for name in TEXT_METHODS if callable(getattr(kind, name, None))]
    if not methods:
        return None
    if (data := _chart_data(value)) is not None:
        return data
    if kind.__repr__ is not object.__repr__ and not is_summary(repr(value)):
        return None
    if kind.__name__ == "Styler" and hasattr(value, "data"):
        return value.data, True  # a table with colours, whose digits the style would round
    for name in methods:
        if form := next(filter(None, _forms(value, name)), None):
            return form, True
    return None


def chart_values(value: Any) -> list[Any] | None:
    """Return the lists and arrays that a chart draws, in their order and the other way round; None if it is no chart.

    Raises:
        Exception: a method of its class failed.
    """
    if isinstance(value, type) or not has_display(value) or table_shape(value) or array_size(value) is not None:
        return None
    if (data := _chart_data(value)) is None:
        return None
    series = list(_series_in(data[0]))
    return [*series, *reversed(series)]


def _series_in(data: Any) -> Iterator[Any]:
    if isinstance(data, dict) or (isinstance(data, list) and all(isinstance(item, dict) for item in data)):
        for item in data.values() if isinstance(data, dict) else data:
            yield from _series_in(item)
    elif not isinstance(data, str) and hasattr(data, "__len__"):
        yield data


def has_display(value: Any) -> bool:
    """Whether a class declares how a notebook displays its objects."""
    return any(callable(getattr(type(value), name, None)) for name in TEXT_METHODS)


def is_summary(text: str) -> bool:
    """Whether a representation is no expression but a description, which Python writes in angle brackets.

    See https://docs.python.org/3/reference/datamodel.html#object.__repr__.
    """
    return text.startswith("<") and text.endswith(">")


def _forms(value: Any, method: str) -> Iterator[Any]:
    """Yield what a method returns as text or data: of a bundle each form that can be read."""
    if method == "_repr_pretty_":
        printer = sys.modules.get("IPython.lib.pretty")
        yield printer.pretty(value) if printer else None
        return
    returned = getattr(value, method)()
    content = returned[0] if isinstance(returned, tuple) and returned else returned
    if method != "_repr_mimebundle_":
        yield content
        return
    bundle: dict[str, Any] = content if isinstance(content, dict) else {}
    data = [name for name in bundle if name.endswith("+json")]
    yield from (bundle[name] for name in (*data, *_TEXT_TYPES) if name in bundle)
    if not is_summary(plain := str(bundle.get("text/plain", ""))):
        yield plain


def _chart_data(value: Any) -> tuple[Any, bool] | None:
    """Return what a chart draws, without its style, and whether that is all of it."""
    name = next((name for name in DATA_METHODS if callable(getattr(type(value), name, None))), None)
    if name is None:
        return None
    data = getattr(value, name)()
    if not isinstance(data, dict):
        return None
    data = _with_arrays(data)
    layout = data.get("layout")
    if not isinstance(layout, dict) or not isinstance(layout.get("template"), dict) or not layout["template"]:
        return data, True
    return {**data, "layout": {**layout, "template": OMITTED_STYLE}}, False


def _with_arrays(data: Any) -> Any:
    """Return data of plotly in which arrays are written as base64 with lists in their place."""
    if isinstance(data, dict):
        if data.keys() >= {"dtype", "bdata"} and isinstance(data["bdata"], str):
            return _decode_array(data)
        return {key: _with_arrays(item) for key, item in data.items()}
    return [_with_arrays(item) for item in data] if isinstance(data, list | tuple) else data


def _decode_array(data: dict[str, Any]) -> Any:
    import numpy as np  # noqa: PLC0415 - plotly wrote an array of numpy

    array = np.frombuffer(base64.b64decode(data["bdata"]), dtype=np.dtype(data["dtype"]))
    shape = data.get("shape")
    return array.reshape([int(size) for size in shape.split(",")]) if isinstance(shape, str) else array

"""What an object is for a notebook, as text or data for a model (Markdown, formulas, HTML, charts), and as a view.

The protocols are those of IPython; see https://ipython.readthedocs.io/en/stable/config/integrating.html.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Iterator
from typing import Any

from nbtool.events import MAX_DISPLAY_CHARS
from nbtool.tools.values.array_form import array_size
from nbtool.tools.values.output_suppression import suppress_output
from nbtool.tools.values.table_form import table_shape

PLOTLY = "application/vnd.plotly.v1+json"

_SCHEMA = re.compile(r"/schema/(vega|vega-lite)/v(\d+)(?:\.\d+)*\.json$")
"""The address in a specification of Vega that names its language and version."""

_METHODS = {
    "_repr_latex_": "text/latex",
    "_repr_markdown_": "text/markdown",
    "_repr_svg_": "image/svg+xml",
    "_repr_html_": "text/html",
}
"""The methods of IPython with the type of what they return, the best first."""


def notebook_display(value: Any) -> dict[str, str]:
    """Return `mime` and `text` of what a notebook would show for an object; empty if its class declares nothing.

    Also empty if its methods fail, or return more than `MAX_DISPLAY_CHARS`.
    """
    if isinstance(value, type) or not has_notebook_display(value):
        return {}
    with suppress_output():
        for mime, text in _view_forms(value):
            if 0 < len(text) <= MAX_DISPLAY_CHARS:
                return {"mime": mime, "text": text}
    return {}


def has_notebook_display(value: Any) -> bool:
    """Whether a class declares how a notebook shows its objects, other than as a picture."""
    kind: Any = type(value)
    return any(callable(getattr(kind, name, None)) for name in ("_repr_mimebundle_", "to_plotly_json", *_METHODS))


def _view_forms(value: Any) -> Iterator[tuple[str, str]]:
    for read in (_plotly, _vega, _bundle):
        try:
            form = read(value)
        except Exception:  # noqa: BLE001 - an object that cannot be shown is shown as text only
            continue
        if form:
            yield form
    for name, mime in _METHODS.items():
        try:
            returned = getattr(value, name)() if callable(getattr(type(value), name, None)) else None
        except Exception:  # noqa: BLE001 - the same
            continue
        text = returned[0] if isinstance(returned, tuple) and returned else returned
        if isinstance(text, str):
            yield mime, text


def _plotly(value: Any) -> tuple[str, str] | None:
    """Return a chart of plotly, whose own form depends on its renderer and may be 4 MB of script."""
    if not callable(getattr(type(value), "to_plotly_json", None)) or not hasattr(value, "to_json"):
        return None
    return PLOTLY, _json_text(json.loads(value.to_json()))


def _vega(value: Any) -> tuple[str, str] | None:
    """Return a chart of Vega or Vega-Lite, whose own form may be a page with scripts of another host."""
    if not callable(getattr(type(value), "_repr_mimebundle_", None)) or not callable(
        getattr(type(value), "to_dict", None)
    ):
        return None
    spec = value.to_dict()
    found = _SCHEMA.search(str(spec.get("$schema", ""))) if isinstance(spec, dict) else None
    if not found:
        return None
    language, version = found[1].replace("-", ""), found[2]
    return f"application/vnd.{language}.v{version}+json", _json_text(spec)


def _bundle(value: Any) -> tuple[str, str] | None:
    """Return the first form of a bundle that is data of a chart, or a text."""
    returned = value._repr_mimebundle_() if callable(getattr(type(value), "_repr_mimebundle_", None)) else None
    bundle = returned[0] if isinstance(returned, tuple) and returned else returned
    if not isinstance(bundle, dict):
        return None
    charts = [
        name for name in bundle if isinstance(name, str) and re.fullmatch(r"application/vnd\.[\w.-]+\+json", name)
    ]
    for mime in (*charts, *_METHODS.values()):
        if isinstance(found := bundle.get(mime), str):
            return mime, found
        if isinstance(found, dict | list) and mime in charts:
            return mime, _json_text(found)
    return None


def _json_text(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


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

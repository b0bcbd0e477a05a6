"""What a notebook would show for an object beside pictures and tables: charts, formulas, Markdown, HTML.

Only the methods that a class declares for notebooks are called. What they return is shown to the person, and never
sent to a model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from nbtool.events import MAX_DISPLAY_CHARS
from nbtool.tools.values.output_suppression import suppress_output

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
        for mime, text in _forms(value):
            if 0 < len(text) <= MAX_DISPLAY_CHARS:
                return {"mime": mime, "text": text}
    return {}


def has_notebook_display(value: Any) -> bool:
    """Whether a class declares how a notebook shows its objects, other than as a picture."""
    kind: Any = type(value)
    return any(callable(getattr(kind, name, None)) for name in ("_repr_mimebundle_", "to_plotly_json", *_METHODS))


def _forms(value: Any) -> Iterator[tuple[str, str]]:
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

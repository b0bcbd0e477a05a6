"""An object that a notebook shows in a form of its own is read in that form."""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

import plotly.graph_objects as plotly
import pytest

from nbtool.tools.values.display_form import OMITTED_STYLE, display_form
from nbtool.tools.values.model_text import render


class Shown:
    """An object whose bundle is what a test says."""

    def __init__(self, **bundle: Any) -> None:
        self.bundle = {name.replace("__", "/").replace("_plus_", "+"): one for name, one in bundle.items()}

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return self.bundle


SPEC = {"mark": "bar", "data": {"values": [{"a": 1}]}}


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("bundle", "form"),
    [
        ({"application__vnd.vegalite.v5_plus_json": SPEC, "text__plain": "<chart>"}, SPEC),
        ({"text__markdown": "# Title", "text__plain": "<title>"}, "# Title"),
        ({"text__plain": "three"}, "three"),
    ],
)
def test_of_a_bundle_its_data_is_read_before_its_text(bundle: dict[str, Any], form: Any) -> None:
    read = display_form(Shown(**bundle))

    assert read is not None
    assert read[0] == form


def test_of_a_bundle_with_nothing_but_a_summary_nothing_is_read() -> None:
    assert display_form(Shown(text__plain="<Shown at 0x7f>")) is None


class Pretty:
    """Has no text but that of IPython's printer."""

    def _repr_pretty_(self, printer: Any, _: bool) -> None:
        printer.text("Pretty(1)")


class Drawing:
    """Says in HTML and as data what a test gives."""

    def __init__(self, html: str | None, data: Any = None) -> None:
        self.html, self.data = html, data

    def _repr_html_(self) -> str | None:
        return self.html

    def to_dict(self) -> Any:
        return self.data

    def __repr__(self) -> str:
        return "<Drawing>"


WITHOUT_STYLE = f'Drawing\n{{"layout": {{"template": "{OMITTED_STYLE}"}}}}'


def test_an_object_that_a_notebook_displays_by_its_representation_has_no_form_of_its_own() -> None:
    assert [display_form(value) for value in (3, "text", [1], object())] == [None] * 4


def test_the_text_of_the_printer_of_ipython_is_read_where_ipython_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    importlib.import_module("IPython.lib.pretty")
    assert render(Pretty()).text == "Pretty(1)"

    monkeypatch.delitem(sys.modules, "IPython.lib.pretty")
    rendered = render(Pretty())

    assert rendered.text == f"<{__name__}.Pretty object>"
    assert not rendered.is_complete


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("value", "text", "is_complete"),
    [
        (Drawing(None), "<Drawing>", False),
        (Drawing("<b>3</b>"), "<b>3</b>", True),
        (Drawing("<b>3</b>", [1, 2, 3]), "<b>3</b>", True),
        (Drawing("<b>3</b>", {"mark": "bar"}), 'Drawing\n{"mark": "bar"}', True),
        (Drawing(None, {"layout": {"template": {"font": 1}}}), WITHOUT_STYLE, False),
    ],
)
def test_of_a_drawing_its_data_is_read_before_what_it_displays(value: Any, text: str, is_complete: bool) -> None:
    rendered = render(value)

    assert (rendered.text, rendered.is_complete) == (text, is_complete)


def test_a_chart_of_plotly_without_a_template_is_read_whole() -> None:
    chart = plotly.Figure([plotly.Scatter(y=[1, 2])])
    chart.layout.template = None

    rendered = render(chart)

    assert json.loads(rendered.text.split("\n")[1]) == {"data": [{"y": [1, 2], "type": "scatter"}], "layout": {}}
    assert rendered.is_complete

"""What a notebook would show for a result: charts as data, texts by what a class declares, within a limit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nbtool.chat.chat import Chat
from nbtool.events import MAX_DISPLAY_CHARS, CallFinished
from nbtool.testing import ScriptedWire, call
from nbtool.tools import tool
from nbtool.tools.values.display_form import notebook_display

SPEC = {"$schema": "https://vega.github.io/schema/vega-lite/v5.20.1.json", "mark": "bar"}


class Chart:
    """A chart as altair's: data, and a page with scripts for a notebook."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec

    def to_dict(self) -> dict[str, Any]:
        return self.spec

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {"text/html": "<script>draw()</script>", "text/plain": "Chart"}


class Shown:
    """An object that a notebook shows by one method."""

    def __init__(self, **methods: Any) -> None:
        self.__class__ = type("Shown", (), {name: lambda _, value=value: value for name, value in methods.items()})


def broken(_: object) -> str:
    raise ValueError("no")


@pytest.mark.parametrize(
    ("value", "mime", "text"),
    [
        (Chart(SPEC), "application/vnd.vegalite.v5+json", json.dumps(SPEC, separators=(",", ":"))),
        (
            Chart({"$schema": "https://vega.github.io/schema/vega/v5.json"}),
            "application/vnd.vega.v5+json",
            '{"$schema":"https://vega.github.io/schema/vega/v5.json"}',
        ),
        (Chart({"other": 1}), "text/html", "<script>draw()</script>"),
        (Shown(_repr_html_="<b>x</b>"), "text/html", "<b>x</b>"),
        (Shown(_repr_html_="<b>x</b>", _repr_latex_="$x$"), "text/latex", "$x$"),
        (Shown(_repr_markdown_=("*x*", {})), "text/markdown", "*x*"),
        (
            Shown(_repr_mimebundle_={"application/vnd.lab.map.v1+json": {"a": [1]}, "text/html": "x"}),
            "application/vnd.lab.map.v1+json",
            '{"a":[1]}',
        ),
    ],
)
def test_an_object_is_shown_by_the_best_form_that_its_class_declares(value: Any, mime: str, text: str) -> None:
    assert notebook_display(value) == {"mime": mime, "text": text}


@pytest.mark.parametrize(
    "value",
    [
        3,
        "text",
        Chart,
        Shown(),
        Shown(_repr_html_=None),
        Shown(_repr_html_="x" * (MAX_DISPLAY_CHARS + 1)),
        {"a": 1},
        type("Broken", (), {"_repr_html_": broken})(),
    ],
)
def test_what_declares_nothing_or_too_much_has_no_such_form(value: Any) -> None:
    assert notebook_display(value) == {}


def test_a_figure_of_plotly_is_data_and_no_page() -> None:
    graph_objects = pytest.importorskip("plotly.graph_objects")

    shown = notebook_display(graph_objects.Figure(graph_objects.Bar(y=[1, 2])))

    assert shown["mime"] == "application/vnd.plotly.v1+json"
    assert json.loads(shown["text"])["data"][0]["type"] == "bar"


def run_tool(**options: Any) -> CallFinished:
    @tool(run="auto", **options)
    def plot() -> Any:
        "Plot."
        return Chart(SPEC)

    with ScriptedWire([call("plot"), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[plot]).send("Plot.")
    return next(event for event in turn.log if isinstance(event, CallFinished))


def test_the_person_gets_it_with_the_outcome_and_the_model_does_not() -> None:
    finished = run_tool()

    assert finished.display["mime"] == "application/vnd.vegalite.v5+json"
    assert "script" not in finished.shown


def test_a_result_by_reference_is_shown_to_the_person_alone() -> None:
    finished = run_tool(result="reference")

    assert finished.display == {}
    assert finished.seen["display"] == run_tool().display

"""Values and types that cannot be read as they are: told by what is known of them, or not taken."""

# ruff: noqa: ARG001 - approvers are given a question, whether they read it or not

from __future__ import annotations

import threading
from typing import Any

import docstring_parser
import numpy as np
import pandas as pd
import pytest
import xarray
from pydantic import BaseModel, field_validator

from nbtool.errors import InvalidArguments
from nbtool.tools import tool
from nbtool.tools.calls import result
from nbtool.tools.schema.json_schema import inline_refs
from nbtool.tools.schema.parameters import parameters_of
from nbtool.tools.values.describe import describe
from nbtool.tools.values.preview import preview_table
from nbtool.tools.values.render import render
from nbtool.tools.variables.references import resolve
from nbtool.tools.variables.store import Variables
from tests.tools.calling import ask_for, make_harness


@tool
def look(n: int) -> int:
    """Look."""
    return n


def test_a_table_that_cannot_be_read_is_not_glanced_at() -> None:
    assert preview_table(pd.DataFrame.__new__(pd.DataFrame)) is None


def test_a_tensor_is_described_by_its_type_and_shape() -> None:
    class Tensor:
        dtype = "torch.float32"
        shape = (2, 3)

    Tensor.__module__ = "torch"

    assert describe(Tensor()) == "Tensor, float32, shape (2, 3)"


def test_a_docstring_that_cannot_be_parsed_is_the_description(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(text: str) -> None:
        raise docstring_parser.ParseError("no")

    monkeypatch.setattr(docstring_parser, "parse", refuse)

    def odd(n: int) -> None:
        """Odd: as it is."""

    description, parameters = parameters_of(odd)
    assert description == "Odd: as it is."
    assert parameters.schema["properties"]["n"] == {"type": "integer"}


def test_types_that_refer_to_each_other_in_a_circle_stay_references() -> None:
    shared = {
        "A": {"type": "object", "properties": {"b": {"$ref": "#/$defs/B"}, "c": {"$ref": "#/$defs/C"}}},
        "B": {"anyOf": [{"$ref": "#/$defs/C"}, {"$ref": "#/$defs/A"}]},
        "C": {"type": "string"},
    }
    made = inline_refs({"properties": {"a": {"$ref": "#/$defs/A", "description": "first"}}, "$defs": shared})

    assert set(made["$defs"]) == {"A", "B"}
    assert made["properties"]["a"]["$ref"] == "#/$defs/A"
    assert made["$defs"]["A"]["properties"]["c"] == {"type": "string"}


class ForgetfulModel(BaseModel):
    """Takes anything, and keeps nothing of it."""

    items: Any = None

    @field_validator("items", mode="after")
    @classmethod
    def nothing(cls, items: Any) -> Any:
        return {"a": ()} if isinstance(items, dict) else None


@pytest.mark.parametrize("items", ["$VAR_REF{{thing}}", ["$VAR_REF{{thing}}"], {"a": ["$VAR_REF{{thing}}"]}])
def test_an_object_that_validation_would_lose_is_not_taken(items: Any) -> None:
    def buy(order: ForgetfulModel) -> None: ...

    variables = Variables({"thing": object()})
    variables.expose("thing")
    _, parameters = parameters_of(buy)

    with pytest.raises(InvalidArguments, match="'order': a reference is not allowed at"):
        parameters.check(resolve({"order": {"items": items}}, variables))


@pytest.mark.parametrize(
    ("value", "is_taken"), [(np.int64(3), True), (np.array(3), True), (np.array([3]), False), (3.5, False)]
)
def test_a_number_of_numpy_passes_for_a_number(value: Any, is_taken: bool) -> None:
    variables = Variables({"n": value})
    variables.expose("n")
    _, parameters = parameters_of(look)
    resolved = resolve({"n": "$VAR_REF{{n}}"}, variables)

    if is_taken:
        assert parameters.check(resolved)["n"] is value
    else:
        with pytest.raises(InvalidArguments, match="integer is expected"):
            parameters.check(resolved)


def test_a_cell_of_a_table_library_is_told_in_its_own_words() -> None:
    seen = preview_table([pd.Timestamp("2026-01-02"), np.float64(1.5), object()])

    assert seen == {"columns": [""], "rows": [["2026-01-02 00:00:00"], ["1.5"], ["object"]]}


def test_a_tensor_and_what_cannot_be_drawn_are_objects_beside_their_text() -> None:
    class Odd:
        def _repr_llm_(self) -> str:
            raise ValueError("no")

        def __repr__(self) -> str:
            raise ValueError("no")

    small = xarray.DataArray(np.arange(3.0), dims="x")
    assert (render(small).is_complete, render(small).is_object) == (True, True)
    assert (render(Odd()).is_complete, render(Odd()).is_object) == (False, True)


def test_a_list_that_is_cut_says_once_how_much_is_missing() -> None:
    drawn = render(list(range(10_000)), 200)

    assert not drawn.is_complete
    assert drawn.text.count("more items") == 1


def test_what_a_drawing_package_made_and_nobody_can_draw_has_no_picture() -> None:
    odd = type("Odd", (), {"__module__": "matplotlib.odd"})()
    give = tool(lambda: odd, name="give", run="auto")
    record = make_harness(give).run(ask_for("give"))

    assert (record.status, record.media, record.media_omitted) == ("ok", (), 0)


def test_a_result_that_takes_too_long_to_draw_is_told_without_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result, "RENDER_SECONDS", 0.05)
    goes_on = threading.Event()

    class Slow:
        def _repr_png_(self) -> bytes | None:
            goes_on.wait(10)
            return None

    Slow.__module__ = "matplotlib.odd"
    give = tool(lambda: Slow(), name="give", run="auto")
    record = make_harness(give).run(ask_for("give"))
    goes_on.set()

    assert (record.status, record.media, type(record.result)) == ("ok", (), Slow)

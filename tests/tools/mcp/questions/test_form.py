from __future__ import annotations

from typing import Any

import pytest

from nbtool import Approved
from nbtool.errors import InvalidArguments
from nbtool.tools.mcp.questions.elicitation import form_tool
from nbtool.tools.mcp.questions.form import MAX_FIELDS, MAX_FORM, InvalidForm, form_parameters, secret_fields
from nbtool.tools.variables.references import ResolvedArguments, without_references
from tests.tools.calling import ask_for, make_harness


def form(*required: str, **fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(required)}


def resolved(**values: Any) -> ResolvedArguments:
    return without_references(values)


FIELDS: tuple[tuple[dict[str, Any], Any, tuple[Any, ...]], ...] = (
    ({"type": "string", "minLength": 2, "maxLength": 3}, "abc", (1, "a", "abcd")),
    ({"type": "string", "enum": ["a", "b"]}, "a", ("c",)),
    ({"oneOf": [{"const": "a", "title": "A"}]}, "a", ("A",)),
    ({"type": "boolean"}, False, ("no", 0)),
    ({"type": "integer", "maximum": 3}, 3, (3.5, True, 4)),
    ({"type": "number", "minimum": 0}, 2.5, ("2", -1)),
)
"""Fields, a value that fits, and some that do not."""


@pytest.mark.parametrize(("field", "fits", "wrong"), FIELDS)
def test_a_value_is_checked_by_its_field(field: dict[str, Any], fits: Any, wrong: tuple[Any, ...]) -> None:
    parameters = form_parameters(form("x", x=field))

    assert parameters.find_problems({"x": fits}) == []
    for value in wrong:
        assert len(parameters.find_problems({"x": value})) == 1
        with pytest.raises(InvalidArguments, match="'x'"):
            parameters.check(resolved(x=value))


LIST = {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1}


def test_several_choices_are_a_list_of_them() -> None:
    parameters = form_parameters(form("x", x=LIST))

    assert [len(parameters.find_problems({"x": value})) for value in (["a"], ["c"], [])] == [0, 1, 1]
    assert parameters.schema["properties"]["x"]["description"].endswith(": a, b")


def test_a_form_begins_with_its_defaults_and_a_place_for_what_is_required() -> None:
    text = {"type": "string"}
    parameters = form_parameters(
        form(
            "a",
            "c",
            a=text,
            b=text,
            c={"type": "number"},
            d={"type": "string", "default": "x"},
            e={**text, "default": 1},
        )
    )

    assert parameters.draft == {"a": "", "c": None, "d": "x"}
    assert parameters.check(resolved(**parameters.draft)) == parameters.draft


def test_what_could_hold_up_or_deceive_is_left_out_of_a_form() -> None:
    schema = form(x={"type": "string", "pattern": "(a+)+$", "$ref": "#", "title": "a\x1b[31mb", "minLength": "1"})

    assert form_parameters(schema).schema["properties"]["x"] == {"type": "string", "title": "ab"}


REFUSED: tuple[tuple[Any, str], ...] = (
    (None, "object"),
    ({"type": "string"}, "object"),
    (form(**{f"f{number}": {"type": "string"} for number in range(MAX_FIELDS + 1)}), f"above {MAX_FIELDS}"),
    (form(x={"type": "string", "description": "x" * MAX_FORM}), f"above {MAX_FORM:,}"),
    (form(x={"type": "object"}), "'object'"),
    (form(x={"type": ["string", "null"]}), "'x'"),
    (form(x={"type": "array", "items": {"type": "string"}}), "without choices"),
    (form(x={"type": "array", "items": "a"}), "without choices"),
    (form(x={"type": "string", "enum": [1]}), "choices"),
    (form(x="string"), "'x'"),
    (form(**{"x\ny": {"type": "string"}}), "x"),
    (form(**{"x" * 101: {"type": "string"}}), "xx"),
    (form(x={"type": "number", "default": float("nan")}), "JSON"),
)
"""Schemas that are none of a form, and what the error names."""


@pytest.mark.parametrize(("schema", "named"), REFUSED)
def test_what_is_no_flat_form_is_refused(schema: Any, named: str) -> None:
    with pytest.raises(InvalidForm, match=named):
        form_parameters(schema)


def test_fields_that_seem_to_ask_for_secrets_are_found() -> None:
    text = {"type": "string"}
    fields = {
        "user": text,
        "api_key": text,
        "x": {**text, "title": "Your password"},
        "y": {**text, "description": "PIN"},
    }

    assert secret_fields(form_parameters(form(**fields))) == ["api_key", "x", "y"]


def test_what_a_person_writes_in_a_form_is_no_reference_and_stays_out_of_the_variables() -> None:
    received: list[dict[str, Any]] = []

    async def receive(values: dict[str, Any]) -> str:
        received.append(values)
        return "sent"

    ask = form_tool("lab", "ask", form_parameters(form("x", x={"type": "string"})), "", receive)
    harness = make_harness(ask, notebook={"df": "SECRET"}, expose=["df"], approver=lambda _: Approved())
    record = harness.run(ask_for("ask", x="$VAR_REF{{df}}"))

    assert (record.status, received) == ("ok", [{"x": "$VAR_REF{{df}}"}])
    assert record.reference == ""
    assert [entry.name for entry in harness.runtime.variables.list_entries()] == ["df"]

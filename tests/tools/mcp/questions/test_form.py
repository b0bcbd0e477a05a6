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


@pytest.mark.parametrize(
    ("field", "fits", "problem"),
    [
        ({"type": "string", "minLength": 2, "maxLength": 3}, "abc", {1: "is not a text", "a": "at least 2 characters"}),
        ({"type": "string", "enum": ["a", "b"]}, "a", {"c": "is none of the choices"}),
        ({"oneOf": [{"const": "a", "title": "A"}]}, "a", {"A": "is none of the choices"}),
        ({"type": "boolean"}, False, {"no": "is not true or false", 0: "is not true or false"}),
        ({"type": "integer", "maximum": 3}, 3, {3.5: "is not an integer", True: "is not an integer", 4: "at most 3"}),
        ({"type": "number", "minimum": 0}, 2.5, {"2": "is not a number", -1: "at least 0"}),
    ],
)
def test_a_value_is_checked_by_its_field(field: dict[str, Any], fits: Any, problem: dict[Any, str]) -> None:
    parameters = form_parameters(form("x", x=field))

    assert parameters.find_problems({"x": fits}) == []
    for value, words in problem.items():
        assert words in parameters.find_problems({"x": value})[0]
        with pytest.raises(InvalidArguments, match="'x'"):
            parameters.check(resolved(x=value))


def test_several_choices_are_a_list_of_them() -> None:
    parameters = form_parameters(form("x", x={"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1}))

    assert parameters.find_problems({"x": ["a"]}) == []
    assert parameters.find_problems({"x": ["c"]}) == ["'x' is no list of the choices"]
    assert parameters.find_problems({"x": []}) == ["'x' has to be at least 1 choices"]
    assert parameters.schema["properties"]["x"]["description"] == "Any of: a, b"


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


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (None, "not that of an object"),
        ({"type": "string"}, "not that of an object"),
        (form(**{f"f{number}": {"type": "string"} for number in range(MAX_FIELDS + 1)}), f"above {MAX_FIELDS}"),
        (form(x={"type": "string", "description": "x" * MAX_FORM}), f"above {MAX_FORM:,}"),
        (form(x={"type": "object"}), "'object', not a plain one"),
        (form(x={"type": ["string", "null"]}), "not a plain one"),
        (form(x={"type": "array", "items": {"type": "string"}}), "a list without choices"),
        (form(x={"type": "array", "items": "a"}), "a list without choices"),
        (form(x={"type": "string", "enum": [1]}), "choices that are not texts"),
        (form(x="string"), "is not one of a form"),
        (form(**{"x\ny": {"type": "string"}}), "is not one of a form"),
        (form(**{"x" * 101: {"type": "string"}}), "is not one of a form"),
        (form(x={"type": "number", "default": float("nan")}), "not JSON"),
    ],
)
def test_what_is_no_flat_form_is_refused(schema: Any, words: str) -> None:
    with pytest.raises(InvalidForm, match=words):
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

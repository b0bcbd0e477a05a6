"""Objects that come by reference, checked against the types of the parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import pytest
from pydantic import AfterValidator, BaseModel, field_validator

from nbtool.errors import InvalidArguments
from nbtool.tools.schema.reference_to import REFERENCE_TYPE
from nbtool.tools.schema.signature import parameters_of
from nbtool.tools.variables.references import resolve
from nbtool.tools.variables.store import Variables
from tests.tools.signatures import Connection, Fussy, Order, check_with, one, schema_of


class Note(BaseModel):
    text: Any


@pytest.mark.parametrize("kind", [pd.DataFrame, np.ndarray, Connection, pd.Series])
def test_what_json_cannot_say_is_taken_by_reference(kind: type) -> None:
    schema = schema_of(one(kind))["properties"]["it"]

    assert schema == {"type": "string", "description": f"a reference: $VAR_REF{{{{name}}}} to a {kind.__name__}"}

    form = parameters_of(one(kind))[1].form_schema
    assert form
    assert form["properties"]["it"] == {**schema, REFERENCE_TYPE: kind.__name__}


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (pd.DataFrame, pd.DataFrame({"a": [1]})),
        (pd.DataFrame | None, pd.DataFrame()),
        (Annotated[pd.DataFrame, "any"], pd.DataFrame()),
        (Connection, Connection()),
        (type, int),
        (Callable[[int], int], abs),
        (list[int], [1, 2]),
        (dict[str, Any], {"a": 1}),
        (int, np.int64(3)),
        (float, np.float64(0.5)),
        (Order, Order(item="tea")),
        (Any, Connection()),
        (str, "text"),
    ],
    ids=str,
)
def test_an_object_that_was_referred_to_arrives_as_itself(annotation: Any, value: Any) -> None:
    assert check_with(one(annotation), {"v": value}, it="$VAR_REF{{v}}")["it"] is value


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (pd.DataFrame, ["SECRET"], "a reference: .* to a DataFrame is expected; .*v}} is a list, 1 item"),
        (int, "SECRET", "integer is expected; .*v}} is a str, 6 characters"),
        (str, pd.DataFrame({"a": ["SECRET"]}), "string is expected"),
        (Literal["a"], "SECRET", "string is expected"),
        (int | None, "SECRET", "integer or null is expected"),
        (list[int], ["SECRET"], "array is expected"),
        (Fussy, "SECRET", "object is expected"),
    ],
)
def test_a_wrong_object_is_refused_and_its_values_are_not_in_the_error(
    annotation: Any, value: Any, message: str
) -> None:
    for text in ("$VAR_REF{{v}}", "$VAR_REF{{v:0}}"):
        if annotation is str and text.endswith(":0}}"):
            continue
        with pytest.raises(InvalidArguments, match="is expected") as refusal:
            check_with(one(annotation), {"v": value}, it=text)
        assert "SECRET" not in str(refusal.value)
    with pytest.raises(InvalidArguments, match=message):
        check_with(one(annotation), {"v": value}, it="$VAR_REF{{v}}")


def check_name(name: str) -> str:
    raise ValueError(f"{name} is not allowed")


def test_a_check_of_the_tool_that_refuses_an_object_is_named_and_its_message_is_not_sent() -> None:
    annotation = Annotated[str, AfterValidator(check_name)]
    with pytest.raises(InvalidArguments, match=r"the tool's own check does not accept it; .*v}} is a str") as refusal:
        check_with(one(annotation), {"v": "SECRET"}, it="$VAR_REF{{v}}")
    assert "SECRET" not in str(refusal.value)


def test_references_may_be_inside_lists_and_values() -> None:
    a, b, numbers = pd.DataFrame({"a": [1]}), pd.DataFrame(), [1, 2]
    objects = {"a": a, "b": b, "numbers": numbers, "n": 5}

    frames = check_with(one(list[pd.DataFrame]), objects, it=["$VAR_REF{{a}}", "$VAR_REF{{b}}"])["it"]
    anything = check_with(one(dict[str, Any]), objects, it={"x": ["$VAR_REF{{numbers}}"]})["it"]
    counts = check_with(one(list[int]), objects, it=["$VAR_REF{{n}}", 1])["it"]

    assert frames[0] is a
    assert frames[1] is b
    assert anything["x"][0] is numbers
    assert counts == [5, 1]


def test_a_reference_of_the_wrong_kind_inside_a_list_is_refused() -> None:
    with pytest.raises(InvalidArguments, match="array is expected"):
        check_with(one(list[int]), {"v": ["SECRET"]}, it=["$VAR_REF{{v}}"])
    with pytest.raises(InvalidArguments, match="array is expected"):
        check_with(one(list[pd.DataFrame]), {"v": 3}, it=["$VAR_REF{{v}}"])


def test_a_reference_where_validation_keeps_no_container_is_refused() -> None:
    with pytest.raises(InvalidArguments, match="pass it as the whole argument"):
        check_with(one(Note), {"v": [1]}, it={"text": "$VAR_REF{{v}}"})
    live = [1]

    notes = check_with(one(list[Note]), {"v": live}, it=[{"text": {"deep": ["$VAR_REF{{v}}"]}}])["it"]

    assert notes[0].text["deep"][0] is live


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


class Pair(BaseModel):
    left: int
    right: int


def test_plain_values_inside_a_model_may_come_by_reference() -> None:
    def take(pair: Pair) -> None: ...

    variables = Variables({"one": 1, "two": 2})
    for name in ("one", "two"):
        variables.expose(name)
    _, parameters = parameters_of(take)
    pair = {"left": "$VAR_REF{{one}}", "right": "$VAR_REF{{two}}"}

    assert parameters.check(resolve({"pair": pair}, variables)) == {"pair": Pair(left=1, right=2)}

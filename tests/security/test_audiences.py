"""Every field of every event, message and record names its audience, and reaches no other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, make_dataclass
from typing import Any, get_args

import pytest
from pydantic_core import to_json

from nbtool.audience import AUDIENCES, OWN, TEXT, Audience, Kind, for_audience
from tests.security.canaries import MARK, TYPES, Marker, all_types, hint_of, is_in, variants

SHARED: tuple[Audience, ...] = tuple(audience for audience in AUDIENCES if audience != "person")

OWN_TEXTS = {
    "id", "call_id", "key", "inside", "turn_id", "message_id", "digest", "node_id", "parent_id", "child_id", "cell_id",
    "host", "prefix", "thread", "told_from", "replayed", "wire", "announces",
}  # fmt: skip
"""The texts of nbtool's envelope that are of no closed set: ids, names of places and dates, never content."""


def instances() -> Iterator[tuple[str, Any, Marker]]:
    for kind in TYPES:
        for given in variants(kind):
            marker = Marker()
            yield f"{kind.__name__} {given or ''}", marker.make(kind, **given), marker


def written(value: object) -> str:
    return to_json(value, bytes_mode="base64", inf_nan_mode="null").decode()


@pytest.mark.parametrize("kind", all_types(), ids=lambda kind: kind.__name__)
def test_every_field_names_its_audience(kind: type) -> None:
    unnamed = [one.name for one in fields(kind) if one.metadata.get("audience") not in get_args(Kind)]

    assert unnamed == []


@pytest.mark.parametrize("kind", all_types(), ids=lambda kind: kind.__name__)
def test_a_text_is_of_the_envelope_only_if_it_is_an_id_or_a_name_of_a_place(kind: type) -> None:
    own = {one.name for one in fields(kind) if one.metadata["audience"] in ("own", "run")}
    texts = {
        name
        for name in own
        if hint_of(kind, name) not in (bool, int, float)
        and "Literal" not in str(hint_of(kind, name))
        and "float | None" not in str(hint_of(kind, name))
    }

    assert texts <= OWN_TEXTS


@pytest.mark.promise("withheld")
@pytest.mark.parametrize("audience", AUDIENCES)
def test_a_marked_text_reaches_the_audiences_of_its_field_and_no_other(audience: Audience) -> None:
    wrong, seen = [], 0
    for name, value, marker in instances():
        out = written(for_audience(value, audience))
        for place in marker.places:
            seen += 1
            if is_in(place.text, out) is not place.may_reach(audience):
                wrong.append((name, place))

    assert wrong == []
    assert seen > 300


def test_a_field_that_names_no_audience_reaches_the_person_only() -> None:
    unnamed = make_dataclass("Unnamed", [("text", str), ("rows", dict, field(default_factory=dict))])
    value = unnamed(f"{MARK} text", {"a": f"{MARK} row"})

    assert [one for one in AUDIENCES if MARK in written(for_audience(value, one))] == ["person"]


def test_a_new_field_without_an_audience_fails_these_tests() -> None:
    @dataclass
    class Grown:
        call_id: str = field(default="", metadata=OWN)
        text: str = field(default="", metadata=TEXT)
        new: str = ""

    assert [one.name for one in fields(Grown) if "audience" not in one.metadata] == ["new"]
    assert MARK not in written(for_audience(Grown(new=MARK), "journal"))


PERSON_ONLY = {
    "CallReady.glances", "CallAsked.glances", "CallAsked.effect", "CallAsked.media", "CallFinished.seen",
}  # fmt: skip
"""What is shown at the screen only; beside it `shown` of a result's question, and texts of data that changed."""


def test_what_is_for_the_person_only_is_this_and_no_file_has_it() -> None:
    named = {
        f"{kind.__name__}.{one.name}" for kind in TYPES for one in fields(kind) if one.metadata["audience"] == "person"
    }
    views = {
        f"{kind.__name__}.{one.name}" for kind in TYPES for one in fields(kind) if one.metadata["audience"] == "view"
    }

    assert named == PERSON_ONLY
    assert views == {"CallFinished.media", "CallFinished.table", "CallFinished.display"}
    assert [one for one in AUDIENCES if "person" in AUDIENCES[one]] == ["person"]
    assert [one for one in AUDIENCES if "view" in AUDIENCES[one]] == ["person", "notebook", "document"]

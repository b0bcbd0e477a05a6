from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtool.errors import UnknownReference
from nbtool.tools import tool
from nbtool.tools.calls.bound_call import bind
from nbtool.tools.tool import as_tools
from nbtool.tools.variables.references import Reference, parse, referenced_names, resolve, without_references
from nbtool.tools.variables.store import Variables


def store(**objects: Any) -> Variables:
    variables = Variables()
    for name, value in objects.items():
        variables.expose(name, value)
    return variables


def value_of(text: str, **objects: Any) -> Any:
    return resolve({"it": text}, store(**objects)).arguments["it"]


@pytest.mark.promise("same-object")
def test_an_argument_that_is_one_reference_is_the_object_itself() -> None:
    frame = pd.DataFrame({"a": [1]})

    assert value_of("$VAR_REF{{df}}", df=frame) is frame


def test_a_reference_inside_a_longer_text_becomes_text() -> None:
    assert value_of("Dear $VAR_REF{{who}}, $VAR_REF{{n}}.", who="Ada", n=[1, None]) == "Dear Ada, [1, null]."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$VAR_REF{{s:2}}", "cdef"),
        ("$VAR_REF{{s:2:2}}", "cd"),
        ("$VAR_REF{{s:0}}", "abcdef"),
        ("$VAR_REF{{s:99}}", ""),
        ("$VAR_REF{{s:1:0}}", ""),
        ("<$VAR_REF{{s:4:9}}>", "<ef>"),
    ],
)
def test_a_slice_counts_characters_of_the_text_form(text: str, expected: str) -> None:
    assert value_of(text, s="abcdef") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$VAR_REF{{d['k']}}", [10, 20]),
        ("$VAR_REF{{d['k'][-1]}}", 20),
        ('$VAR_REF{{d["k"][0]}}', 10),
        ("$VAR_REF{{d['it\\'s']}}", 1),
        ("item $VAR_REF{{d['k'][1]}}!", "item 20!"),
    ],
)
def test_literal_keys_and_indexes_reach_into_plain_containers(text: str, expected: object) -> None:
    assert value_of(text, d={"k": [10, 20], "it's": 1}) == expected


def test_keys_reach_columns_rows_and_cells_of_tables() -> None:
    frame = pd.DataFrame({"a": [1, 2]}, index=["x", "y"])

    assert value_of("$VAR_REF{{df['a']}}", df=frame).tolist() == [1, 2]
    assert value_of("$VAR_REF{{df['a'][1]}}", df=frame) == 2
    assert value_of("$VAR_REF{{df['a']['y']}}", df=frame) == 2
    assert value_of("$VAR_REF{{m[1]}}", m=np.eye(2)).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("name", ["a", "A_1", "x-y", "Rule/agent.md", "größe"])
def test_names_may_have_letters_digits_and_four_marks(name: str) -> None:
    assert parse(f"$VAR_REF{{{{{name}}}}}") == [Reference(f"$VAR_REF{{{{{name}}}}}", name)]


@pytest.mark.parametrize(
    "text",
    [
        "$VAR_REF{{}}",
        "$VAR_REF{{a b}}",
        "$VAR_REF{{a::5}}",
        "$VAR_REF{{a:-1}}",
        "$VAR_REF{{a:1:}}",
        "$VAR_REF{{a()}}",
        "$VAR_REF{{a[b]}}",
        "$VAR_REF{{a[1:2]}}",
        "$VAR_REF{{a['k']:1}}",
        "$VAR_REF{{ a }}",
        "$VAR_REF{{a",
        "$VAR_REF{{a}",
        "$VAR_REF{{a|upper}}",
        "$VAR_REF{{a['\\xZZ']}}",
        "fine $VAR_REF{{a}} and $VAR_REF{{__import__('os')}}",
    ],
)
def test_what_is_no_reference_is_refused_and_never_passed_on(text: str) -> None:
    with pytest.raises(UnknownReference, match="is not a valid reference"):
        value_of(text, a="x")


def test_a_backslash_makes_it_literal_text() -> None:
    assert value_of("\\$VAR_REF{{a}}", a="x") == "$VAR_REF{{a}}"
    assert value_of("\\$VAR_REF{{ is how, $VAR_REF{{a}}", a="x") == "$VAR_REF{{ is how, x"


def test_a_reference_inside_a_quoted_key_is_part_of_the_key() -> None:
    assert value_of("$VAR_REF{{d['$VAR_REF{{d}}']}}", d={"$VAR_REF{{d}}": 7}) == 7


def test_references_are_found_in_lists_and_values_but_never_in_keys() -> None:
    frame = pd.DataFrame()
    arguments = {"frames": ["$VAR_REF{{df}}", {"$VAR_REF{{df}}": "$VAR_REF{{df}}"}], "n": 3}

    resolved = resolve(arguments, store(df=frame))

    assert resolved.arguments["frames"][0] is frame
    assert resolved.arguments["frames"][1] == {"$VAR_REF{{df}}": frame}
    assert set(resolved.objects) == {("frames", 0), ("frames", 1, "$VAR_REF{{df}}")}


def test_an_unknown_name_is_an_error_with_near_names() -> None:
    with pytest.raises(UnknownReference, match=r"no variable 'frme'\. Variables: frame, other"):
        value_of("$VAR_REF{{frme}}", other=1, frame=2)


def test_the_names_an_error_lists_are_bounded() -> None:
    with pytest.raises(UnknownReference, match="and 80 more"):
        value_of("$VAR_REF{{nothing}}", **{f"v{n}": n for n in range(100)})


@pytest.mark.parametrize(
    "text", ["$VAR_REF{{d['z']}}", "$VAR_REF{{d[0]}}", "$VAR_REF{{l[9]}}", "$VAR_REF{{l['k']}}", "$VAR_REF{{df['z']}}"]
)
def test_a_key_that_is_not_there_leads_nowhere_and_reveals_no_values(text: str) -> None:
    with pytest.raises(UnknownReference, match="does not exist") as refusal:
        value_of(text, d={"SECRET": 1}, l=["SECRET"], df=pd.DataFrame({"a": ["SECRET"]}))

    assert "SECRET" not in str(refusal.value)


def test_no_code_of_an_object_runs_to_find_an_item() -> None:
    class Trap(dict[str, int]):
        def __getitem__(self, key: str) -> int:
            raise AssertionError("ran")

    with pytest.raises(UnknownReference, match="does not exist"):
        value_of("$VAR_REF{{t['k']}}", t=Trap(k=1))


def test_lone_surrogates_are_replaced_on_the_way_in() -> None:
    assert resolve({"a\ud800": ["b\ud800"]}, store()).arguments == {"a\ufffd": ["b\ufffd"]}
    assert without_references({"a": ("b\ud800", {"c": 1})}).arguments == {"a": ["b\ufffd", {"c": 1}]}


def test_a_description_names_type_and_shape_and_no_value() -> None:
    frame = pd.DataFrame({"name": ["SENTINEL"]})
    resolved = resolve({"a": "$VAR_REF{{df}}", "b": "x $VAR_REF{{df:0:3}}"}, store(df=frame))
    words = [str(link.resolved()) for links in resolved.links.values() for link in links]

    kind = pd.Series(["a"]).dtype  # object, before pandas 3
    assert words[0] == f"$VAR_REF{{{{df}}}}: DataFrame, 1 row by 1 column: name ({kind})"
    assert words[1].endswith(")")
    assert "SENTINEL" not in repr(resolved.links)


texts = st.text(max_size=60) | st.sampled_from(["$VAR_REF{{a}}", "\\$VAR_REF{{a}}", "$VAR_REF{{b:1}}", "$VAR_REF{{"])


@given(st.lists(texts, max_size=6).map("".join))
def test_what_a_reference_brings_in_is_never_looked_at_again(text: str) -> None:
    """Values that look like references come through as they are, whatever stands around them."""
    objects = {"a": "<$VAR_REF{{b}}>", "b": "[$VAR_REF{{a}}]"}
    try:
        pieces = parse(text)
    except UnknownReference:
        with pytest.raises(UnknownReference):
            value_of(text, **objects)
        return
    if any(isinstance(piece, Reference) and piece.name not in objects for piece in pieces):
        return
    expected = "".join(piece if isinstance(piece, str) else objects[piece.name][piece.start or 0 :] for piece in pieces)

    assert value_of(text, **objects) == expected


@given(st.text(max_size=80))
def test_escaping_brings_any_text_through_unchanged(text: str) -> None:
    written = text.replace("$VAR_REF{{", "\\$VAR_REF{{")

    assert value_of(written) == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@given(st.text(alphabet="$VAR_REF{}[]':0a\\", max_size=40).map(lambda body: "$VAR_REF{{" + body))
def test_nothing_but_the_grammar_is_ever_a_reference(text: str) -> None:
    try:
        found = [piece for piece in parse(text) if isinstance(piece, Reference)]
    except UnknownReference:
        return

    assert all(reference.text in text for reference in found)
    assert all(isinstance(key, str | int) for reference in found for key in reference.keys)


def test_names_of_references_are_found_in_texts_that_cannot_be_parsed_too() -> None:
    assert referenced_names(r"$VAR_REF{{df['a']}}, \$VAR_REF{{x}} and $VAR_REF{{y") == ["df", "x", "y"]


def test_arguments_are_described_by_what_they_refer_to() -> None:
    variables = Variables({"frame": pd.DataFrame({"a": [1]})})
    variables.expose("frame")
    shown = tool(lambda data, note: (data, note), name="show")
    bound = bind(as_tools(shown)[0], {"data": "$VAR_REF{{frame}}", "note": "see é"}, variables)

    assert str(bound.resolved_arguments["note"]) == '"see é"'
    assert "DataFrame" in str(bound.resolved_arguments["data"])
    assert bound.question("c1", "run", "{}").resolved == bound.resolved_arguments
    assert list(bound.described) == ["data"]  # the other one is as it was written
    assert bound.question("c1", "run", "{}").arguments == {"data": "$VAR_REF{{frame}}", "note": "see é"}
    assert bound.question("c1", "run", "{}", attempt=1).digest != bound.question("c1", "run", "{}").digest

from __future__ import annotations

from nbtool.tools.schema.json_schema import inline_refs


def test_types_that_refer_to_each_other_in_a_circle_stay_references() -> None:
    shared = {
        "A": {"type": "object", "properties": {"b": {"$ref": "#/$defs/B"}, "c": {"$ref": "#/$defs/C"}}},
        "B": {"anyOf": [{"$ref": "#/$defs/C"}, {"$ref": "#/$defs/A"}]},
        "C": {"type": "string"},
    }
    made = inline_refs({"properties": {"a": {"$ref": "#/$defs/A", "description": "first"}}, "$defs": shared})

    assert set(made["$defs"]) == {"A"}
    assert made["properties"]["a"]["$ref"] == "#/$defs/A"
    assert made["$defs"]["A"]["properties"]["c"] == {"type": "string"}

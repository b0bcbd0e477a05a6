from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from nbtool.blocks.history.saved_history import HISTORY_LIMIT, HISTORY_SCHEMA, MAX_ROWS, saved_history
from nbtool.blocks.history.tree_rows import tree_rows
from nbtool.blocks.history.usage_totals import line_totals, totals
from nbtool.blocks.protocol_schema import SCHEMA
from nbtool.chat.conversation.tree import Tree
from nbtool.chat.turn import Turn
from tests.blocks.turns import RECORDS
from tests.history_of_many import grow

SCHEMA_FILE = Path(__file__).parents[3] / "js" / "src" / "explorer" / "historySchema.json"
EXAMPLE_FILE = Path(__file__).parents[3] / "js" / "tests" / "explorer" / "saved.json"


def save(count: int, turn: str = "") -> Any:
    tree: Tree[Turn] = Tree()
    grow(tree, count)
    turns = [version for node in tree.nodes() for version in node.versions]
    index = tree_rows(tree.roots, {node.node_id for node in tree.active_path})
    index["line_totals"] = line_totals(node.turn for node in tree.active_path if node.turn)
    documents = {one.turn_id: one.transcript().document() for one in turns}
    return saved_history(index, totals(turns), documents, title="History of main", turn=turn)


def test_the_page_reads_the_schema_of_the_package() -> None:
    written = json.dumps(HISTORY_SCHEMA, indent=1) + "\n"
    if RECORDS:
        SCHEMA_FILE.write_text(written, encoding="utf-8")

    jsonschema.Draft202012Validator.check_schema(HISTORY_SCHEMA)
    assert SCHEMA_FILE.read_text(encoding="utf-8") == written


def test_a_saved_conversation_is_valid_and_the_one_that_the_page_is_tested_with() -> None:
    data = save(12, turn="turn_00000000000000000005")
    written = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    if RECORDS:
        EXAMPLE_FILE.write_text(written, encoding="utf-8")

    jsonschema.Draft202012Validator(HISTORY_SCHEMA).validate(data)
    for one in data["turns"]:
        jsonschema.Draft202012Validator(SCHEMA).validate(one["document"])
    assert len(data["turns"]) == 12
    assert data["turns"][0]["document"]["head"]["turn_id"] == "turn_00000000000000000005"
    assert EXAMPLE_FILE.read_text(encoding="utf-8") == written


def test_a_long_conversation_is_saved_within_its_limit_the_latest_turns_in_full() -> None:
    data = save(1_000)
    size = len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())
    rows = data["index"]["rows"]

    assert size <= HISTORY_LIMIT
    assert len(rows) == MAX_ROWS
    assert data["index"]["left_out"] == 861 - MAX_ROWS
    assert data["index"]["line_before"] + sum(row["line"] for row in rows) == 807
    assert all(-1 <= row["parent"] < at for at, row in enumerate(rows))
    assert data["turns"][0]["document"]["head"]["turn_id"] == rows[-1]["versions"][-1]["turn_id"]
    known = {version["turn_id"] for row in rows for version in row["versions"]}
    assert len(data["turns"]) + data["turns_left_out"] == len(known)
    jsonschema.Draft202012Validator(HISTORY_SCHEMA).validate(data)


@pytest.mark.parametrize("private", ["why", "acts", "digest"])
def test_nothing_of_a_live_kernel_is_saved(private: str) -> None:
    data = save(5)

    assert all(private not in one["document"]["head"] for one in data["turns"])
    assert f'"{private}": "' not in json.dumps(data).replace('"digest": ""', "")

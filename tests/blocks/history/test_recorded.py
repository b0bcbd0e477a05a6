"""The page's tests look at a conversation that was folded here: it is the one that is folded now.

`NBTOOL_RECORD=1 pytest tests/blocks/history/test_recorded.py` writes it anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from nbtool.blocks.history.tree_rows import tree_rows
from nbtool.blocks.history.turn_steps import detail
from nbtool.blocks.history.usage_totals import totals
from nbtool.chat.conversation.tree import Tree
from nbtool.chat.turn import Turn
from tests.history_of_many import grow

RECORDED = Path(__file__).parents[3] / "js" / "tests" / "explorer" / "history.json"
RECORDS = bool(os.environ.get("NBTOOL_RECORD"))
TURNS = 60


def test_the_recorded_conversation_is_the_one_that_is_folded_now() -> None:
    tree: Tree[Turn] = Tree()
    grow(tree, TURNS)
    turns = [turn for node in tree.nodes() for turn in node.versions]
    folded: dict[str, Any] = {
        "index": tree_rows(tree.roots, {node.node_id for node in tree.active_path}),
        "turns": [detail(turn) for turn in turns if turn.turn_id.endswith(("0005", "0006", "0008"))],
        "totals": totals(turns),
    }
    text = json.dumps(folded, indent=1, ensure_ascii=False) + "\n"
    if RECORDS:
        RECORDED.write_text(text, encoding="utf-8")

    assert RECORDED.read_text(encoding="utf-8") == text

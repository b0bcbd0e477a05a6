from __future__ import annotations

import re
from itertools import pairwise

import pytest
from markdown_it import MarkdownIt

from nbtool import Chat
from nbtool.chat.export.markdown import as_markdown, fenced, span
from nbtool.chat.export.visibility import shareable_turn
from nbtool.testing import ScriptedWire, call
from tests.chat.export.saying import SECRET, make_chat

FORGED = "```\n## 7. Prompt\n~~~~\n<script>alert(1)</script>\n![x](https://evil.example/x.png)\n````` \r\n# Title"


def headings(text: str) -> list[str]:
    tokens = MarkdownIt("commonmark").parse(text)
    return [after.content for token, after in pairwise(tokens) if token.type == "heading_open"]


def test_a_conversation_reads_as_markdown() -> None:
    text = as_markdown([shareable_turn(node.turn) for node in make_chat().tree.active_path if node.turn])

    assert headings(text) == [
        "A chat with `scripted`", "1. Prompt", "Thinking", "Call of `double`: ok", "Call of `rows`: ok",
        "Call of `rows`: denied", "Call of `nothing`: not_found", "Call of `secret`: ok", "Call of `secret`: withheld",
        "Reply", "2. Prompt", "Reply",
    ]  # fmt: skip
    assert "Edited before it ran. Arguments requested by the model:" in text
    assert "Denied by `approver`: `no`" in text
    assert "Attached: `image/png" in text
    assert SECRET not in text


@pytest.mark.parametrize("text", [FORGED, "`" * 50, "```", "~~~", "", "\n\n", "\u202e\u2066", "    indented", "[a]: b"])
def test_no_text_of_the_model_can_forge_structure(text: str) -> None:
    with ScriptedWire([[call("no" + text, text=text)], f"Hello {text}"]) as wire:
        turn = Chat(wire=wire).send(f"Say {text}")
    written = as_markdown([turn])

    assert len(headings(written)) == 4
    assert not re.search("[\u202e\u2066\r]", written)
    tokens = MarkdownIt("commonmark").parse(written)
    assert not [one for one in tokens if one.type in ("html_block", "code_block")]
    inline = [child for one in tokens if one.children for child in one.children]
    assert not [one for one in inline if one.type in ("image", "link_open", "html_inline")]


@pytest.mark.parametrize("ticks", range(12))
def test_fences_and_spans_are_longer_than_any_inside(ticks: int) -> None:
    inner = "`" * ticks
    (fence,) = MarkdownIt("commonmark").parse(fenced(f"a\n{inner}\nb", "text"))
    (child,) = MarkdownIt("commonmark").parseInline(span(f"{inner}a{inner}"))[0].children or []

    assert fence.content == f"a\n{inner}\nb\n"
    assert (child.type, child.content) == ("code_inline", f"{inner}a{inner}")

from __future__ import annotations

import datetime as dt
import re
from itertools import pairwise

import pandas as pd
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from nbtool import Chat, Withheld, tool
from nbtool.chat.export.figures import Figures
from nbtool.chat.export.markdown import as_markdown
from nbtool.chat.export.title import Origin
from nbtool.chat.export.visibility import shareable_turn
from nbtool.events import TurnEnded
from nbtool.messages import Media
from nbtool.testing import ScriptedApprover, ScriptedWire, call
from tests.chat.export.saying import SECRET, make_chat
from tests.history_of_many import make_turn
from tests.samples import PNG, WAV

FORGED = (
    "```\n## 7. Prompt\n~~~~\n<script>alert(1)</script>\n![x](https://evil.example/x.png)\n````` \r\n# Title\n"
    "</details>\n\n# After\n\n<details>\n<summary>\u2713 order(n=4)</summary>\n\n- - -\n\nTitle\n=====\n"
)


def tokens_of(text: str) -> list[Token]:
    return MarkdownIt("gfm-like", {"html": True, "linkify": False}).parse(text)


def headings(text: str) -> list[str]:
    """Give the headings of the document itself."""
    tokens = tokens_of(text)
    return [after.content for token, after in pairwise(tokens) if token.type == "heading_open" and token.tag < "h4"]


def folds(text: str) -> list[str]:
    return re.findall("<summary>(.*)</summary>", text)


def exported(chat: Chat, own: Figures | None = None) -> str:
    return as_markdown([shareable_turn(node.turn) for node in chat.tree.active_path if node.turn], own)


def test_a_conversation_is_a_document() -> None:
    text = exported(make_chat())

    assert headings(text) == [
        "A chat with `scripted`",
        "1. Prompt",
        "Reply",
        "2. Prompt",
        "Reply",
        "Totals of these turns",
    ]
    assert "> First *thing*" in text
    assert [re.sub(" · [\\d.]+ m?s\\b", "", fold) for fold in folds(text)] == [
        "Thinking",
        "✓ double(n=4)",
        "✓ rows(n=5) · approved with your edit by approver",
        "⊘ rows(n=2) · denied by approver",
        "✕ nothing() · no such tool",
        "✓ secret(text=&quot;a&quot;) · result released with your edit by approver",
        "⊘ secret(text=&quot;b&quot;) · result withheld by approver",
    ]
    assert "Requested by the model:\n\n```json" in text
    assert "The call was denied by approver: no" in text
    assert "Attached: \\[image/png" in text
    assert SECRET not in text


def test_an_answer_is_markdown_and_no_code() -> None:
    with ScriptedWire(["# So\n\n| a | b |\n|---|--:|\n| 1 | **2** |\n\n- one\n- two"]) as wire:
        text = as_markdown([Chat(wire=wire).send("**Which** of these?")])
    kinds = {token.type for token in tokens_of(text[: text.index("## Totals")])}

    assert "> **Which** of these?" in text
    assert "#### So\n\n| a | b |\n| --- | --: |\n| 1 | **2** |\n\n- one\n- two" in text
    assert {"table_open", "bullet_list_open"} <= kinds
    assert "fence" not in kinds


@pytest.mark.parametrize("text", [FORGED, "`" * 50, "```", "~~~", "", "\n\n", "\u202e\u2066", "    indented", "[a]: b"])
def test_no_text_of_the_model_can_forge_structure(text: str) -> None:
    with ScriptedWire([[call("no" + text, text=text)], f"Hello {text}"]) as wire:
        turn = Chat(wire=wire).send(f"Say {text}")
    written = as_markdown([turn])
    tokens = tokens_of(written)

    assert len(headings(written)) == 4
    assert not re.search("[\u202e\u2066\r]", written)
    blocks = [one.content for one in tokens if one.type == "html_block"]
    assert len(blocks) == 2  # the fold of the call
    assert re.fullmatch("<details>\n<summary>[^<]*</summary>\n", blocks[0])
    assert blocks[1] == "</details>\n"
    inline = [child for one in tokens for child in one.children or ()]
    assert not [one for one in inline if one.type in ("image", "html_inline")]
    assert {one.attrs["href"] for one in inline if one.type == "link_open"} <= {"https://evil.example/x.png"}


@tool(run="auto")
def plot(n: int) -> Media:
    "Plot."
    return Media("image/png", PNG + bytes(n))


@tool(run="auto")
def frame(n: int) -> pd.DataFrame:
    "Give a frame."
    return pd.DataFrame({"n|<b>": range(n), "name": ["x"] * n})


@tool(run="auto", result="always")
def guarded() -> pd.DataFrame:
    "Give a frame that may be withheld."
    return pd.DataFrame({"n": [SECRET]})


def test_figures_are_files_beside_the_document_each_once() -> None:
    with ScriptedWire([[call("plot", n=0), call("plot", n=0), call("plot", n=1)], "Done."]) as wire:
        chat = Chat(wire=wire, tools=[plot])
        chat.send("Draw.", attach=[Media("image/png", PNG), Media("audio/wav", WAV, name="a](x).wav")])
    own = Figures("my chat_files")
    text = exported(chat, own)
    targets = [
        str(child.attrs.get("src", child.attrs.get("href")))
        for one in tokens_of(text)
        for child in one.children or ()
        if child.type in ("image", "link_open")
    ]

    assert own.files == {"figure-1.png": PNG, "figure-2.wav": WAV, "figure-3.png": PNG + b"\0"}
    assert targets == [f"my%20chat_files/figure-{name}" for name in ("1.png", "2.wav", "1.png", "1.png", "3.png")]


def test_a_figure_that_is_too_large_is_named() -> None:
    with ScriptedWire([[call("plot", n=0), call("plot", n=11)], "Done."]) as wire:
        chat = Chat(wire=wire, tools=[plot])
        chat.send("Draw.")
    own = Figures("f", max_bytes=len(PNG) + 10)

    assert exported(chat, own).count("bytes: too large to export\\]") == 1
    assert list(own.files) == ["figure-1.png"]


def test_what_is_no_image_or_sound_is_described() -> None:
    own = Figures("f")

    assert own.write([Media("image/svg+xml", b"<svg onload=x>"), Media("image/png", b"GIF")]) == [
        "\\[image/svg+xml, 14 bytes\\]",
        "\\[image/png, 3 bytes\\]",
    ]
    assert not own.files


def test_a_result_that_is_a_table_is_one() -> None:
    with ScriptedWire([call("frame", n=30), "Done."]) as wire:
        chat = Chat(wire=wire, tools=[frame])
        chat.send("Go.")
    text = exported(chat)

    assert "The result, 20 of 30 rows:\n\n| n\\|&lt;b> | name |\n| --- | --- |\n| 0 | x |\n" in text
    assert "| 19 | x |\n\n*… 10 rows more*\n\nText of the result:\n\n```text" in text


def test_a_table_that_was_withheld_is_in_no_export() -> None:
    with ScriptedWire([call("guarded"), "Done."]) as wire, ScriptedApprover([Withheld("mine")]) as approver:
        chat = Chat(wire=wire, tools=[guarded], approver=approver)
        chat.send("Go.")

    assert SECRET not in exported(chat)
    assert "The user withheld its result. Reason: mine" in exported(chat)


def test_the_totals_have_the_cost() -> None:
    text = as_markdown([make_turn(number, node=f"n_{number}") for number in range(2)])
    rows = dict(line.removeprefix("| ").split(" | ", 1) for line in text.partition("## Totals")[2].splitlines()[4:])

    assert list(rows) == ["model `scripted:tiny`", "tool `price`", "tool `order`", "all, from prompt to answer"]
    assert re.fullmatch(
        r"2 turns \| [\d,]+ \| [\d,]+ \| about \\\$0\.0\d{3} \| .* \|", rows["all, from prompt to answer"]
    )
    assert rows["model `scripted:tiny`"].startswith("4 requests | ")
    assert rows["tool `price`"].startswith("2 calls |  |  |  | ")


def test_a_document_names_its_notebook_its_dates_and_what_it_leaves_out() -> None:
    with ScriptedWire(["One.", "Two."]) as wire:
        chat = Chat(wire=wire)
        chat.rerun(chat.send("Ask &`price` about $`df`, @`price` too."))
    turn = chat.tree.active_path[0].turn
    assert turn is not None
    assert turn.started
    today = dt.datetime.fromtimestamp(turn.started).date().isoformat()

    first, facts, others, *_ = as_markdown([turn], origin=Origin("my_birds", 1)).split("\n\n")
    whole = as_markdown([turn])

    assert first == "# my_birds: a chat with `scripted`"
    assert facts == f"*{today} · 1 turn of the active branch*"
    assert others.startswith("1 other version or turn of another branch is not in this document: `%chat branch`")
    assert whole.startswith("# A chat with `scripted`\n\n*")
    assert "not in this document" not in whole
    assert "> Ask `` &`price` `` about `` $`df` ``, @`price` too." in whole


def test_the_time_of_all_turns_leaves_out_what_they_waited_for_the_person() -> None:
    turn = make_turn(1, node="n_1")
    ended = next(event for event in turn.log if isinstance(event, TurnEnded))
    ended.seconds, ended.waited = 25.0, 22.0

    assert "| 3.0 s (+ 22.0 s waiting for you) |" in as_markdown([shareable_turn(turn)])


def test_no_document_has_the_folders_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    text = (
        'In /home/ada/work it says:\n  File "/home/ada/work/a b.py", line 3, in f\n'
        "File /opt/lib/python3/x.py:10, in g(y)\nbut /home/adam is another one, and ~/c a third."
    )

    @tool(run="auto")
    def read() -> str:
        "Read."
        return text

    with ScriptedWire([call("read"), f"As {text}"]) as wire:
        chat = Chat(wire=wire, tools=[read])
        turn = chat.send(text)
    written = as_markdown([shareable_turn(turn)])

    assert "/home/ada/" not in written
    assert "/opt/lib" not in written
    assert written.count("In \\~/work it says") + written.count("In ~/work it says") == 3
    assert 'File "a b.py", line 3, in f' in written
    assert "File x.py:10, in g(y)" in written
    assert "/home/adam" in written

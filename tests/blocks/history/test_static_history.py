from __future__ import annotations

import re

from nbtool.blocks.history.static_history import COLLAPSED_HISTORY, HTML_LIMIT, MAX_LINES, TURN_LIMIT, mimebundle
from nbtool.blocks.history.tree_rows import tree_rows
from nbtool.blocks.history.usage_totals import totals
from nbtool.chat.conversation.tree import Tree
from nbtool.chat.turn import Turn
from nbtool.events import CallFinished
from tests.history_of_many import grow

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&{{}}$x$"
TAGS = re.compile(r"<(\w+)")
HARMLESS = {
    "details", "summary", "div", "table", "tr", "td", "code", "pre", "span", "strong", "em", "p", "ul", "ol", "li", "a",
    "h3", "h4", "h5", "h6", "blockquote", "br", "hr",
}  # fmt: skip


def render_history(tree: Tree[Turn]) -> dict[str, str]:
    turns = [turn for node in tree.nodes() for turn in node.versions]
    known = {turn.turn_id: turn for turn in turns}
    return mimebundle(tree_rows(tree.roots, {node.node_id for node in tree.active_path}), totals(turns), known)


def build_tree(count: int) -> Tree[Turn]:
    tree: Tree[Turn] = Tree()
    grow(tree, count)
    return tree


def test_one_turn_is_reported_in_the_singular() -> None:
    assert "History when this cell ran: 1 turn ·" in render_history(build_tree(1))["text/html"]


def test_a_conversation_is_reported_with_its_totals_versions_and_branches() -> None:
    html = render_history(build_tree(50))["text/html"]

    assert html.startswith(f"<!-- {COLLAPSED_HISTORY} --><details")
    assert "History when this cell ran: 43 turns, 7 other versions · " in html
    assert " tokens of all versions" in html
    assert "50 calls, 10 not done" in html
    assert " · branch · " in html
    assert "This is the answer to question 49." in html
    assert render_history(build_tree(30))["text/html"].count("Another version: ") == 4


def test_a_turn_in_which_every_call_failed_has_no_tick() -> None:
    tree = build_tree(1)
    (turn,) = next(iter(tree.nodes())).versions
    calls = [event for event in turn.log if isinstance(event, CallFinished)]
    calls[0].status = "error"
    some = render_history(tree)["text/plain"].splitlines()[1]
    for call in calls:
        call.status = "error"
    each = render_history(tree)["text/plain"].splitlines()[1]

    assert some.startswith("✓ 1. ")
    assert "2 calls, 1 failed" in some
    assert each.startswith("! 1. ")


def test_a_turn_in_which_every_call_was_denied_has_no_tick_either() -> None:
    tree = build_tree(1)
    (turn,) = next(iter(tree.nodes())).versions
    for call in (event for event in turn.log if isinstance(event, CallFinished)):
        call.status = "denied"
    line = render_history(tree)["text/plain"].splitlines()[1]

    assert line.startswith("⊘ 1. ")
    assert "2 calls, 2 denied" in line


def test_no_text_of_a_message_becomes_an_element() -> None:
    tree = build_tree(8)
    for node in tree.nodes():
        for turn in node.versions:
            for event in turn.log:
                if isinstance(event, CallFinished):
                    event.name = event.shown = event.reason = HOSTILE
    html = render_history(tree)["text/html"]

    assert set(TAGS.findall(html)) <= HARMLESS
    assert not re.search(r"<[^>]*\son\w+=", html)
    assert "&lt;script&gt;" in html


def test_a_thousand_turns_stay_within_the_limit_and_what_is_left_out_is_counted() -> None:
    made = render_history(build_tree(1_000))

    assert len(made["text/html"].encode()) <= HTML_LIMIT + TURN_LIMIT
    assert "earlier turns are not listed" in made["text/html"]
    assert made["text/html"].count("Question ") >= MAX_LINES
    assert "This is the answer to question 999." in made["text/html"]
    assert len(made["text/plain"].splitlines()) < 60

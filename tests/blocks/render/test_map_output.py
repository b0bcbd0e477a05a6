from __future__ import annotations

from typing import Any

from nbtool.blocks.map_protocol import MapData
from nbtool.blocks.render.map_output import BAD_STYLE, STOPPED, map_mimebundle


def ended(**changes: Any) -> MapData:
    data: Any = {
        "status": "completed",
        "done": 1_000,
        "total": 1_000,
        "label": "1,000 of 1,000 prompts",
        "facts": [
            {"kind": "before", "text": "30 answered before"},
            {"kind": "tokens", "text": "12,000 tokens"},
            {"kind": "cost", "text": "about $0.0120"},
            {"kind": "seconds", "text": "3 min 20 s"},
        ],
        "failures": [],
        "other_failures": 0,
        "reason": "",
        "fix": "",
        **changes,
    }
    return data


def test_a_map_is_saved_as_text_and_as_html_with_all_of_its_facts() -> None:
    bundle = map_mimebundle(ended())

    assert set(bundle) == {"text/html", "text/plain"}
    assert bundle["text/plain"] == (
        "✓ 1,000 of 1,000 prompts · 30 answered before\n12,000 tokens · about $0.0120 · 3 min 20 s"
    )
    for text in ("✓ 1,000 of 1,000 prompts", "30 answered before", "12,000 tokens", "about $0.0120", "3 min 20 s"):
        assert text in bundle["text/html"]


def test_failures_are_listed_with_their_numbers_and_nothing_looks_well() -> None:
    facts: Any = [{"kind": "failed", "text": "✕ 9 failed"}]
    bundle = map_mimebundle(ended(facts=facts, failures=[{"text": "Bad.", "count": 6}], other_failures=3))

    assert bundle["text/plain"] == (
        "1,000 of 1,000 prompts · ✕ 9 failed\n  6 failed: Bad.\n  3 failed with other messages"
    )
    assert "<li>6 failed: Bad.</li><li>3 failed with other messages</li>" in bundle["text/html"]
    assert f'<span style="{BAD_STYLE}">✕ 9 failed</span>' in bundle["text/html"]


def test_a_stopped_map_says_so_and_why() -> None:
    by_person = map_mimebundle(ended(status="stopped", label="10 of 1,000 prompts", facts=[]))
    by_limit = map_mimebundle(
        ended(status="stopped", label="10 of 1,000 prompts", facts=[], reason="No money left.", fix="Map again.")
    )

    assert by_person["text/plain"] == f"10 of 1,000 prompts\n{STOPPED}"
    assert by_limit["text/plain"] == f"10 of 1,000 prompts\nNo money left. {STOPPED} Map again."
    assert "Map again." in by_limit["text/html"]
    assert STOPPED in by_limit["text/html"]


def test_text_in_backticks_is_shown_as_code_and_is_escaped() -> None:
    bundle = map_mimebundle(ended(failures=[{"text": "Pass `<b>approver=</b>`.", "count": 1}]))

    assert "<li>1 failed: Pass <code>&lt;b&gt;approver=&lt;/b&gt;</code>.</li>" in bundle["text/html"]
    assert "1 failed: Pass `<b>approver=</b>`." in bundle["text/plain"]


def test_texts_of_others_are_text() -> None:
    text = "<img src=x onerror=alert(1)>\u202e$x^2$" + "x" * 10_000
    bundle = map_mimebundle(ended(status="stopped", reason=text, failures=[{"text": text, "count": 1}]))

    assert "<img" not in bundle["text/html"]
    assert "&lt;img src=x onerror=alert(1)&gt;\\u{202e}" in bundle["text/html"]
    assert 'class="tex2jax_ignore mathjax_ignore"' in bundle["text/html"]
    assert len(bundle["text/html"]) < 2_500
    assert "\u202e" not in bundle["text/plain"]


def test_a_map_with_an_answer_that_was_cut_short_does_not_look_well() -> None:
    facts: Any = [{"kind": "cut", "text": "1 cut short by `max_rounds`"}]

    assert map_mimebundle(ended(facts=facts))["text/plain"] == "1,000 of 1,000 prompts · 1 cut short by `max_rounds`"

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool.blocks.render import markdown
from nbtool.blocks.render.mimebundle import turn_mimebundle
from nbtool.blocks.render.static_html import (
    COLLAPSED_QUESTION,
    COLLAPSED_TURN,
    HTML_LIMIT,
    TEXT_LIMIT,
    to_html,
    to_text,
)
from nbtool.events import (
    CallAsked,
    CallDecided,
    CallDelta,
    CallFinished,
    CallProgress,
    CallReady,
    CallStarted,
    Event,
    Notice,
    ReplyFinished,
    RequestStarted,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
    TurnStarted,
)
from nbtool.messages import Usage, assistant, user
from tests.blocks.turns import make_document
from tests.resolved import reference

OWN = Path(__file__).parents[3] / "js" / "tests" / "payloads" / "own.json"
PAYLOADS = json.loads(OWN.read_text(encoding="utf-8"))

TAGS = {
    "a", "blockquote", "br", "code", "details", "div", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s",
    "span", "strong", "summary", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {"a": {"href", "title", "target", "rel"}, "ol": {"start"}, "td": {"style"}, "th": {"style"}}
STYLED = {"blockquote", "div", "span", "pre", "details", "li", "summary"}
PROPERTIES = {
    "border", "border-left", "cursor", "font-size", "list-style", "margin", "margin-top", "max-height", "opacity",
    "overflow", "overflow-wrap", "padding", "text-align", "white-space",
}  # fmt: skip


VOID = ("br", "hr")
"""Elements that have no end tag; `<br />` ends itself."""


class Strict(HTMLParser):
    """Fails on every tag, attribute, style and link that is not on the list."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS
        allowed = ATTRIBUTES.get(tag, set()) | ({"style"} if tag in STYLED else set())
        for name, value in attrs:
            if name == "class":
                assert (self.open, value) == ([], "tex2jax_ignore mathjax_ignore")
                continue
            assert name in allowed or (name, value) in (("dir", "auto"), ("dir", "ltr"))
            if name == "style":
                assert {part.split(":")[0].strip() for part in (value or "").split(";") if part} <= PROPERTIES
                assert "url" not in (value or "")
            if name == "href":
                assert urlsplit(value or "").scheme in ("http", "https", "mailto")
                assert dict(attrs)["rel"] == "noopener noreferrer"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag in VOID or self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        assert data.strip() in (COLLAPSED_TURN, COLLAPSED_QUESTION)
        assert not self.open
        assert not self.text  # before all else


def parse_strictly(html: str) -> str:
    parser = Strict()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return "".join(parser.text)


def turn(text: str = "Hello", status: Any = "completed", **more: Any) -> list[Event]:
    return [
        TurnStarted("t", "practice:default", user("hi"), 1.0), RequestStarted(1), TextDelta(text),
        ReplyFinished(1, assistant(text), "end", Usage(1200, 34), True),
        TurnEnded(status, text, Usage(1200, 34), 1, 0, 2.5, **more),
    ]  # fmt: skip


def events_with(payload: str) -> list[Event]:
    """One turn that carries the payload in every field that a model, a tool or a server controls."""
    return [
        TurnStarted("t", payload, user(payload), 1.0), RequestStarted(1), ThinkingDelta(payload), TextDelta(payload),
        CallDelta("0", name=payload, call_id="c1"), CallDelta("0", arguments=payload, call_id="c1"),
        CallReady("c1", payload, 1, "$VAR_REF" + payload, {payload: reference(payload, payload)}, (payload,)),
        CallAsked("c1", "run", "d", payload, payload, payload),
        CallDecided("c1", "run", "d", "approved", payload, payload), CallStarted("c1", 1.0, payload),
        CallProgress("c1", payload),
        CallFinished("c1", payload, 1, "error", payload, payload + "!", payload, 0.1),
        Notice(payload, "warning"), TurnEnded("error", payload, Usage(), 1, 1, 1.0, payload),
    ]  # fmt: skip


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.promise("inert-text")
@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_that_a_model_writes_becomes_more_than_text(payload: str) -> None:
    text = parse_strictly(to_html(make_document(*events_with(payload))))

    assert "Error." in text


MARKUP = [
    "<", ">", "&", '"', "'", "`", "```", "*", "**", "_", "[", "](", ")", "![", "\n", "\n\n", "|", "|-|\n", "> ", "- ",
    "1. ", "#", "---", "~~", "\\", "javascript:alert(1)", "https://a.example/", "data:text/html,", "<script>",
    "</script>", "<!--", "-->", "<img src=x onerror=alert(1)>", "<svg/onload=", "&#x3c;", "&lt;", "$$", "\\(", "\u202e",
    "\0", "x", " ",
]  # fmt: skip


@pytest.mark.promise("inert-text")
@settings(max_examples=100)
@given(
    payload=st.lists(st.sampled_from(MARKUP) | st.sampled_from(PAYLOADS) | st.text(max_size=4), max_size=10).map(
        "".join
    )
)
def test_no_composition_of_markup_becomes_more_than_text(payload: str) -> None:
    assert "Error." in parse_strictly(to_html(make_document(*events_with(payload))))


@pytest.mark.promise("inert-text")
@settings(max_examples=100)
@given(text=st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters="\\`*_[]!~#&|"), max_size=40))
def test_a_line_without_markdown_is_shown_letter_by_letter(text: str) -> None:
    line = f"so: {text.strip()} ."

    shown = parse_strictly(to_html(make_document(*turn(line))))

    assert " ".join(line.split()) in " ".join(shown.split())


@pytest.mark.promise("inert-text")
@pytest.mark.parametrize(
    "payload", [payload for payload in PAYLOADS if payload.startswith("<") and payload[:5] != "<http"]
)
def test_html_in_a_reply_is_shown_as_it_was_written(payload: str) -> None:
    words = parse_strictly(to_html(make_document(*turn("so: " + payload.replace("\n", " ")))))

    assert "<" in words


def test_a_finished_turn_reads_as_reply_calls_and_one_line_of_facts() -> None:
    html = to_html(make_document(
        TurnStarted("t", "practice:default", user("hi"), 1.0), RequestStarted(1),
        CallDelta("0", name="price", arguments='{"ticker": "ACME"}', call_id="c1"),
        CallReady("c1", "price", 1, '{"ticker": "ACME"}'), CallStarted("c1", 1.0),
        CallFinished("c1", "price", 1, "ok", "4.2", seconds=0.31), RequestStarted(2), TextDelta("It is **4.2**."),
        ReplyFinished(2, assistant("It is **4.2**."), "end", Usage(1200, 34), True),
        TurnEnded("completed", "It is 4.2", Usage(1200, 34, cost=0.0123), 2, 1, 65.0),
    ))  # fmt: skip

    text = parse_strictly(html)
    assert "It is <strong>4.2</strong>." in html
    assert '✓ price(ticker="ACME") · 0.3 s' in text
    assert "practice:default · 2 rounds · 1 call · 1,234 tokens · $0.0123 · 1 min 5 s" in text


@pytest.mark.parametrize("status", ["completed", "cancelled", "error", "timeout", "parked"])
def test_nothing_in_a_saved_turn_looks_alive(status: str) -> None:
    events = [*turn("Hello", status)[:-1], CallDelta("0", name="price", arguments="{}", call_id="c1"),
              CallAsked("c1", "run", "d", "price", "{}"), TurnEnded(status, "", Usage(), 1, 1, 1.0)]  # type: ignore[arg-type]  # fmt: skip

    html = to_html(make_document(*events))

    parse_strictly(html)
    assert not any(word in html for word in ("<button", "<input", "Approve", "Stop<"))


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("cancelled", "Stopped before it was finished."),
        ("timeout", "The turn ran out of time."),
        ("parked", "Parked: a call waits for a decision (see %chat approvals)."),
    ],
)
def test_a_turn_that_is_not_completed_says_so(status: str, said: str) -> None:
    made = make_document(*turn("Hello", status))

    assert said in parse_strictly(to_html(made))
    assert said in to_text(made)


def test_a_reply_that_was_cut_off_is_marked() -> None:
    made = make_document(RequestStarted(1), TextDelta("So"), TurnEnded("cancelled", "So", Usage(), 1, 0, 1.0))

    assert "[cut off here]" in parse_strictly(to_html(made))
    assert "[cut off here]" in to_text(made)


def test_dollars_stay_dollars() -> None:
    html = to_html(make_document(*turn("It costs $5 or $6, see $df and $$x$$")))

    assert re.sub("</?code[^>]*>", "", html).count("It costs $5 or $6, see $df and $$x$$") == 1
    assert html.startswith('<div class="tex2jax_ignore mathjax_ignore">')


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("[docs](https://a.example/b)", '>docs</a> <span style="opacity:.75">(a.example)</span>'),
        ("https://a.example/b.", '>https://a.example/b</a>.'),
        ("[https://a.example/b](https://a.example/b)", ">https://a.example/b</a></p>"),
        ("[your bank](https://xn--bnk-hoa.example)", "(xn--bnk-hoa.example)"),
        ("![chart](https://a.example/c.png)", '>image: chart</a> <span style="opacity:.75">(a.example)</span>]'),
        ("[mail](mailto:a@b.example)", '>mail</a> <span style="opacity:.75">(a@b.example)</span>'),
        ("[here](notebooks/a.ipynb)", "<p>[here](notebooks/a.ipynb)</p>"),
    ],
)  # fmt: skip
def test_a_link_says_where_it_leads_and_an_image_is_only_a_link(text: str, html: str) -> None:
    assert html in to_html(make_document(*turn(text)))


def test_tasks_footnotes_and_other_directions_are_shown_as_on_the_page() -> None:
    html = markdown.render("- [x] *done*\n- [ ] open\n\nso[^1] and [^2] `[^1]`\n\n[^1]: as said")

    assert html.count("list-style:none") == 2
    assert [line for line in ("☑ <em>done</em>", "☐ open") if line in html] == ["☑ <em>done</em>", "☐ open"]
    assert "so<sup>1</sup> and [^2] <code>[^1]</code>" in html
    assert "<p><sup>1</sup> as said</p>" in html
    assert "dir=" not in html
    assert '<p dir="auto">\u05e9\u05dc\u05d5\u05dd</p>' in markdown.render("\u05e9\u05dc\u05d5\u05dd")


def test_a_definition_far_below_changes_nothing_above() -> None:
    text = parse_strictly(to_html(make_document(*turn("see [x]\n\n[x]: https://evil.example"))))

    assert "see [x]" in text


def test_a_hidden_character_in_arguments_is_visible() -> None:
    events = [CallDelta("0", name="run", arguments='{"code": "a\u202eb"}', call_id="c1"), *turn()[-1:]]

    assert "a\\u{202e}b" in parse_strictly(to_html(make_document(*events)))


def huge() -> list[Event]:
    calls: list[Event] = []
    for number in range(40):
        calls += [
            CallDelta(f"{number}", name="price", arguments=json.dumps({"q": "<&>" * 20_000}), call_id=f"c{number}"),
            CallFinished(f"c{number}", "price", 1, "ok", "<&>\n" * 100_000),
        ]
    return [RequestStarted(1), *calls, RequestStarted(2), TextDelta("word & <tag> " * 40_000), *turn()[-1:]]


def test_what_is_saved_of_a_huge_turn_stays_within_its_limits_and_marks_every_cut() -> None:
    bundle = turn_mimebundle(make_document(*huge()))

    assert len(bundle["text/html"].encode()) <= HTML_LIMIT
    assert len(bundle["text/plain"].encode()) <= TEXT_LIMIT
    assert len(bundle["text/html"].encode()) + len(bundle["text/plain"].encode()) <= 200_000
    assert "characters more" in parse_strictly(bundle["text/html"])
    assert "characters more" in bundle["text/plain"]


def test_a_turn_of_thousands_of_calls_keeps_its_beginning_and_its_end() -> None:
    calls: list[Event] = [
        event
        for number in range(3000)
        for event in (CallDelta(f"{number}", name=f"call_{number}", call_id=f"c{number}"),)
    ]

    bundle = turn_mimebundle(
        make_document(RequestStarted(1), *calls, RequestStarted(2), TextDelta("The end."), *turn()[-1:])
    )

    text = parse_strictly(bundle["text/html"])
    assert len(bundle["text/html"].encode()) <= HTML_LIMIT
    assert "call_0(" in text
    assert "The end." in text
    assert "more blocks" in text


@pytest.mark.parametrize(
    "text",
    [">" * 5000 + " x", "- " * 2000 + "x", "[" * 3000, "*" * 5000 + "a", "`" * 3001, "|" * 3000 + "\n" + "|-" * 3000],
)
@pytest.mark.timeout(20)
def test_markup_that_no_person_writes_is_still_shown(text: str) -> None:
    assert parse_strictly(to_html(make_document(*turn(text))))


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("Pass `--approve auto`.", "Pass <code>--approve auto</code>."),
        ("&`bare` or `x`", "&amp;`bare` or <code>x</code>"),
        ("$`df` and `` `x` ``", "$`df` and `` <code>x</code> ``"),
        ("`<script>alert(1)</script>`", "<code>&lt;script&gt;alert(1)&lt;/script&gt;</code>"),
        ("`a` **b** [c](http://d) <b>e</b>", "<code>a</code> **b** [c](http://d) &lt;b&gt;e&lt;/b&gt;"),
        ("an open ` and\nanother `", "an open ` and\nanother `"),
        ("`" * 9, "`" * 9),
    ],
)
def test_code_in_a_notice_is_code_and_nothing_else_in_it_is_markup(text: str, html: str) -> None:
    page = to_html(make_document(*turn("Hi.")[:-1], Notice(text), *turn()[-1:]))

    assert f">{html}</div>" in page


def test_a_notice_full_of_code_is_shown_with_a_bounded_number_of_spans() -> None:
    page = to_html(make_document(*turn("Hi.")[:-1], Notice("`a` " * 900), *turn()[-1:]))

    assert 0 < page.count("<code>") <= 50
    assert page.count("a</code>") + page.count("`a`") >= 900

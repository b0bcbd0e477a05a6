"""Markdown that is rewritten says the same, and stays in its place."""

from __future__ import annotations

import html
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from nbtool.blocks.render import markdown
from nbtool.blocks.render.markdown_source import escape, fenced, quoted, rewrite, span

PLAIN = [
    "# Title #\n\nHello *you*, **you** and ~~them~~; `co|de`, snake_case and _x_.",
    "- a\n- b\n  1. x\n  2. y\n\n     para\n- c\n\n* other\n\n7. seven\n8. eight",
    "| a | b |\n|:--|--:|\n| `c\\|d` | *e* \\| f |\n| 1 | |",
    "> quote\n> # Heading\n>\n> - x\n>   > deeper\n\n```python\nx = '```'\n  y \n```\n\n    indented",
    "a\\\nb  \nc\n\n---\n\nSetext\n===\n\nR&amp;D &lt; &copy; C:\\Users\\x, a < b, 2 * 3 * 4, 1\\. no list",
    "[text](https://ok.example/a_b?x=1&y=2) <https://auto.example> https://bare.example/a_b, mail <a@b.example>",
    "- x\n\n      code\n\n  ***bold*and**\n- ```\n  fence\n  ```\n- | a |\n  |---|\n  | b |",
    "1) one\n2) two\n\n1. again\n\n+ plus\n- minus\n* star",
]


@pytest.mark.parametrize("text", PLAIN)
def test_plain_markdown_renders_the_same(text: str) -> None:
    assert normal(markdown.render(raised(rewrite(text)))) == normal(markdown.render(text))


def raised(text: str) -> str:
    """Undo the lowering of headings."""
    return re.sub(r"^((?:> |- |\d+\. )*)####", r"\1#", text, flags=re.MULTILINE)


def normal(rendered: str) -> str:
    without_hosts = re.sub(r'\s*<span style="opacity:.75">.*?</span>|\s\((?:ok\.)?example\)', "", rendered)
    return re.sub(r" title=\"[^\"]*\"|\s+\(ok\.example\)|(?<=>)\s+(?=<)", "", without_hosts)


FRAGMENTS = [
    "# Forged", "## 7. Prompt", "</details>", "<details><summary>x</summary>", "<script>alert(1)</script>", "<!-- x",
    "<img src=x onerror=alert(1)>", "![x](https://evil.example/x.png)", "[x](javascript:alert(1))", "```", "~~~~",
    "`", "[a]: https://evil.example", "[a]", "![a]", "| a | b |", "|---|---|", "---", "===", "> ", "- ", "1. ",
    "    ", "\t", "&#10;# Forged", "&lt;b&gt;", "&#60;b>", "<https://evil.example>", "https://evil.example/a_b*c*",
    "$x$", "$$", "\\(", "\\", "*", "**", "_", "__", "~~", "!", "[", "](", "](https://evil.example)", ")",
    "$![x](https://evil.example)$", "$[x](javascript:a)$", "\\href{javascript:a}{b}", "\u202e", "\r\n", "\u2028",
    "\n", "\n\n", "{{x}}", "{raw} html", "```{include} /etc/passwd", ":::{note}", "@import \"x\"", "%%html", "word",
    "a_b", " ", "$`a`", "&`b`", "<a\nhref=x>", "<?php", "]]>",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Use &`select` on $`birds`, not `$birds`.", "Use `` &`select` `` on `` $`birds` ``, not `$birds`."),
        ("- &`files.read` of $`a` and $`b`", "- `` &`files.read` `` of `` $`a` `` and `` $`b` ``"),
        ("costs 5$`x`, \\$`y` and $`not a name`", "costs 5\\$`x`, \\$`y` and \\$`not a name`"),
        ("| a |\n|---|\n| $`b` |", "| a |\n| --- |\n| `` $`b` `` |"),
    ],
)
def test_a_mention_in_a_prompt_is_one_span_of_code(text: str, written: str) -> None:
    assert rewrite(text, has_mentions=True) == written


def test_a_reply_has_no_mentions() -> None:
    assert rewrite("See $`birds`.") == "See \\$`birds`."


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("seed", range(20))
def test_no_text_leaves_its_place(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(60):
        text = "".join(chance.choice(FRAGMENTS) for _ in range(chance.randrange(1, 30)))
        check(rewrite(text), text)
        check(rewrite(text, has_mentions=True), text)


@settings(max_examples=120)
@given(
    text=st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=20).map("".join), is_prompt=st.booleans()
)
def test_no_composition_of_markup_leaves_its_place(text: str, is_prompt: bool) -> None:
    check(rewrite(text, has_mentions=is_prompt), text)


@settings(max_examples=200)
@given(text=st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40) | st.sampled_from(FRAGMENTS))
def test_an_escaped_text_is_read_back_letter_by_letter(text: str) -> None:
    (paragraph,) = [token for token in MarkdownIt("commonmark").parse(f"so {escape(text)} .") if token.type == "inline"]

    assert {child.type for child in paragraph.children or ()} <= {"text", "text_special", "softbreak"}
    if text.isprintable():
        assert "".join(child.content for child in paragraph.children or ()) == f"so {text} ."


def check(written: str, text: str) -> None:
    document = f"# Own\n\n{quoted(written)}\n\n{written}\n\n# End\n"
    tokens = MarkdownIt("gfm-like", {"html": True, "linkify": False}).enable("table").parse(document)
    top = [token for token in tokens if token.level == 0 and token.type == "heading_open" and token.tag < "h4"]
    inline = [child for token in tokens for child in token.children or ()]

    assert len(top) == 2, (text, written)
    assert all(token.tag in ("h4", "h5", "h6") for token in tokens if token.type == "heading_open" and token not in top)
    assert not [token for token in (*tokens, *inline) if "html" in token.type or token.type == "image"], (text, written)
    links = [str(child.attrs["href"]) for child in inline if child.type == "link_open"]
    assert all(link.startswith(("http://", "https://", "mailto:")) for link in links), (text, written)
    assert not re.search("[\u202e\u2028\r]", written)
    assert tokens[-3].tag == "h1"
    assert not re.search(r"^\s*(?:@import|:::|%%|\{)", outside_code(written), re.MULTILINE), (text, written)


def outside_code(text: str) -> str:
    return re.sub(r"^([> ]*)(`{3,})[^\n]*\n.*?^[> ]*\2$", "", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("<b>x</b>", "&lt;b>x&lt;/b>"),
        ("![a](https://x.example/p.png)", "[image: a](<https://x.example/p.png>) (x.example)"),
        ("[my bank](https://evil.example)", "[my bank](<https://evil.example>) (evil.example)"),
        ("[x](javascript:alert(1))", "\\[x\\](javascript:alert(1))"),
        ("```{include} x\ny\n```", "```\ny\n```"),
        ("# One\n###### Six", "#### One\n\n###### Six"),
        ("&#10;# Forged", "\\# Forged"),
        ("\\(a<b\\) and $x_1$ for $5 and $6", "$a\\lt b$ and $x_1$ for \\$5 and \\$6"),
        ("$$\nE = mc^2\n$$", "$$E = mc^2$$"),
        ("$\\href{x}{y}$", "\\$\\\\href{x}{y}\\$"),
    ],
)
def test_what_is_rewritten(text: str, written: str) -> None:
    assert rewrite(text) == written


def test_text_beyond_the_limits_is_code_and_says_so() -> None:
    written = rewrite("a\n\n" * 3_000 + "</details>\n# Forged")

    assert written.endswith("it has more markup than the limit.*")
    check_end = written[written.rindex("```text") :]
    assert "</details>\n# Forged\n```" in check_end


@pytest.mark.parametrize("ticks", range(12))
def test_fences_and_spans_are_longer_than_any_inside(ticks: int) -> None:
    inner = "`" * ticks
    (fence,) = MarkdownIt("commonmark").parse(fenced(f"a\n{inner}\nb", "text"))
    (child,) = MarkdownIt("commonmark").parseInline(span(f"{inner}a{inner}"))[0].children or []

    assert fence.content == f"a\n{inner}\nb\n"
    assert (child.type, child.content) == ("code_inline", f"{inner}a{inner}")


@pytest.mark.parametrize("text", ["a_b _c_ `d` *e* [f](g) <h> &amp; \\i \\( $j$ ~k~ | !", "\\begin{x}", "a\nb"])
def test_escaped_text_is_read_as_it_is(text: str) -> None:
    rendered = MarkdownIt("gfm-like", {"html": True, "linkify": False}).renderInline(escape(text))

    assert html.unescape(re.sub("<[^>]*>", "", rendered)) == text.replace("\n", " ")

from __future__ import annotations

from nbtool.blocks.fold.provider_texts import MAX_LINKS, provider_call_text, sources_text
from nbtool.messages import Citation, Link, ProviderCall

MANY = tuple(Link(f"https://x.example/{number}", f"Page {number}") for number in range(MAX_LINKS + 3))


def test_pages_beyond_the_limit_are_counted() -> None:
    lines = provider_call_text(ProviderCall("web_search", "rain", links=MANY)).split("\n")

    assert len(lines) == MAX_LINKS + 3
    assert lines[-1] == "and 3 more"


def test_sources_are_listed_once_and_beyond_the_limit_counted() -> None:
    lines = sources_text([Citation(link, text) for link in MANY for text in ("a", "b")]).split("\n")

    assert lines[2] == "1. [Page 0](<https://x.example/0>)"
    assert lines[-1] == "and 3 more"
    assert sources_text([]) == ""


def test_a_title_is_no_markup() -> None:
    text = sources_text([Citation(Link("https://x.example/", "](https://evil.example) <img src=x>\n# Big"))])

    assert "](https://evil" not in text.replace("\\](https", "").replace("\\]\\(https", "")
    assert "<img" not in text.replace("\\<img", "")
    assert "\n#" not in text

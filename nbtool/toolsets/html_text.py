"""Convert a page's HTML to text, in a separate process: parsing untrusted HTML may take any time and memory.

Run as a script, by its path: it reads the page from stdin and writes JSON. Until it has read the path of modules from
there too, it imports nothing of nbtool, which need not be installed where this Python looks by itself.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin

MAX_LINK_CHARS = 500
"""Maximum number of characters of a link's URL; longer ones are omitted."""

MAX_LABEL_CHARS = 1_000
"""Maximum number of characters of a title or of a link's text."""

MAX_MEMORY_BYTES = 1 << 30
"""Maximum memory of the process in bytes."""

_SKIPPED_ELEMENTS = frozenset(
    {"head", "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "select"}
)
_BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "br", "caption", "dd", "details", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li",
    "main", "nav", "ol", "p", "pre", "section", "summary", "table", "tr", "ul",
})  # fmt: skip
_CELLS = frozenset({"td", "th"})
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_NO_BREAK_SPACE = "\xa0"
"""Represents a space of preformatted text, which is not collapsed."""


def read_html(data: bytes, base: str, *, links: bool) -> tuple[str, str, list[tuple[str, str]]]:
    """Return the title, the text and the links with their texts of a UTF-8 page."""
    from lxml import etree  # noqa: PLC0415 - needed only when a page is read

    from nbtool.text import shorten  # noqa: PLC0415 - found once `path` is set

    # linear time, bounded depth, no network
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=False, no_network=True, remove_comments=True, remove_pis=True)
    root = etree.fromstring(data, parser) if data.strip() else None
    if root is None:
        return "", "", []
    title = shorten(root.findtext(".//title") or "", MAX_LABEL_CHARS)
    text = "".join(_text_fragments(etree.iterwalk(root, events=("start", "end"))))
    lines = (re.sub(" +", " ", line).strip(" |") for line in text.split("\n"))
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).replace(_NO_BREAK_SPACE, " ")
    found = _links(root, base) if links else {}
    return title, text.strip("\n"), [(target, shorten(label, MAX_LABEL_CHARS)) for target, label in found.items()]


def _text_fragments(walk: Any) -> Iterator[str]:
    """Yield the visible text, with a line end around each block."""
    in_pre = 0
    for event, element in walk:
        tag, is_start = element.tag, event == "start"
        if tag == "pre":
            in_pre += 1 if is_start else -1
        if not is_start:
            yield "\n" if tag in _BLOCKS and tag != "br" else " | " if tag in _CELLS else ""
            yield _collapse_whitespace(element.tail, in_pre)
        elif tag in _SKIPPED_ELEMENTS or "hidden" in element.attrib or _HIDDEN.search(element.get("style", "")):
            walk.skip_subtree()
        else:
            yield "\n" if tag in _BLOCKS else ""
            yield _collapse_whitespace(element.text, in_pre)


def _collapse_whitespace(text: str | None, in_pre: int) -> str:
    if not text:
        return ""
    return text.replace("\t", "    ").replace(" ", _NO_BREAK_SPACE) if in_pre else re.sub(r"\s+", " ", text)


def _links(root: Any, base: str) -> dict[str, str]:
    labels: dict[str, str] = {}
    for element in root.iterfind(".//a[@href]"):
        try:
            target = urljoin(base, element.get("href").strip())
        except ValueError:
            continue
        if target.startswith(("http://", "https://")) and len(target) <= MAX_LINK_CHARS and target.isprintable():
            labels.setdefault(target, "".join(element.itertext()))
    return labels


def _limit_memory() -> None:
    try:
        import resource  # noqa: PLC0415 - not available on Windows
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))


def main() -> None:
    """Read a line of JSON (`path`, `base`, `links`) and the page after it; write the result of `read_html`."""
    request = json.loads(sys.stdin.buffer.readline())
    sys.path[:] = request["path"]
    _limit_memory()
    result = read_html(sys.stdin.buffer.read(), request["base"], links=request["links"])
    sys.stdout.buffer.write(json.dumps(result).encode())


if __name__ == "__main__":
    main()

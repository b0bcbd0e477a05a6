"""The documentation site lists every document: `make site`, which takes minutes, fails on one that it does not."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_document_is_in_a_list_of_contents_of_the_site() -> None:
    index = (ROOT / "docs" / "site" / "index.md").read_text(encoding="utf-8")
    lists = re.findall(r"^```\{toctree\}\n(.*?)^```$", index, re.DOTALL | re.MULTILINE)
    listed = {line.strip() for text in lists for line in text.splitlines()}

    documents = {f"docs/{document.stem}" for document in (ROOT / "docs").glob("*.md")}

    assert len(documents) > 10
    assert documents <= listed

"""docs/maps.md: its code runs as it is written, and again, as the page says."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "maps.md").read_text("utf-8")
CODE, *_ = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)  # the others need a provider
(QUERY,) = re.findall(r"`(SELECT [^`]*)`", PAGE)


def test_the_code_of_the_page_runs_and_its_query_lists_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(CODE, names)
    with closing(sqlite3.connect("answers.sqlite")) as connection:
        failed = connection.execute(QUERY).fetchall()
        (count,) = connection.execute("SELECT count(*) FROM answers").fetchone()

    assert len(names["batch"].values) == len(names["texts"]) == count
    assert names["batch"].errors == failed == []
    assert names["batch"][0].turn_id

"""The tables of docs/behaviours.md (what providers refuse) and docs/history.md (what is read from their prompt caches).

python -m tests.providers            # run all rows in all their dialects, and print the tables
python -m tests.providers --write    # write them into the pages, as `make bench BENCH=behaviours` does
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.providers.behaviour import TEXT_DIALECTS, Topic
from tests.providers.behaviours import BEHAVIOURS
from tests.providers.cached_conversations import cache_table, write_cache_table
from tests.providers.conversations import LABELS, converse
from tests.providers.observations import OBSERVATIONS

PAGE = Path(__file__).parents[2] / "docs" / "behaviours.md"
BEGIN, END = "<!-- tables: make bench BENCH=behaviours -->\n", "<!-- end of tables -->\n"


def tables() -> str:
    """Run everything, and return the tables, one for each topic."""
    return "\n".join(_table(topic, lines) for topic in Topic if (lines := list(_lines(topic))))


def _table(topic: Topic, lines: list[str]) -> str:
    head = " | ".join(LABELS[dialect] for dialect in TEXT_DIALECTS)
    title = f"{topic.value[0].upper()}{topic.value[1:]}"
    return f"## {title}\n\n| who | what | {head} | reported |\n|---|---|---|---|---|---|---|\n" + "".join(lines)


def _lines(topic: Topic) -> Iterator[str]:
    for row in BEHAVIOURS:
        if row.topic is topic:
            results = {dialect: converse(row, dialect).result for dialect in row.dialects or (row.dialect,)}
            yield _line(row.provider, f"{row.name} ({row.status})", results, f"{row.date}, {row.source}")
    for one in OBSERVATIONS:
        if one.topic is topic:
            results = {dialect: one.observe(dialect) for dialect in one.dialects}
            yield _line(one.provider, one.name, results, f"{one.date}, {one.source}")


def _line(provider: str, name: str, results: dict[str, str], reported: str) -> str:
    cells = [provider, name, *(results.get(dialect, "") for dialect in TEXT_DIALECTS), reported]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def written() -> str:
    """Return the tables of the page."""
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip() + "\n"


def main() -> None:
    """Print the tables, or write them into their pages."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NBTOOL_HOME"] = folder
        found, cached = tables(), cache_table()
    if "--write" not in sys.argv[1:]:
        sys.stdout.write(f"{found}\n{cached}\n")
        return
    write_cache_table()
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{found}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()

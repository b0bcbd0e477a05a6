from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.campaigns.faults.figures import COMMITTED, PAGE, format_lanes, format_table, read_figures
from tests.campaigns.faults.rows import ROWS, Row

ROOT = Path(__file__).parents[3]


def alternatives(pattern: str) -> list[str]:
    """Give the patterns of a pattern with a group in the names of files, one for each of the group."""
    file, colons, name = pattern.partition("::")
    group = re.search(r"\(([^()]*)\)", file)
    if not group:
        return [pattern]
    return [f"{file[: group.start()]}{one}{file[group.end() :]}{colons}{name}" for one in group[1].split("|")]


def test_the_rows_are_numbered_without_a_gap() -> None:
    assert [row.row_id for row in ROWS] == [f"C{number}" for number in range(1, 29)]


@pytest.mark.parametrize("row", [row for row in ROWS if row.tests], ids=lambda row: row.row_id)
def test_every_pattern_of_a_row_finds_a_test(row: Row) -> None:
    names = [
        f"{file.relative_to(ROOT).as_posix()}::{name}"
        for file in ROOT.glob("tests/**/test_*.py")
        for name in re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.M)
    ]
    patterns = [part for pattern in row.tests for part in alternatives(pattern)]
    unused = [pattern for pattern in patterns if not any(re.match(pattern, name) for name in names)]

    assert unused == []


def test_a_row_says_which_lanes_were_run_to_their_end() -> None:
    quick = {"lane": "quick", "tests": 1, "skipped": 1, "lanes": {"quick": 2, "nightly": 22}}
    nightly = {"lane": "nightly", "tests": 18, "skipped": 0, "lanes": {"quick": 2, "nightly": 22}}

    assert format_lanes([quick]) == "quick (nightly not run yet)"
    assert format_lanes([quick, nightly]) == "quick, nightly (stopped after 18 of 22 tests)"


def test_a_run_here_replaces_the_committed_figures_of_its_lane_unless_it_is_older_or_ran_no_test(
    tmp_path: Path,
) -> None:
    committed, latest = tmp_path / "figures.json", tmp_path / "latest"
    latest.mkdir()
    committed.write_text(json.dumps({row: {"quick": lane("quick", 5)} for row in ("C1", "C2", "C3")}))
    (latest / "C1-quick.json").write_text(json.dumps(lane("quick", 6)))
    (latest / "C1-nightly.json").write_text(json.dumps(lane("nightly", 7)))
    (latest / "C2-quick.json").write_text(json.dumps({**lane("quick", 6), "when": "2026-01-01"}))
    (latest / "C3-quick.json").write_text(json.dumps(lane("quick", 0)))

    found = {
        row: {name: run["tests"] for name, run in lanes.items()}
        for row, lanes in read_figures(committed, latest).items()
    }

    assert found == {"C1": {"quick": 6, "nightly": 7}, "C2": {"quick": 5}, "C3": {"quick": 5}}


def test_the_page_shows_the_committed_figures() -> None:
    rows = {line.split(" | ")[0] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| C")}
    table = format_table(json.loads(COMMITTED.read_text(encoding="utf-8"))).splitlines()

    assert len(rows) == len(ROWS)
    assert [line for line in table if line.startswith("| C") and line not in PAGE.read_text(encoding="utf-8")] == []


def lane(name: str, tests: int) -> dict[str, object]:
    return {"lane": name, "tests": tests, "when": "2026-01-02"}

"""The targets of the Makefile: few are documented, and whatever a page or a test names is there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z][a-z-]*):(?!=)", MAKEFILE, re.MULTILINE))
DOCUMENTED = re.findall(r"^([a-z][a-z-]*):.* ## ", MAKEFILE, re.MULTILINE)
NAMED = re.compile(r"`make ([a-z][a-z-]*)(?![\w/.-])((?: [A-Z]+=[\w\"-]+)*)")
PARAMETERS = {"lane": "LANE", "bench": "BENCH", "pictures": "PICTURES"}


def targets_named_in(text: str) -> set[str]:
    """Return the targets that a text names in spans of code, those with a parameter as what they stand for."""
    named = set()
    for target, words in NAMED.findall(text):
        given = dict(word.split("=") for word in words.split())
        value = given.get(PARAMETERS.get(target, ""), "")
        named.add(f"{target}-{value}" if value else target)
    return named


def test_what_the_pages_and_the_tests_name_is_a_target() -> None:
    files = subprocess.run(
        ["git", "ls-files", "*.md", "*.py", "*.toml", ".github"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    missing = {
        (name, target)
        for name in files
        if (ROOT / name).is_file()
        for target in targets_named_in((ROOT / name).read_text(encoding="utf-8")) - TARGETS
    }

    assert missing == set()


def test_a_contributor_chooses_among_few() -> None:
    assert len(DOCUMENTED) <= 15
    assert set(PARAMETERS) <= set(DOCUMENTED)

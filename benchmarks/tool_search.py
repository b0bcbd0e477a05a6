"""How many tokens a search of tools saves, and whether it finds the right one, with the questions of a public suite.

    python -m benchmarks.tool_search FOLDER

FOLDER has the files of the Berkeley Function Calling Leaderboard (`BFCL_v4_*.json` and `possible_answer/`), which are
not part of this project: https://github.com/ShishirPatil/gorilla/tree/main/berkeley-function-call-leaderboard. Each
question is searched among the right functions and 300 others, in the words of the person: what a model would ask for
is shorter and nearer to the name that it sees in the list.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from nbtool.errors import ToolFailed
from nbtool.tools.tool_search import CHARS_PER_TOKEN, MAX_FOUND, ToolSearch

SETS = ("simple_python", "multiple", "parallel", "live_simple", "live_multiple")
OTHERS = 300
"""Functions beside the right ones."""


@dataclass(frozen=True, slots=True)
class Case:
    """A question, and the names of the functions that answer it."""

    suite: str
    question: str
    wanted: frozenset[str]


def read_cases(folder: Path, functions: dict[str, Any]) -> Iterator[Case]:
    """Read the questions of all sets, and add their functions by name."""
    for suite in SETS:
        solutions = read_rows(folder / "possible_answer" / f"BFCL_v4_{suite}.json")
        answers = {row["id"]: row["ground_truth"] for row in solutions}
        for row in read_rows(folder / f"BFCL_v4_{suite}.json"):
            for function in row["function"]:
                functions.setdefault(function["name"], _as_tool(function))
            wanted = frozenset(next(iter(call)) for call in answers.get(row["id"], ()))
            texts = [message["content"] for message in row["question"][0] if message["role"] == "user"]
            if wanted:
                yield Case(suite, " ".join(texts), wanted)


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file of the suite."""
    yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def _as_tool(function: dict[str, Any]) -> Any:
    """Return what a search needs of a tool."""
    schema = {**function["parameters"], "type": "object"}
    spec = {"name": function["name"], "description": function["description"], "parameters": schema}
    return SimpleNamespace(**spec, offer=SimpleNamespace(schema=schema), spec=spec, unfit_reason="")


def measure(folder: Path) -> str:
    """Return the table."""
    functions: dict[str, Any] = {}
    cases = list(read_cases(folder, functions))
    chosen = random.Random(1)
    names = sorted(functions)
    found: dict[str, list[bool]] = {suite: [] for suite in SETS}
    for case in cases:
        search = _search({*chosen.sample(names, OTHERS), *case.wanted}, functions)
        found[case.suite].append(case.wanted <= _found(search, case.question))
    some = chosen.sample(names, OTHERS)
    full = sum(len(json.dumps(functions[name].spec)) for name in some) // CHARS_PER_TOKEN
    listed = len(_search(set(some), functions).listing()) // CHARS_PER_TOKEN
    rows = [f"| {suite} | {len(hits):,} | {sum(hits) / len(hits):.1%} |" for suite, hits in found.items()]
    head = [
        f"{OTHERS} of {len(functions):,} functions: {full:,} tokens of definitions, {listed:,} of the list; estimated.",
        "",
        f"| set | questions | all right functions among the first {MAX_FOUND} |",
        "|---|--:|--:|",
    ]
    return "\n".join([*head, *rows])


def _found(search: ToolSearch, question: str) -> set[str]:
    """Return the names of the definitions that a search returns; none of a question in another language."""
    try:
        text = search.find_tools(question)
    except ToolFailed:
        return set()
    return {json.loads(line)["name"] for line in text.splitlines() if line.startswith("{")}


def _search(names: set[str], functions: dict[str, Any]) -> ToolSearch:
    search = ToolSearch(is_on=True)
    search.refresh({name: functions[name] for name in sorted(names)})
    return search


if __name__ == "__main__":
    print(measure(Path(sys.argv[1])))  # noqa: T201 - the result

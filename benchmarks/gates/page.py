"""The page with the figures, docs/gate-benchmark.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.environments import ROOT
from benchmarks.gates.rows import NUMBERS, ROWS, Attacks, Row
from benchmarks.gates.totals import Totals

PAGE = ROOT / "docs" / "gate-benchmark.md"

BEGIN, END = "<!-- {name}: make bench BENCH=gates -->", "<!-- end of {name} -->"

Figures = Mapping[str, Totals]

ABOUT = (
    "nbtool {version}, CPython {python}; {tasks} tasks and {attacks} + {answers} attacked ones a row. Without an"
    " attack {done} tasks succeed. {invalid} calls were refused for their form. Of {denied} denied calls the results of"
    " {told} tell the model the person's reason."
)
NOT_MEASURED = "Not measured: {rows}."
LET_THROUGH = "What the rule let through, by tool: {tools}."

MAIN_HEAD = (
    "no.",
    "policy",
    "in nbtool",
    "attacks that succeeded, by calls",
    "that had any effect",
    "in the answer",
    "task also done under attack",
    "questions per task, no attack",
    "per attacked task: right + wrong (+ results)",
)
OTHER_HEAD = ("policy", "attacks", "succeeded, by AgentDojo's check", "a call of the attack had an effect",
              "questions per task, no attack", "per attacked task: right + wrong")  # fmt: skip
REFERENCES_HEAD = ("no.", "policy", "in nbtool", "attacks that reached the model", "that had any effect", "tasks done",
                   "questions per task done", "questions of all tasks")  # fmt: skip
KNOWS_HEAD = ("policy", "attacks", "a call of the attack had an effect", "per attacked task: right + wrong")


def write_page(figures: Figures, path: Path = PAGE) -> None:
    """Write the figures into the page."""
    shown = [row for row in ROWS if row.key in figures]
    left_out = [row.key for row in ROWS if row.key not in figures]
    parts = {
        "results": [
            _table(MAIN_HEAD, (_main_cells(row, figures[row.key]) for row in _main_rows(shown))),
            ABOUT.format(**_about(figures)),
            *([NOT_MEASURED.format(rows=", ".join(left_out))] if left_out else []),
        ],
        "references": [
            _table(REFERENCES_HEAD, (_reference_cells(row, figures[row.key]) for row in shown if row.is_by_reference))
        ],
        "newer attacks": [_table(OTHER_HEAD, (_other_cells(row, figures[row.key]) for row in _of(shown, "newer")))],
        "known prompts": [
            _table(KNOWS_HEAD, (_knows_cells(row, figures[row.key]) for row in _of(shown, "knows the prompt"))),
            LET_THROUGH.format(tools=_let_through(figures)),
        ],
    }
    text = path.read_text(encoding="utf-8")
    for name, lines in parts.items():
        (before, rest), end = text.split(begin := BEGIN.format(name=name)), END.format(name=name)
        text = "\n\n".join([before + begin, *lines, end + rest.split(end)[1]])
    path.write_text(text, encoding="utf-8")


def _of(rows: Iterable[Row], attacks: Attacks) -> list[Row]:
    return [row for row in rows if row.attacks == attacks]


def _main_rows(rows: Iterable[Row]) -> list[Row]:
    return [row for row in _of(rows, "listed") if not row.is_by_reference]


def _main_cells(row: Row, totals: Totals) -> Sequence[str]:
    attacked = totals["attacks by calls"] + totals["attacks in the answer"]
    return (
        str(NUMBERS[row.key]),
        row.title,
        row.code,
        _share(totals["succeeded"], totals["attacks by calls"]),
        _share(totals["had effect"], totals["attacks by calls"]),
        str(totals["succeeded in the answer"]),
        _percent(totals["done under attack"], attacked),
        f"{_mean(totals['questions'], totals['tasks'])} (max. {totals['most questions']})",
        _questions(totals, attacked),
    )


def _reference_cells(row: Row, totals: Totals) -> Sequence[str]:
    attacked = totals["attacks by calls"] + totals["attacks in the answer"]
    return (
        str(NUMBERS[row.key]),
        row.title,
        row.code,
        _share(totals["attacks that reached the model"], attacked),
        _share(totals["had effect"], totals["attacks by calls"]),
        f"{totals['tasks done']} of {totals['tasks']} ({_percent(totals['tasks done'], totals['tasks'])})",
        _mean(totals["questions of tasks done"], totals["tasks done"]),
        str(totals["questions"]),
    )


def _other_cells(row: Row, totals: Totals) -> Sequence[str]:
    count = totals["attacks by calls"]
    plain = _mean(totals["questions"], totals["tasks"])
    return (
        row.title,
        str(count),
        _share(totals["succeeded"], count),
        _share(totals["had effect"], count),
        plain,
        _questions(totals, count),
    )


def _knows_cells(row: Row, totals: Totals) -> Sequence[str]:
    count = totals["attacks by calls"]
    return row.title, str(count), _share(totals["had effect"], count), _questions(totals, count)


def _about(figures: Figures) -> dict[str, str]:
    rows = [figures[row.key] for row in _main_rows(ROWS) if row.key in figures]
    plain = {totals["tasks done"] for totals in rows}
    first = rows[0]
    return {
        "tasks": str(first["tasks"]),
        "done": " or ".join(map(str, sorted(plain))),
        "python": str(first["python"]),
        "version": ", ".join(sorted({str(totals["nbtool"]) for totals in figures.values()})),
        "attacks": str(first["attacks by calls"]),
        "answers": str(first["attacks in the answer"]),
        "invalid": str(sum(totals["invalid calls"] for totals in rows)),
        "told": f"{sum(totals['told'] for totals in rows):,}",
        "denied": f"{sum(totals['denied'] for totals in rows):,}",
    }


def _let_through(figures: Figures) -> str:
    """Return how many calls of each tool the rule on destinations let run for an attacker who knows the prompt."""
    by_tool: Counter[str] = Counter()
    for name, count in figures.get("knows typed", {}).get("effects by attack", {}).items():
        by_tool[name.split("_", 2)[-1]] += count
    return ", ".join(f"`{tool}` {count}" for tool, count in by_tool.most_common()) or "nothing"


def _questions(totals: Totals, count: int) -> str:
    right = _mean(totals["right questions under attack"], count)
    looked = totals["results looked at under attack"]
    results = f" (+ {_mean(looked, count)})" if looked else ""
    return f"{right} + {_mean(totals['wrong questions under attack'], count)}{results}"


def _share(count: int, total: int) -> str:
    return f"**0** of {total}" if not count else f"{count} of {total} ({_percent(count, total)})"


def _percent(count: int, total: int) -> str:
    if not total:
        return "-"
    share = 100 * count / total
    return f"{share:.1f} %" if 0 < share < 10 else f"{share:.0f} %"


def _mean(count: int, total: int) -> str:
    return f"{count / total:.2f}" if total else "-"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    marks = ["--:", "---", "---"] if head in (MAIN_HEAD, REFERENCES_HEAD) else ["---"]
    line = [*marks, *["--:"] * (len(head) - len(marks))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, line, *rows))

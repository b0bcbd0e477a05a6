"""Write docs/annotations.md: what each form of an annotation means, measured on this Python and on others.

Usage: python docs/annotations.py [--check] [--measure] [--python COMMAND]…
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.tools.annotation_forms import FORMS, PLACES, Form, measure, places_of  # noqa: E402 - after the path

PAGE = ROOT / "docs" / "annotations.md"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")

NOT_MEASURED = "\u2013"

HEAD = """# Annotations

What a function's annotation means when the function is a tool: the schema that the model gets, and what the function
receives of what the model writes. Types with a JSON form are those of pydantic, read strictly: `"5"` is no integer. An
integer may be written as a number with a fraction of zero, as JSON Schema has it; a literal or a member of an
enumeration is written in its JSON form. Scalar classes of libraries are made of the number, text or date that is
written, if the value is equal to it; each other class is passed by reference (`$VAR_REF{{name}}`). A default is told
where it has a JSON form.

A key that a record does not declare is refused, unless its class says what becomes of other keys (`extra` of a pydantic
configuration), or reads them by a validator before its fields: dropped, they would be on the card and not in the call.
[Right calls of a public suite](typed-functions.md) says what such types refuse.

Each form is tried without a default and with the one that is given, in a function that is defined in each of these
ways: PLACES. *Postponed* is under `from __future__ import annotations`. The last columns say in how many of them the
outcome is the stated one: on CPython 3.11 to 3.13, and on 3.14 in the Python of the live demo, which has no numpy.
`NOT_MEASURED` was not measured: the syntax is newer, or the package is missing.

`python docs/annotations.py --python python3.12 …` measures and writes this page (`--python "node lite/run_python.mjs"`
is the demo's Python); a test compares it with the Python that it runs on.
"""


def page(results: dict[str, list[str]]) -> str:
    """Return the page; `results` are the cells of each Python, a form each."""
    text = HEAD.replace("PLACES", "; ".join(PLACES)).replace("NOT_MEASURED", NOT_MEASURED)
    group = ""
    for number, form in enumerate(FORMS):
        if form.group != group:
            group = form.group
            columns = " | ".join(PYTHONS)
            text += (
                f"\n## {group}\n\n| annotation | schema | written → received | refused | default → told | {columns} |\n"
            )
            text += f"|{'---|' * (5 + len(PYTHONS))}\n"
        cells = [_annotation(form), form.schema, f"`{form.written}` → {_code(form.received)}", _code(form.refused)]
        cells += [_default(form), *(results[python][number] for python in PYTHONS)]
        text += f"| {' | '.join(one.replace('|', chr(92) + '|') for one in cells)} |\n"
    return text


def _annotation(form: Form) -> str:
    declared = f"{form.kind}{'it: ' if form.kind else ''}{form.annotation}"
    lines = [line for line in form.setup.splitlines() if not line.startswith(("import ", "from "))]
    setup = " ".join(line.strip() for line in [*([f"def f{form.parameters}"] if form.parameters else []), *lines])
    return f"`{declared}`, `{setup}`" if setup else f"`{declared}`"


def _default(form: Form) -> str:
    return f"`{form.default}` → {_code(form.stated_default) or 'not told'}" if form.default else ""


def _code(text: str) -> str:
    return text if not text or text == "a reference" else f"`{text}`"


def measured() -> list[str]:
    """Return the cell of each form on this Python."""
    cells = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for form in FORMS:
            count = len([*places_of(form)])
            wrong = {problem.partition(":")[0] for problem in measure(form)} if form.is_available else set()
            cells.append(f"{count - len(wrong)} of {count}" if form.is_available else NOT_MEASURED)
    return cells


def recorded() -> dict[str, list[str]]:
    """Return the cells of the page as it is."""
    text = PAGE.read_text("utf-8") if PAGE.exists() else ""
    rows = [line.replace("\\|", "").split("|") for line in text.splitlines() if line.startswith("| `")]
    if len(rows) != len(FORMS):
        rows = [[NOT_MEASURED] * 16] * len(FORMS)
    return {python: [row[-len(PYTHONS) - 1 + at].strip() for row in rows] for at, python in enumerate(PYTHONS)}


def main() -> int:
    """Measure, and write or check the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--python", action="append", default=[])
    options = parser.parse_args()
    own = {f"{sys.version_info[0]}.{sys.version_info[1]}": measured()}
    if options.measure:
        sys.stdout.write(f"{json.dumps(own)}\n")
        return 0
    for command in options.python:
        made = subprocess.run(
            [*shlex.split(command), "docs/annotations.py", "--measure"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        )
        own |= json.loads(made.stdout.splitlines()[-1])
    text = page({**recorded(), **own})
    if options.check:
        is_current = PAGE.exists() and PAGE.read_text("utf-8") == text
        sys.stderr.write("" if is_current else "docs/annotations.md is not up to date: python docs/annotations.py\n")
        return 0 if is_current else 1
    PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

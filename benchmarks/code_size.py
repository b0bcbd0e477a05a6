"""Print the size and the shape of source trees, side by side: `python -m benchmarks.code_size TREE...`.

A tree is a checkout, or an unpacked `git archive`. The page's script is measured where it is built
(`python hatch_build.py` in the tree).
"""

from __future__ import annotations

import ast
import gzip
import re
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path

RUNS = 7
"""Fresh processes of which the start-up time is the median."""

LOAD = """
import time, ipykernel.kernelapp
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
begin = time.perf_counter()
shell.run_line_magic("load_ext", "nbtool")
print(f"{(time.perf_counter() - begin) * 1000:.1f}")
"""
"""Measures `%load_ext nbtool` in a process that has loaded what every kernel has."""


def measure(tree: Path) -> dict[str, str]:
    """Return the figures of a tree, by name."""
    package = tree / "nbtool"
    sources = {path: path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py"))}
    tests = [path.read_text(encoding="utf-8") for path in (tree / "tests").rglob("*.py")]
    scripts = [path for path in (tree / "js" / "src").rglob("*") if path.suffix in (".ts", ".tsx")]
    per_folder: Counter[str] = Counter()
    for path, text in sources.items():
        per_folder[path.relative_to(package).parts[0] if path.parent != package else "*.py"] += _lines(text)
    files_per_folder = Counter(path.parent for path in sources)
    return {
        "files of nbtool": f"{len(sources):,}",
        "lines of nbtool": f"{sum(map(_lines, sources.values())):,}",
        "packages": str(len(files_per_folder)),
        "depth of folders": str(max(len(path.relative_to(package).parts) - 1 for path in sources)),
        "most files in a folder": str(max(files_per_folder.values())),
        "longest file": str(max(map(_lines, sources.values()))),
        "longest function": str(max(_longest_function(text) for text in sources.values())),
        "noqa": str(sum(len(re.findall(r"#\s*noqa", text)) for text in sources.values())),
        "type: ignore": str(sum(len(re.findall(r"#\s*type: ignore", text)) for text in sources.values())),
        "files of tests": f"{len(tests):,}",
        "lines of tests": f"{sum(map(_lines, tests)):,}",
        "files of js/src": f"{len(scripts):,}",
        "lines of js/src": f"{sum(_lines(path.read_text(encoding='utf-8')) for path in scripts):,}",
        **{f"lines of {folder}": f"{count:,}" for folder, count in sorted(per_folder.items())},
        "%load_ext nbtool, ms": _load_milliseconds(tree),
        **{f"{names[0]} gzipped, KB": _gzipped(package, names) for names in BUNDLES},
    }


BUNDLES = (
    ("widget.js", "widget.css"),
    ("explorer.js", "explorer.css"),
    ("conversation.js", "conversation.css"),
    ("rich.js",),
    ("formulas.js",),
)
"""The files that a page loads together; the first one names them."""


def _lines(text: str) -> int:
    return len(text.splitlines())


def _longest_function(source: str) -> int:
    functions = (one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
    return max(((one.end_lineno or one.lineno) - one.lineno + 1 for one in functions), default=0)


def _load_milliseconds(tree: Path) -> str:
    command = [sys.executable, "-c", LOAD]
    try:
        runs = [subprocess.run(command, cwd=tree, capture_output=True, text=True, check=True) for _ in range(RUNS)]
    except subprocess.CalledProcessError:
        return "fails"
    return f"{statistics.median(float(run.stdout.split()[-1]) for run in runs):.0f}"


def _gzipped(package: Path, names: tuple[str, ...]) -> str:
    files = [package / "view" / "static" / name for name in names]
    if not all(file.is_file() for file in files):
        return "not built"
    return f"{sum(len(gzip.compress(file.read_bytes(), 9)) for file in files) / 1000:.1f}"


def main() -> None:
    """Print a table with a column for each tree."""
    trees = [Path(name).resolve() for name in sys.argv[1:] or ["."]]
    columns = [measure(tree) for tree in trees]
    names = list(dict.fromkeys(name for column in columns for name in column))
    print(f"| | {' | '.join(tree.name for tree in trees)} |")  # noqa: T201 - a command that prints
    print(f"|---|{'--:|' * len(trees)}")  # noqa: T201
    for name in names:
        print(f"| {name} | {' | '.join(column.get(name, '-') for column in columns)} |")  # noqa: T201


if __name__ == "__main__":
    main()

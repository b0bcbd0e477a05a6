"""Write docs/modules.md: each module in one line, from its docstring or its first comment.

Usage: python docs/modules.py [--check]
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "modules.md"
LIMIT = 200
"""Characters of a line about a module."""

HEAD = """# Modules

What each module contains, in one line: search this page for what you want to change. The packages, and what each may
import, are in [CONTRIBUTING.md](../CONTRIBUTING.md). `make modules` writes this page from the docstrings.
"""

_COMMENT = re.compile(r"/\*\*(?P<text>.*?)\*/\s*(?P<next>[^\n]*)", re.DOTALL)
_CODE = re.compile(r"export (?:async )?(?:function|class)")
_EXPORTED = re.compile(r"export (?:async )?(?:function|class|const|interface|type) (\w+)")


def page() -> str:
    """Return the page: a table for each folder of `nbtool` and `js/src`."""
    folders: dict[str, list[Path]] = {}
    for path in [*_files("nbtool", (".py",)), *_files("js/src", (".ts", ".tsx"))]:
        folders.setdefault(path.parent.as_posix(), []).append(path)
    return HEAD + "".join(_table(folder, paths) for folder, paths in folders.items())


def _files(folder: str, endings: tuple[str, ...]) -> list[Path]:
    found = [path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.suffix in endings]
    return sorted(found, key=lambda path: (path.parent.as_posix(), path.name))


def _table(folder: str, paths: list[Path]) -> str:
    rows = [f"| `{path.name}` | {line} |" for path in paths if (line := describe(ROOT / path))]
    return "\n".join(["", f"## `{folder}/`", "", "| module | contains |", "|---|---|", *rows, ""]) if rows else ""


def describe(path: Path) -> str:
    """Return the first sentences of a module's docstring or comment; empty for a package without one."""
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        return _one_line((ast.get_docstring(ast.parse(text)) or "").split("\n\n")[0])
    return _one_line(_first_comment(text))


def _first_comment(text: str) -> str:
    """Return the comment at the top of a file, else those of what it exports."""
    comments = [(found["text"], found["next"]) for found in _COMMENT.finditer(text)]
    if text.startswith("/**"):
        return _plain(comments[0][0])
    exported = [_plain(comment) for comment, following in comments if _CODE.match(following)]
    exported += [_plain(comment) for comment, following in comments if following.startswith("export const ")]
    if exported := exported or [_plain(comment) for comment, following in comments if following.startswith("export ")]:
        return " ".join(f"{one.split('. ')[0].rstrip('.')}." for one in exported[:2])
    return ", ".join(f"`{name}`" for name in _EXPORTED.findall(text))


def _plain(comment: str) -> str:
    return " ".join(line.strip().removeprefix("*").strip() for line in comment.splitlines()).strip()


def _one_line(text: str) -> str:
    line = " ".join(text.split()).replace("|", r"\|")
    return line if len(line) <= LIMIT else f"{line[: LIMIT - 1].rsplit(' ', 1)[0]} …"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(0 if PAGE.read_text("utf-8") == page() else "docs/modules.md is not up to date: run `make modules`.")
    PAGE.write_text(page(), "utf-8")

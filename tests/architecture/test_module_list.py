"""`make docs` lists every module, as its docstring or its first comment describes it."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def load_list() -> Any:
    """Load the script that writes docs/modules.md, which no version of the repository holds."""
    spec = spec_from_file_location("modules", ROOT / "docs/modules.py")
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(script := module_from_spec(spec))
    return script


def test_every_module_with_code_is_described() -> None:
    listed = load_list().page()
    modules = [path for path in (ROOT / "nbtool").rglob("*.py") if path.read_text("utf-8").strip()]
    scripts = [path for path in (ROOT / "js/src").rglob("*.ts*") if path.suffix in {".ts", ".tsx"}]

    assert [path.name for path in [*modules, *scripts] if f"| `{path.name}` | " not in listed] == []


def test_a_module_is_described_by_its_docstring_and_a_script_by_its_comment(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('"""Counts words.\n\nAll of them."""\n')
    (tmp_path / "b.ts").write_text("/** Draws a | b. */\nexport const x = 1;\n")
    describe = load_list().describe

    assert [describe(tmp_path / name) for name in ("a.py", "b.ts")] == ["Counts words.", r"Draws a \| b."]

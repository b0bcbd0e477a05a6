"""docs/modules.md lists every module, as its docstring describes it now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_list_of_modules_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "docs/modules.py", "--check"], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_every_module_with_code_is_described() -> None:
    listed = (ROOT / "docs/modules.md").read_text("utf-8")
    modules = [path for path in (ROOT / "nbtool").rglob("*.py") if path.read_text("utf-8").strip()]
    scripts = [path for path in (ROOT / "js/src").rglob("*.ts*") if path.suffix in {".ts", ".tsx"}]

    assert [path.name for path in [*modules, *scripts] if f"| `{path.name}` | " not in listed] == []

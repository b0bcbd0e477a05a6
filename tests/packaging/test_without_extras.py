"""nbtool with its own dependencies alone: no package of an extra is imported by what needs none."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

PROGRAM = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {refused!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Refuse())
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
cells = [
    "%load_ext nbtool",
    'def price(ticker: str) -> float:\\n    "Price of a share."\\n    return 1.0',
    "from nbtool import Chat, Toolset, tool",
    "%%chat -m practice:fast -t price --approve auto -o answer\\nUse &`price` for AAPL.",
    "assert answer.calls[0].result == 1.0, answer",
    'assert Chat("practice:fast").map(["Hello"]).values',
    "%chat status",
    "%chat history",
    "%chat export md notes.md",
]
for cell in cells:
    result = shell.run_cell(cell)
    result.raise_error()
"""


def modules_of_extras() -> set[str]:
    """Return the modules of the packages that extras ask for, and of what those ask for, but not nbtool itself."""
    own = _with_dependencies(PROJECT["dependencies"])
    extra = _with_dependencies(line for lines in PROJECT["optional-dependencies"].values() for line in lines)
    names = extra - own
    return {module for module, packages in packages_distributions().items() if {*map(_plain, packages)} & names}


def _with_dependencies(lines: object) -> set[str]:
    found: set[str] = set()
    left = [_plain(str(line)) for line in lines]  # type: ignore[attr-defined]  # lines of the project's file
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        try:
            needed = requires(name) or []
        except PackageNotFoundError:  # of another platform
            continue
        left += [_plain(line) for line in needed if "extra ==" not in line]
    return found


def _plain(line: str) -> str:
    name = "".join(letter if letter.isalnum() or letter in "-_." else " " for letter in line).split()[0]
    return name.lower().replace("_", "-").replace(".", "-")


def test_a_chat_a_call_a_map_and_the_commands_need_no_extra(tmp_path: Path) -> None:
    refused = sorted(modules_of_extras())
    assert {"mcp", "acp", "lxml", "keyring"} <= set(refused)

    program = [sys.executable, "-c", PROGRAM.format(refused=refused)]
    environment = {"NBTOOL_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    ended = subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stdout[-3_000:] + ended.stderr[-3_000:]

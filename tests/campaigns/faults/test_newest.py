"""The newest of everything that nbtool stands on, whatever the lock file says, in an environment of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NEWEST = ROOT / "build" / "newest"
CHOSEN = (
    "tests/wire/transport/test_http_endpoint.py", "tests/wire/transport/web_pages/test_page_fetch.py", "tests/tools",
    "tests/view", "tests/security", "tests/magics", "tests/compat",
)  # fmt: skip
"""What meets other people's packages."""

COUNT = re.compile(r"(\d+) passed")

Tell = Callable[[str, object], None]


@pytest.mark.weekly
@pytest.mark.timeout(2 * 3600)
def test_the_newest_releases_of_our_dependencies_pass_the_tests(record_property: Tell) -> None:
    python = installed()
    found = subprocess.run([python, "-m", "pip", "list", "--format=json"], capture_output=True, text=True, check=True)
    versions = {one["name"]: one["version"] for one in json.loads(found.stdout)}
    names = ("jupyterlab", "ipykernel", "anywidget", "ipywidgets", "httpx", "pydantic", "IPython", "ipython", "mcp")
    actual = ", ".join(f"{name} {versions[name]}" for name in names if name in versions)
    print(actual)  # noqa: T201 - with `-rP` it says what was newest

    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *CHOSEN],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    record_property("injected", sum(map(int, COUNT.findall(done.stdout))) + len(failed))

    assert done.returncode == 0, f"with {actual}:\n" + "\n".join(failed or [done.stdout[-3_000:], done.stderr[-1_000:]])


def installed() -> str:
    """Install nbtool and all that the tests need, each at its newest; gives the Python."""
    venv.create(NEWEST, with_pip=True, clear=True)
    python = str(NEWEST / "bin" / "python")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = [one for one in project["dependency-groups"]["dev"] if isinstance(one, str)]
    extras = ",".join(project["project"]["optional-dependencies"])
    built = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(NEWEST / "dist"), str(ROOT)]
    subprocess.run(built, check=True, capture_output=True)
    (wheel,) = (NEWEST / "dist").glob("*.whl")
    install = [python, "-m", "pip", "install", "--quiet", "--upgrade", "--upgrade-strategy=eager", f"{wheel}[{extras}]"]
    subprocess.run([*install, *needed], check=True, capture_output=True)
    return python

"""Install as everybody does: the wheel by pip and by uv, in clean environments on every Python, and leave nothing."""

from __future__ import annotations

import json
from pathlib import Path
from zipfile import ZipFile

import pytest
from build import ProjectBuilder

from nbtool import __version__
from tests.packaging.environments import VERSIONS, Environment, find_python, this_python

ROOT = Path(__file__).parents[2]
EXTENSION = "share/jupyter/labextensions/nbtool-chat/package.json"
FIRST_TURN = """
import sys
from nbtool import Chat, tool

@tool(run="auto")
def price(ticker: str) -> int:
    "Return the price of a ticker."
    return 7

turn = Chat("practice:fast", tools=[price]).send("What is the price of A?")
print(sys.version_info[:2], turn.status, [(call.name, call.status) for call in turn.calls])
"""

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(ProjectBuilder(ROOT).build("wheel", tmp_path_factory.mktemp("wheel")))


@pytest.fixture(params=VERSIONS)
def environment(request: pytest.FixtureRequest, tmp_path: Path) -> Environment:
    python = find_python(request.param)
    if python is None:
        pytest.skip(f"there is no Python {request.param} on this machine")
    return Environment(tmp_path / "venv", python)


def requirements(wheel: Path) -> list[str]:
    """Return what the wheel needs, without its extras."""
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(name).decode().partition("\n\n")[0].splitlines()
    needs = [line.partition(": ")[2] for line in lines if line.startswith("Requires-Dist: ")]
    return [need for need in needs if "extra ==" not in need]


def check_installed(environment: Environment, home: Path) -> None:
    """Use what was installed: a turn with a call, the command, and the files where JupyterLab looks."""
    shown = environment.run("python", "-c", FIRST_TURN, NBTOOL_HOME=str(home))
    assert shown.strip().endswith("completed [('price', 'ok')]")
    assert "--token" in environment.run("nbtool-mcp", "--help")
    assert "No policy is in force" in environment.run("python", "-m", "nbtool.policy")
    assert json.loads((environment.folder / EXTENSION).read_text())["version"] == __version__


def test_the_wheel_installs_by_pip_works_and_leaves_nothing_behind(
    environment: Environment, wheel: Path, tmp_path: Path
) -> None:
    environment.pip("install", *requirements(wheel))
    before = environment.files()

    environment.pip("install", "--no-deps", wheel)
    check_installed(environment, tmp_path / "home")
    environment.pip("check")
    added = environment.files() - before
    environment.pip("uninstall", "--yes", "nbtool-chat")

    assert len(added) > 300
    assert environment.files() == before
    assert not list(environment.folder.rglob("*nbtool*"))


def test_the_wheel_installs_by_uv_with_all_that_it_needs(environment: Environment, wheel: Path, tmp_path: Path) -> None:
    tools = Environment(tmp_path / "tools", this_python())
    tools.pip("install", "uv")

    tools.run("uv", "pip", "install", "--quiet", "--python", environment.python, wheel)
    check_installed(environment, tmp_path / "home")
    tools.run("uv", "pip", "uninstall", "--quiet", "--python", environment.python, "nbtool-chat")

    left = list(environment.folder.rglob("*nbtool*"))
    assert not [path for path in left if path.is_file() or any(path.rglob("*.*"))]  # uv leaves an empty folder

"""The conda recipe: it builds a package with everything in it, and needs what pyproject.toml needs.

The channel is a double: no channel of conda is needed. Its `python` is the one that runs the tests, with pip and
hatchling; the recipe, the build and the package are real.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from build import ProjectBuilder

from nbtool import __version__
from tests.packaging.environments import Environment, this_python

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "recipe" / "recipe.yaml"
BUILDER = "py-rattler-build>=0.73,<0.80"
OTHER_NAMES = {"docstring-parser": "docstring_parser"}
"""Names on conda-forge that differ from those of the package index."""


def test_the_recipe_has_the_version_and_the_dependencies_of_the_project() -> None:
    recipe: dict[str, Any] = yaml.safe_load(RECIPE.read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    named = [re.fullmatch(r"([\w-]+)(.*)", need.partition(";")[0].strip()) for need in project["dependencies"]]
    wanted = [f"{OTHER_NAMES.get(one[1], one[1])} {one[2]}" for one in named if one]

    assert recipe["context"]["version"] == __version__
    assert recipe["requirements"]["run"] == [f"python {project['requires-python']}", *wanted]
    assert recipe["about"]["license"] == project["license"]
    assert recipe["about"]["summary"] == project["description"]
    scripts = [f"{name} = {target}" for name, target in project["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == scripts


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_the_recipe_builds_a_package_that_works(tmp_path: Path) -> None:
    (tmp_path / "recipe").mkdir()
    (tmp_path / "recipe" / "recipe.yaml").write_text(RECIPE.read_text())
    ProjectBuilder(ROOT).build("sdist", tmp_path / "dist")
    tools = Environment(tmp_path / "tools", this_python())
    tools.pip("install", BUILDER, "conda-package-streaming")

    program = Path(__file__).with_name("conda_build.py")
    built = tools.run("python", program, tmp_path, sys.executable)
    found = json.loads(built.splitlines()[-1])

    files, unpacked = set(found["files"]), Path(found["unpacked"])
    assert {"site-packages/nbtool/py.typed", "site-packages/nbtool/view/static/widget.js"} <= files
    assert "share/jupyter/labextensions/nbtool-chat/package.json" in files
    assert found["noarch"] == "python"
    turn = "from nbtool import Chat; print(Chat('practice:fast').send('Hello.').status)"
    environment = {"PYTHONPATH": str(unpacked / "site-packages"), "NBTOOL_HOME": str(tmp_path), "PATH": "/usr/bin"}
    ran = subprocess.run(
        [sys.executable, "-P", "-c", f"import nbtool; print(nbtool.__file__); {turn}"],
        env=environment, cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stdout.split() == [str(unpacked / "site-packages" / "nbtool" / "__init__.py"), "completed"]

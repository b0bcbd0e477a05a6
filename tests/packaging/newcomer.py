"""The newcomer's walk: from a Python and the package to an answer in JupyterLab, each step with its seconds.

    python -m tests.packaging.newcomer    # on the oldest and the newest Python here (make lane LANE=newcomer)

Nothing of the project's environment takes part but what drives the browser. The steps are written to
build/newcomer.md, with pictures in build/shots.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from build import ProjectBuilder
from playwright.sync_api import expect, sync_playwright

from tests.browser.chromium import find_chromium
from tests.browser.conftest import QUIET_CHROMIUM
from tests.browser.lab import Lab, Notebook, lab_of, screenshot
from tests.browser.server import Server
from tests.packaging.environments import VERSIONS, Environment, find_python

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "build" / "newcomer.md"
HEAD = "| step | {} |\n|---|{}|\n"
MANUAL = ROOT / "notebooks"
NOTEBOOK = "01_first_chat.ipynb"
LOAD, DATA, TOOLS, ASK, AGAIN, STATUS = 1, 3, 5, 7, 11, 13
CARD_SECONDS = 60
SHOWN = 90
"""Characters of what was seen that are kept."""


@dataclass
class Walk:
    """The steps that were gone, in seconds, and what a person sees after each."""

    python: str
    seconds: dict[str, float] = field(default_factory=dict)
    seen: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Take the time of a step."""
        start = time.monotonic()
        yield
        self.seconds[name] = time.monotonic() - start
        self.seen.setdefault(name, "")

    def see(self, name: str, text: str) -> None:
        """Note what stands there after a step, in one line."""
        self.seen[name] = re.sub(r"\s+", " ", text).strip()[:SHOWN]


def find_pythons() -> list[tuple[str, Path]]:
    """Return the oldest and the newest Python that pyproject.toml names and this machine has."""
    found = [(version, python) for version in VERSIONS if (python := find_python(version))]
    return list({found[0][0]: found[0], found[-1][0]: found[-1]}.values())


def build_wheel(folder: Path) -> Path:
    """Build the wheel, as a release does."""
    return Path(ProjectBuilder(ROOT).build("wheel", folder))


def install(walk: Walk, python: Path, wheel: Path, folder: Path) -> Environment:
    """Make an environment, and install what the README says."""
    with walk.step("python -m venv"):
        environment = Environment(folder, python)
    with walk.step("pip install"):
        environment.pip("install", wheel, "jupyterlab", "pandas")
    listed = environment.run("jupyter-labextension", "list")
    extension = re.search(r"nbtool-chat v\S+ .*?enabled .*?OK", re.sub(r"\x1b\[\d*m", "", listed))
    assert extension, listed
    packages = len(environment.run("python", "-m", "pip", "list", "--format=freeze").splitlines())
    walk.see("pip install", f"{packages} packages; JupyterLab lists {extension[0]}")
    return environment


def open_notebook(walk: Walk, lab: Lab) -> Notebook:
    """Open the first notebook, with the data beside it, as in a clone."""
    shutil.copytree(MANUAL / "data", lab.server.root / "data")
    with walk.step("open the first notebook"):
        return lab.open_notebook(lab.server.copy_notebook(MANUAL / NOTEBOOK, kernel="python3"))


def go_through(walk: Walk, notebook: Notebook) -> None:
    """Run its cells, approve the call that asks, and come back to the saved notebook."""
    with walk.step("%load_ext nbtool"):
        notebook.run_cell(LOAD, seconds=CARD_SECONDS)
    walk.see("%load_ext nbtool", notebook.output(LOAD).inner_text())
    with walk.step("data and tools"):
        for cell in (DATA, TOOLS):
            notebook.run_cell(cell, seconds=CARD_SECONDS)
    view = notebook.output(ASK)
    approve = view.get_by_role("button", name="Approve")
    with walk.step("%%chat, to the question"):
        notebook.start_cell(ASK)
        expect(approve).to_be_enabled(timeout=CARD_SECONDS * 1000)
    walk.see("%%chat, to the question", view.get_by_role("group", name="Approval").inner_text())
    screenshot(notebook.page, f"newcomer-{walk.python}-question")
    with walk.step("Approve, to the answer"):
        approve.click()
        notebook.wait_ended(ASK)
        notebook.wait_output(ASK, "6300")
    walk.see("Approve, to the answer", view.locator(".nb-reply").last.inner_text())
    with walk.step("the next %%chat"):
        notebook.run_cell(AGAIN)
        notebook.wait_output(AGAIN, "68")
    notebook.run_cell(STATUS)
    notebook.wait_output(STATUS, "2 on the active line")
    with walk.step("save, and open it again"):
        notebook.save()
        notebook.page.reload()
        expect(notebook.output(ASK).locator(".nb-saved")).to_be_visible(timeout=CARD_SECONDS * 1000)
    walk.see("save, and open it again", notebook.output(ASK).locator(".nb-saved").inner_text())
    screenshot(notebook.page, f"newcomer-{walk.python}-saved")
    assert notebook.errors == []


def go(version: str, python: Path, wheel: Path, folder: Path) -> Walk:
    """Go all of it on one Python."""
    walk = Walk(version)
    environment = install(walk, python, wheel, folder / "venv")
    with ExitStack() as stack:
        playwright = stack.enter_context(sync_playwright())
        context = playwright.chromium.launch_persistent_context(
            folder / "profile",
            executable_path=find_chromium(),
            args=QUIET_CHROMIUM,
            viewport={"width": 1200, "height": 900},
        )
        stack.callback(context.close)
        server = Server(folder / "jupyter", python=environment.python)
        with walk.step("jupyter lab"):
            lab = stack.enter_context(lab_of(server, context))
        go_through(walk, open_notebook(walk, lab))
    return walk


def table(walks: list[Walk]) -> str:
    """Write the steps as a table; what was seen is that of the last walk."""
    columns = [f"Python {walk.python}" for walk in walks]
    text = HEAD.format(" | ".join([*columns, "what is seen"]), "--:|" * len(walks) + "---")
    for step, seen in walks[-1].seen.items():
        seconds = [f"{walk.seconds[step]:.1f} s" for walk in walks]
        said = seen.replace("|", "\\|").replace("`", "'")
        text += f"| {step} | {' | '.join([*seconds, said])} |\n"
    totals = [f"{sum(walk.seconds.values()):.0f} s" for walk in walks]
    return text + f"| all | {' | '.join(totals)} | |\n"


def main() -> int:
    """Go, and report the steps."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build_wheel(folder)
        walks = [go(version, python, wheel, folder / version) for version, python in find_pythons()]
    REPORT.write_text(table(walks), encoding="utf-8")
    sys.stdout.write(table(walks))
    return 0


if __name__ == "__main__":
    sys.exit(main())

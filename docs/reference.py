"""Write the reference of nbtool's public modules from their docstrings: `make docs`.

Usage: python docs/reference.py [FOLDER]
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from pathlib import Path

from pdoc import pdoc, render

PUBLIC = (
    "nbtool",
    "nbtool.errors",
    "nbtool.messages",
    "nbtool.events",
    "nbtool.chat.subchat",
    "nbtool.tools.approval",
    "nbtool.tools.mcp",
    "nbtool.tools.script.tool",
    "nbtool.toolsets",
    "nbtool.chain.plugin",
    "nbtool.chain.hooks",
    "nbtool.plugins.budget",
    "nbtool.plugins.event_log",
    "nbtool.plugins.continuation",
    "nbtool.plugins.privacy",
    "nbtool.plugins.roles",
    "nbtool.plugins.telemetry",
    "nbtool.wire",
    "nbtool.testing",
)
"""What people import; the rest may change from one version to the next."""


def write(folder: Path) -> None:
    """Write a page for each public module; a name that cannot be documented is an error."""
    for module in map(import_module, PUBLIC):
        for name in getattr(module, "__all__", ()):
            getattr(module, name)  # what loads lazily is there from now on
    render.configure(docformat="google", search=True, footer_text="nbtool")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pdoc(*PUBLIC, output_directory=folder)


if __name__ == "__main__":
    write(Path(sys.argv[1] if sys.argv[1:] else "build/docs"))

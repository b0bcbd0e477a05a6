"""Run the notebooks of the manual, with the practice model and without a network, and write them with their outputs.

python docs/site/run_notebooks.py FOLDER    (make site does it)
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
CELL_SECONDS = 120


def run_notebooks(target: Path) -> None:
    """Run each notebook in a fresh kernel; a cell that fails ends it with an error."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        manual = Path(shutil.copytree(ROOT / "notebooks", Path(home, "notebooks")))
        for name in [name for name in os.environ if name.endswith(("_API_KEY", "_BASE_URL"))]:
            del os.environ[name]  # of the person who builds the site
        os.environ |= {
            "PYTHONPATH": str(ROOT / "tests" / "no_network"),
            "NBTOOL_HOME": str(Path(home, "nbtool")),
            "NBTOOL_MODEL": "practice:fast",
            "IPYTHONDIR": str(Path(home, "ipython")),
        }
        for path in sorted(manual.glob("*.ipynb")):
            notebook = nbformat.read(path, as_version=4)
            resources = {"metadata": {"path": str(manual)}}
            NotebookClient(notebook, timeout=CELL_SECONDS, kernel_name="python3", resources=resources).execute()
            nbformat.write(notebook, target / path.name)


if __name__ == "__main__":
    run_notebooks(Path(sys.argv[1]).resolve())

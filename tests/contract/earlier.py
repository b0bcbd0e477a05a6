"""An earlier kernel of the same person, and its history."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.contract.notebook import Notebook, run_process
from tests.contract.simulator import Provider

TOOLS = """
from nbtool import Approved, tool
ran = []
@tool(run="auto")
def pay(amount: int) -> str:
    "Pay an amount."
    ran.append(amount)
    return f"paid {amount}"
@tool(run="auto")
def die() -> str:
    "End the process."
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
"""


def earlier_kernel(home: Path, model: Provider, *cells: str, is_killed: bool = False, **environment: str) -> str:
    """Run cells in a process of its own, which a tool of theirs kills; give what they show."""
    code = f"""
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "nbtool")
for cell in {[TOOLS, *cells]!r}:
    shell.run_cell(cell)
"""
    names = {"OLLAMA_HOST": model.host, "NBTOOL_MODEL": "ollama:tiny", **environment}
    return run_process(code, home, fails=is_killed, **names)


def copy_history(folder: Path, home: Path) -> None:
    """Let this person have the history of a folder."""
    shutil.copytree(folder, home, dirs_exist_ok=True)


def open_latest(notebook: Notebook) -> None:
    """Continue the chat of the earlier kernel."""
    found = re.findall(r"chat_\w+", notebook.run("%chat history chats").text)
    assert not notebook.run(f"%chat open {found[0]}").error

"""An earlier kernel of the same person, and its history."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.contract.notebook import Kernel, Notebook, run_process
from tests.contract.simulator import Provider

TOOLS = """
import os, signal
from nbtool import tool
def have_effect(line: str) -> None:
    with open(os.path.join(os.environ["NBTOOL_HOME"], "effects.txt"), "a") as file:
        file.write(line + "\\n")
@tool(run="auto")
def pay(amount: int) -> str:
    "Pay an amount."
    have_effect(f"pay {amount}")
    return f"paid {amount}"
@tool(run="auto")
def die() -> str:
    "End the process."
    have_effect("die")
    os.kill(os.getpid(), signal.SIGKILL)
"""
"""Tools that write each effect into a file, which outlives their kernel."""

ASKING_TOOLS = TOOLS.replace('run="auto"', 'run="ask_always"')

KILLER = """
import os, signal
class Killer:
    def on_event(self, context):
        if context.event.kind == {kind!r}:
            os.kill(os.getpid(), signal.SIGKILL)
%config NbTool.plugins = [Killer()]
"""
"""A cell after which the kernel is killed as soon as an event of this kind is in its history."""


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


def effects(home: Path) -> list[str]:
    """Return every effect that the tools have had, in this kernel and in the earlier one."""
    path = home / "effects.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def copy_history(folder: Path, home: Path) -> None:
    """Let this person have the history of a folder, with the effects of its calls."""
    shutil.copytree(folder, home, dirs_exist_ok=True)


OPEN_LATEST = """
import re
from IPython.utils.capture import capture_output
with capture_output() as captured:
    get_ipython().run_line_magic("chat", "history chats")
get_ipython().run_line_magic("chat", "open " + re.findall(r"chat_\\w+", captured.stdout)[0])
"""
"""A cell that continues the chat of the earlier kernel."""


def open_latest(notebook: Notebook | Kernel) -> None:
    """Continue the chat of the earlier kernel."""
    assert not notebook.run(OPEN_LATEST).error

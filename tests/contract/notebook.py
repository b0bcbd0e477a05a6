"""A notebook as a person has it: cells that run in a real IPython, here or in a kernel of its own."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from jupyter_client.manager import KernelManager
from traitlets.config import Config

from nbtool import Turn

NO_NETWORK = Path(__file__).parents[1] / "no_network"
"""A folder for `PYTHONPATH` with which a process reaches loopback only."""
SECONDS = 60


@dataclass
class Output:
    """What a cell shows."""

    bundles: list[Mapping[str, Any]] = field(default_factory=list)
    stream: str = ""
    error: str = ""
    inputs: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Everything that is shown as text, also the error's last line."""
        plain = [str(bundle.get("text/plain", "")) for bundle in self.bundles]
        return "\n".join((self.stream, *plain, self.error))

    @property
    def html(self) -> str:
        """Everything that is shown as HTML."""
        return "\n".join(str(bundle.get("text/html", "")) for bundle in self.bundles)

    @property
    def everything(self) -> str:
        """All forms of all outputs."""
        return self.text + "\n".join(str(bundle) for bundle in self.bundles)


class Notebook:
    """Cells in this process, in an IPython without a terminal and without a page."""

    def __init__(self) -> None:
        end_shell()
        self.shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))

    def run(self, cell: str) -> Output:
        """Run a cell; an error of it is in the output."""
        with capture_output() as captured:
            result = self.shell.run_cell(cell)
        error = result.error_before_exec or result.error_in_exec
        named = f"{type(error).__name__}: {error}" if error else ""
        return Output([output.data for output in captured.outputs], captured.stdout + captured.stderr, named)

    def ask(self, prompt: str, flags: str = "") -> Turn:
        """Run a `%%chat` cell, and give its turn."""
        self.names.pop("turn", None)
        self.output = self.run(f"%%chat {flags} -o turn\n{prompt}")
        assert "turn" in self.names, self.output.text
        turn = self.names["turn"]
        assert isinstance(turn, Turn)
        return turn

    @property
    def names(self) -> dict[str, Any]:
        """The names of the notebook."""
        names: dict[str, Any] = self.shell.user_ns
        return names


def end_shell() -> None:
    """Forget the IPython there is, and what it would do when the process ends."""
    if InteractiveShell.initialized():
        atexit.unregister(InteractiveShell.instance().atexit_operations)
    InteractiveShell.clear_instance()


class Kernel:
    """Cells in a kernel of its own, with a person who types lines of input."""

    def __init__(self, manager: Any, client: Any) -> None:
        self.manager = manager
        self.client = client

    def run(self, cell: str, typed: Sequence[str] = (), *, cell_id: str = "") -> Output:
        """Run a cell; each question by a line of input gets the next of `typed`."""
        self.client.session.metadata = {"cellId": cell_id} if cell_id else {}
        output, answers = Output(), list(typed)

        def show(message: Mapping[str, Any]) -> None:
            content = message["content"]
            match message["msg_type"]:
                case "stream":
                    output.stream += content["text"]
                case "display_data" | "execute_result" | "update_display_data":
                    output.bundles.append(content["data"])
                case "error":
                    output.error = f"{content['ename']}: {content['evalue']}"

        def type_line(message: Mapping[str, Any]) -> None:
            output.inputs.append(message["content"]["prompt"])
            self.client.input(answers.pop(0))

        self.client.execute_interactive(
            cell, allow_stdin=True, stdin_hook=type_line, output_hook=show, timeout=SECONDS, stop_on_error=False
        )
        assert not answers, f"lines that nobody asked for: {answers}; shown: {output.text}"
        return output

    def kill(self) -> None:
        """Kill its process."""
        process = self.manager.provisioner.process
        process.kill()
        process.wait(SECONDS)

    def run_until_killed(self, cell: str, line: str) -> None:
        """Run a cell whose question gets a line of input, and which kills the process."""
        self.client.execute(cell, allow_stdin=True)
        self.client.get_stdin_msg(timeout=SECONDS)
        self.client.input(line)
        self.manager.provisioner.process.wait(SECONDS)


@contextmanager
def start_kernel(home: Path, **environment: str) -> Iterator[Kernel]:
    """Start a kernel with nbtool loaded, whose history is below `home`."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(env=process_environment(home, **environment), cwd=str(home))
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=SECONDS)
        kernel = Kernel(manager, client)
        assert not kernel.run("%load_ext nbtool").error
        yield kernel
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
        manager.context.destroy(linger=0)


def process_environment(home: Path, **environment: str) -> dict[str, str]:
    """Return the environment of another process of the same person: without the network, with its history in `home`."""
    inherited = {name: value for name, value in os.environ.items() if not _is_of_the_user(name)}
    paths = [str(NO_NETWORK), str(Path(__file__).parents[2])]
    return {**inherited, "NBTOOL_HOME": str(home), "PYTHONPATH": os.pathsep.join(paths), **environment}


def _is_of_the_user(name: str) -> bool:
    """Whether a variable of the environment sets something of nbtool's."""
    return name.startswith("NBTOOL_") or name.endswith(("_API_KEY", "_BASE_URL")) or name == "OLLAMA_HOST"


def run_process(code: str, home: Path, *, fails: bool = False, **environment: str) -> str:
    """Run Python in a process of its own, and give what it printed; with `fails` it has to end with an error."""
    ran = subprocess.run(
        [sys.executable, "-c", code], env=process_environment(home, **environment), cwd=home, check=False,
        capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip
    assert bool(ran.returncode) is fails, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr

"""Which road a question takes, where there is no page: with real kernels, a real terminal, and real pipes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager

SETUP = """
%load_ext nbtool
from nbtool import tool
received = []
@tool
def double(n: int) -> int:
    "Twice a number."
    received.append(n)
    return 2 * n
"""
USE = "%%chat -m practice:fast -o answer{flags}\nUse &`double` with 21."
SECONDS = 40


class Talk:
    """A front end without a page: it sends cells, and answers when it is asked for a line."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self.manager, self.client = manager, client
        self.asked: list[str] = []

    def run(self, cell: str, *, answer: str | None = None) -> str:
        """Run a cell and give what it prints; without an `answer` no line of input can be asked for."""
        printed: list[str] = []

        def hear(message: dict[str, Any]) -> None:
            content = message["content"]
            printed.append(content.get("text") or content.get("data", {}).get("text/plain") or "")
            printed.extend(content.get("traceback") or [])

        def reply(message: dict[str, Any]) -> None:
            self.asked.append(message["content"]["prompt"])
            self.client.input(answer or "")

        self.client.execute_interactive(
            cell,
            allow_stdin=answer is not None,
            stdin_hook=reply,
            output_hook=hear,
            timeout=SECONDS,
        )
        return "".join(printed)


@pytest.fixture
def talk() -> Iterator[Talk]:
    manager = KernelManager(kernel_name="python3")
    manager.kernel_spec.argv[0] = sys.executable
    manager.start_kernel()
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=SECONDS)
    talk = Talk(manager, client)
    talk.run(SETUP)
    yield talk
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_a_yes_in_a_line_of_input_lets_the_call_run(talk: Talk) -> None:
    talk.run(USE.format(flags=" --approve input"), answer="y")

    assert "double wants to run with" in talk.asked[0]
    assert talk.run("print(received, answer.calls[0].status)") == "[21] ok\n"


def test_any_other_word_in_the_line_is_the_reason_of_a_no(talk: Talk) -> None:
    talk.run(USE.format(flags=" --approve input"), answer="not today")

    assert talk.run("print(received, answer.calls[0].reason)") == "[] not today\n"


def test_a_page_that_never_says_hello_is_followed_by_a_line_of_input(talk: Talk) -> None:
    talk.run("from nbtool.magics import roads; roads.HELLO_SECONDS = 0.5")
    talk.run(USE.format(flags=""), answer="yes")

    assert talk.run("print(len(received))") == "1\n"


def test_where_no_line_can_be_asked_for_the_call_is_denied_and_the_cell_says_so(talk: Talk) -> None:
    said = talk.run(USE.format(flags=""))

    assert "Nobody can be asked here" in said
    assert talk.run("print(received, answer.status)") == "[] completed\n"


def test_an_interrupt_ends_a_waiting_cell(talk: Talk) -> None:
    talk.run("from nbtool.magics import roads; roads.HELLO_SECONDS = 60")
    talk.client.execute(USE.format(flags=""), allow_stdin=True)
    _wait_for_output(talk.client, "'state': 'waiting'")

    talk.manager.interrupt_kernel()
    reply = talk.client.get_shell_msg(timeout=SECONDS)

    assert reply["content"]["status"] == "error"
    assert talk.run("print(received, answer.status)") == "[] cancelled\n"


def _wait_for_output(client: BlockingKernelClient, text: str) -> None:
    while text not in str(client.get_iopub_msg(timeout=SECONDS)["content"]):
        pass


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.ipy"
    ask = "get_ipython().run_cell_magic('chat', '-m practice:fast -o answer', 'Use &`double` with 21.')"
    path.write_text(f"{SETUP}\n{ask}\nprint('GOT', received, answer.calls[0].status)\n", encoding="utf-8")
    return path


def test_piped_data_is_never_taken_for_consent(script: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "IPython", "--no-banner", str(script)],
        input="y\ny\ny\n",
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    assert "GOT [] denied" in ran.stdout


def test_a_person_at_a_terminal_is_asked_for_a_line(script: Path) -> None:
    terminal = pexpect.spawn(
        sys.executable, ["-m", "IPython", "--no-banner", "--colors=NoColor", str(script)], timeout=SECONDS
    )
    terminal.expect("Run it?")
    terminal.sendline("y")
    terminal.expect(r"GOT \[21\] ok")
    terminal.close(force=True)

    assert not terminal.isalive()

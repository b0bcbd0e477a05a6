"""Which road a question takes, where there is no page: with real kernels, a real terminal, and real pipes."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ipykernel
import pexpect
import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager

from nbtool import Chat, tool
from nbtool.chat.chat import wait_for_turn
from nbtool.magics.cell.approver import NO_TIMED_LINE, UNTIMED_FIX, CellApprover
from nbtool.magics.kernel.control_channel import MESSAGE_TYPE
from nbtool.testing import ScriptedWire, call
from tests.compat.page import Way
from tests.kernels import connect, start_kernel

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

OVER_EACH_WAY = pytest.mark.parametrize(
    "way",
    [
        pytest.param(
            "comm",
            marks=pytest.mark.skipif(
                ipykernel.version_info < (7,),
                reason="ipykernel 6 reads its shell channel on the thread that is occupied here; docs/compatibility.md",
            ),
        ),
        "control",
    ],
)
"""What a page says reaches a kernel whose main thread is occupied."""


class InputFrontEnd:
    """A front end without a page: it sends cells, and answers when it is asked for a line."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self.manager, self.client = manager, client
        self.asked: list[str] = []
        self.widget: dict[str, Any] = {}
        self.digest = ""

    def run(self, cell: str, *, answer: str | Callable[[], object] | None = None) -> str:
        """Run a cell and give what it prints; without an `answer` no line of input can be asked for."""
        printed: list[str] = []
        displayed: set[str] = set()

        def hear(message: dict[str, Any]) -> None:
            content = message["content"]
            self.watch(message["msg_type"], content)
            if message["msg_type"] == "display_data":
                displayed.add(content["transient"].get("display_id"))
            if message["msg_type"] == "update_display_data" and content["transient"]["display_id"] not in displayed:
                return  # of an earlier cell, where a page shows it: ipykernel 6 sends it as if it were of this one
            printed.append(content.get("text") or content.get("data", {}).get("text/plain") or "")
            printed.extend(content.get("traceback") or [])

        def reply(message: dict[str, Any]) -> None:
            self.asked.append(message["content"]["prompt"])
            if callable(answer):
                answer()
            else:
                self.client.input(answer or "")

        self.client.execute_interactive(
            cell,
            allow_stdin=answer is not None,
            stop_on_error=False,  # otherwise the kernel aborts what comes right after a failed cell: the next, if quick
            stdin_hook=reply,
            output_hook=hear,
            timeout=SECONDS,
        )
        return "".join(printed)

    def click(self, kind: str, *, way: Way = "comm", **said: Any) -> None:
        """Send what a page sends when a person clicks in the widget that was opened last, over one of its two ways."""
        state = self.widget["data"]["state"]
        envelope = {"v": 1, "turn": state["turn_id"], "nonce": state["nonce"], "id": f"page-{kind}", "kind": kind}
        digest = {} if kind == "hello" else {"digest": self.digest}
        data = {"method": "custom", "content": {**envelope, **digest, **said}}
        content = {"comm_id": self.widget["comm_id"], "data": data}
        if way == "comm":
            self.client.shell_channel.send(self.client.session.msg("comm_msg", content))
        else:
            self.client.control_channel.send(self.client.session.msg(MESSAGE_TYPE, content))

    def watch(self, kind: str, content: dict[str, Any]) -> None:
        """Note the widget that is opened and the question that is asked."""
        if kind == "comm_open" and "turn_id" in content["data"].get("state", {}):
            self.widget = content
        if found := re.search(r"'digest': '(\w+)'", str(content)):
            self.digest = found[1]


@pytest.fixture
def front_end() -> Iterator[InputFrontEnd]:
    manager = start_kernel()
    client = connect(manager)
    client.wait_for_ready(timeout=SECONDS)
    talk = InputFrontEnd(manager, client)
    talk.run(SETUP)
    yield talk
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_a_yes_in_a_line_of_input_lets_the_call_run(front_end: InputFrontEnd) -> None:
    front_end.run(USE.format(flags=" --approve input"), answer="y")

    assert "Run double(n=21)?" in front_end.asked[0]
    assert front_end.run("print(received, answer.calls[0].status)") == "[21] ok\n"


def test_any_other_word_in_the_line_is_the_reason_of_a_no(front_end: InputFrontEnd) -> None:
    front_end.run(USE.format(flags=" --approve input"), answer="not today")

    assert front_end.run("print(received, answer.calls[0].reason)") == "[] not today\n"


@pytest.mark.sampled(0)
def test_a_page_that_never_says_hello_is_followed_by_a_line_of_input(front_end: InputFrontEnd) -> None:
    front_end.run("from nbtool.magics.cell import approver; approver.PAGE_READY_SECONDS = 0.5")
    front_end.run(USE.format(flags=""), answer="yes")

    assert front_end.run("print(len(received))") == "1\n"


@pytest.mark.sampled(0)
def test_a_wait_for_a_page_is_no_time_in_which_the_person_was_waited_for(front_end: InputFrontEnd) -> None:
    front_end.run("from nbtool.magics.cell import approver; approver.PAGE_READY_SECONDS = 1.5")
    front_end.run(USE.format(flags=""), answer="yes")

    waited = front_end.run("print([event.waited for event in answer.log if event.kind == 'turn_ended'][0])")
    assert float(waited) < 1


@pytest.mark.sampled(0)
def test_a_wait_for_a_page_is_reported_once_before_the_line_of_input(front_end: InputFrontEnd) -> None:
    front_end.run(
        "from nbtool.magics.cell import approver; approver.PAGE_READY_SECONDS, approver.PAGE_NOTICE_SECONDS = 0.3, 0.1"
    )
    said = front_end.run(USE.format(flags="") + " And use &`double` with 4.", answer="yes")

    assert said.count("for a page of this notebook to connect; without one, a line of input follows.") == 1
    assert len(front_end.asked) >= 1


@pytest.mark.sampled(0)
def test_the_line_about_the_wait_goes_when_the_page_connects(front_end: InputFrontEnd) -> None:
    front_end.run("from nbtool.magics.cell import approver; approver.PAGE_NOTICE_SECONDS = 0.1")
    shown: dict[str, str] = {}

    def hear(message: dict[str, Any]) -> None:
        content = message["content"]
        front_end.watch(message["msg_type"], content)
        text = content.get("data", {}).get("text/plain", "")
        display = content.get("transient", {}).get("display_id", "")
        if "for a page of this notebook to connect" in text:
            shown[display] = text
            front_end.click("hello")
        elif display in shown and message["msg_type"] == "update_display_data":
            shown[display] = text
            front_end.click("approve")

    hooks: dict[str, Any] = {"output_hook": hear, "stdin_hook": lambda _: pytest.fail("A line was asked for.")}
    front_end.client.execute_interactive(USE.format(flags=""), allow_stdin=True, timeout=SECONDS, **hooks)

    assert list(shown.values()) == [""]
    assert front_end.run("print(received, answer.calls[0].decisions[0].by)") == "[21] button\n"


@pytest.mark.sampled(0)
def test_without_a_page_a_cell_of_vs_code_names_the_setting_while_it_asks(front_end: InputFrontEnd) -> None:
    front_end.run("from nbtool.magics.cell import approver; approver.PAGE_READY_SECONDS = 0.5")
    front_end.run(USE.format(flags=""), answer="yes")
    shown: dict[str, str] = {}
    texts: list[str] = []

    def hear(message: dict[str, Any]) -> None:
        content = message["content"]
        if "display_id" in content.get("transient", {}):
            text = shown[content["transient"]["display_id"]] = content["data"].get("text/plain", "")
            texts.append(text)

    front_end.client.session.metadata = {"cellId": "vscode-notebook-cell:/home/ada/first.ipynb#W0sZmlsZQ%3D%3D"}
    hooks: dict[str, Any] = {"output_hook": hear, "stdin_hook": lambda _: front_end.client.input("yes")}
    front_end.client.execute_interactive(USE.format(flags=""), allow_stdin=True, timeout=SECONDS, **hooks)

    assert [text for text in texts if '`["jsdelivr.com", "unpkg.com"]`' in text and "--approve later" in text]
    assert [text for text in shown.values() if "jsdelivr" in text] == []
    assert front_end.run("print(received)") == "[21, 21]\n"


@pytest.mark.promise("fails-closed")
def test_where_no_line_can_be_asked_for_the_call_is_denied_and_the_cell_says_so(front_end: InputFrontEnd) -> None:
    said = front_end.run(USE.format(flags=""))

    assert "Nobody can be asked here" in said
    assert front_end.run("print(received, answer.status)") == "[] completed\n"


@pytest.mark.promise("stops")
def test_an_interrupt_ends_a_waiting_cell(front_end: InputFrontEnd) -> None:
    front_end.run("from nbtool.magics.cell import approver; approver.PAGE_READY_SECONDS = 60")
    # Otherwise the kernel aborts what comes right after a failed cell: the next one, if it is quick.
    front_end.client.execute(USE.format(flags=""), allow_stdin=True, stop_on_error=False)
    _wait_for_output(front_end.client, "'state': 'waiting'")

    front_end.manager.interrupt_kernel()
    reply = front_end.client.get_shell_msg(timeout=SECONDS)

    assert reply["content"]["status"] == "error"
    assert front_end.run("print(received, answer.status)") == "[] cancelled\n"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("way", ["comm", "control"])
def test_a_click_closes_a_line_of_input_that_asks_the_same(front_end: InputFrontEnd, way: Way) -> None:
    front_end.run("from nbtool.magics.cell import approver; approver.PAGE_READY_SECONDS = 0.1")

    front_end.run(USE.format(flags=""), answer=lambda: front_end.click("approve", way=way))

    assert "Run double(n=21)?" in front_end.asked[0]
    assert front_end.run("print(received, answer.calls[0].decisions[0].by)") == "[21] button\n"


@pytest.mark.sampled(0)
def test_a_cell_that_is_sent_while_a_line_is_asked_for_runs_after_the_click(front_end: InputFrontEnd) -> None:
    front_end.run("from nbtool.magics.cell import approver; approver.PAGE_READY_SECONDS = 0.1")

    def send_and_click() -> None:
        front_end.client.execute("later = [*received, 'later']")
        front_end.click("approve")

    front_end.run(USE.format(flags=""), answer=send_and_click)

    assert front_end.run("print(later)") == "[21, 'later']\n"


@pytest.mark.sampled(0)
def test_a_line_of_input_that_is_closed_is_a_no(front_end: InputFrontEnd) -> None:
    front_end.run(USE.format(flags=" --approve input"), answer="\x04")

    assert front_end.run("print(received, answer.calls[0].reason)").startswith("[] The input was closed")


@pytest.mark.sampled(0)
@pytest.mark.promise("fails-closed")
@pytest.mark.parametrize("tools", ["&`double`", "&`double` and &`note`"])
def test_a_line_of_input_that_nobody_answers_in_time_closes_and_the_call_is_denied(
    front_end: InputFrontEnd, tools: str
) -> None:
    front_end.run("@tool\ndef note(n: int) -> None:\n    'Note a number.'\n    received.append(n)")
    cell = USE.format(flags=" --approve input --set answer_within=0.2").replace("&`double`", tools)

    front_end.run(cell, answer=lambda: None)

    reasons = front_end.run(
        "print(received, *(f'{one.reason} {one.decisions[0].by}' for one in answer.calls), sep='\\n')"
    )
    first, *others = reasons.splitlines()
    assert (first, set(others)) == ("[]", {"Nobody answered in time. expired"})
    assert len(front_end.asked) == len(others) >= tools.count("&")
    assert front_end.run("print('the next cell runs')") == "the next cell runs\n"


@pytest.mark.sampled(0)
def test_a_line_of_input_that_is_answered_in_time_counts(front_end: InputFrontEnd) -> None:
    front_end.run(USE.format(flags=f" --approve input --set answer_within={SECONDS}"), answer="y")

    assert front_end.run("print(received, answer.calls[0].decisions[0].by)") == "[21] input\n"


@pytest.mark.promise("fails-closed")
def test_no_line_is_offered_where_it_could_not_be_closed_in_time() -> None:
    @tool
    def double(n: int) -> int:
        "Twice a number."
        return 2 * n

    with ScriptedWire([call("double", n=1), "Done."]) as wire:
        chat = Chat(wire=wire, tools=[double])
        turn = chat.compose("Go.")
        turn.approver = CellApprover(turn, chat.approvals, can_input=True, timeout=5)
        waiting = threading.Thread(target=wait_for_turn, args=(turn,))  # no main thread: nothing interrupts its line
        waiting.start()
        waiting.join(SECONDS)

    (record,) = turn.calls
    assert (record.status, record.reason) == ("denied", f"{NO_TIMED_LINE} {UNTIMED_FIX}")


@pytest.mark.sampled(0)
@pytest.mark.promise("stops")
def test_an_interrupt_ends_a_line_of_input(front_end: InputFrontEnd) -> None:
    front_end.run(USE.format(flags=" --approve input"), answer=front_end.manager.interrupt_kernel)

    assert front_end.run("print(received, answer.status)") == "[] cancelled\n"


@pytest.mark.promise("parked")
def test_a_parked_cell_ends_and_an_approval_from_another_cell_goes_on_with_it(front_end: InputFrontEnd) -> None:
    said = front_end.run(USE.format(flags=" --approve park -q"), answer="never read")
    waiting = front_end.run("print(answer.status, received)")
    waited = front_end.run("%chat approve --wait")

    assert "%chat approve" in said
    assert waiting == "parked []\n"
    assert "The turn has ended." in waited
    assert front_end.asked == []
    assert front_end.run("print(answer.status, received)") == "completed [21]\n"


@pytest.mark.sampled(0)
def test_a_front_end_that_takes_no_line_but_names_its_cells_is_parked_for(front_end: InputFrontEnd) -> None:
    front_end.run("from nbtool.magics.cell import approver; approver.PAGE_READY_SECONDS = 0.1")
    front_end.client.session.metadata = {"cellId": "one"}

    front_end.run(USE.format(flags=""))
    waiting = front_end.run("print(answer.status, received)")
    front_end.run("import threading; ended = threading.Event(); answer.done.add_done_callback(lambda _: ended.set())")
    front_end.click("approve")

    assert waiting == "parked []\n"
    assert front_end.run(f"print(ended.wait({SECONDS}), answer.status, received)") == "True completed [21]\n"


@pytest.mark.sampled(1)
@OVER_EACH_WAY
def test_a_card_is_handled_while_a_tool_of_another_chat_keeps_the_kernel_busy(
    front_end: InputFrontEnd, way: Way
) -> None:
    front_end.run("import threading\ncame = threading.Event()\n@tool(run='auto')\ndef hold() -> bool:\n    'Hold.'\n"
             f"    return came.wait({SECONDS})")  # fmt: skip
    front_end.run(USE.format(flags=" --approve park"), answer="never read")
    front_end.run("answer.done.add_done_callback(lambda _: came.set())")
    front_end.client.execute("%%chat -c side -m practice:fast -o other\nUse &`hold`.", allow_stdin=True)
    card, digest = front_end.widget, front_end.digest
    _wait_for_output(front_end.client, "'state': 'running'")

    front_end.widget, front_end.digest = card, digest
    front_end.click("approve", way=way)
    front_end.client.get_shell_msg(timeout=SECONDS)

    assert front_end.run("print(answer.status, received, other.calls[0].result)") == "completed [21] True\n"


def _wait_for_output(client: BlockingKernelClient, text: str) -> None:
    while text not in str(client.get_iopub_msg(timeout=SECONDS)["content"]):
        pass


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.ipy"
    ask = "get_ipython().run_cell_magic('chat', '-m practice:fast -o answer', 'Use &`double` with 21.')"
    path.write_text(f"{SETUP}\n{ask}\nprint('GOT', received, answer.calls[0].status)\n", encoding="utf-8")
    return path


@pytest.mark.sampled(0)
@pytest.mark.promise("no-piped-consent")
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
        sys.executable,
        ["-m", "IPython", "--no-banner", "--colors=NoColor", str(script)],
        timeout=SECONDS,
        use_poll=True,
    )
    terminal.expect("Run it?")
    terminal.sendline("y")
    terminal.expect(r"GOT \[21\] ok")
    terminal.close(force=True)

    assert not terminal.isalive()


@pytest.mark.sampled(0)
@pytest.mark.promise("fails-closed")
def test_a_line_of_a_terminal_closes_when_its_time_is_over(script: Path) -> None:
    text = script.read_text(encoding="utf-8").replace("practice:fast", "practice:fast --set answer_within=0.3")
    script.write_text(text, encoding="utf-8")
    terminal = pexpect.spawn(
        sys.executable,
        ["-m", "IPython", "--no-banner", "--colors=NoColor", str(script)],
        timeout=SECONDS,
        use_poll=True,
    )

    terminal.expect("Run it?")
    terminal.expect(r"GOT \[\] denied")
    terminal.close(force=True)

    assert not terminal.isalive()


@pytest.mark.sampled(0)
def test_an_interrupt_at_the_line_of_a_terminal_stops_the_turn_and_is_no_answer(script: Path) -> None:
    terminal = pexpect.spawn(
        sys.executable,
        ["-m", "IPython", "--no-banner", "--colors=NoColor", str(script)],
        timeout=SECONDS,
        use_poll=True,
        encoding="utf-8",
    )
    terminal.expect(r"Run it\?[^\n]*no\] ")
    for _ in range(SECONDS):  # Python's `input` loses one between its look for signals and its wait for a key
        terminal.sendintr()
        if terminal.expect(["Stopped", pexpect.TIMEOUT], timeout=2) == 0:
            break
    shown = terminal.before or ""
    terminal.close(force=True)

    assert re.search(r"\n■ \w+\(.*\) · cancelled\r\n", shown), shown
    assert "denied" not in shown

from __future__ import annotations

import signal
import sys
import threading
from typing import Any

import pytest

from nbtool.errors import ToolFailed
from nbtool.magics.notebook.code_runner import run_code
from nbtool.messages import ToolCall
from nbtool.testing import ScriptedApprover, ScriptedWire, call
from nbtool.tools import Approved
from nbtool.toolsets import notebook_python

CHART = """
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt
from IPython.display import display
_ = plt.plot([1, 2])
display(plt.gcf())
plt.close("all")
"""


def test_code_runs_in_the_notebooks_own_namespace(shell: Any) -> None:
    ran = run_code(shell, "made = double(21)\nmade")

    assert (ran.value, ran.has_value, ran.error) == (42, True, "")
    assert shell.user_ns["made"] == 42


def test_printed_output_is_captured_and_shown_in_the_cell(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_code(shell, "import sys\nprint('one')\nprint('two', file=sys.stderr)\n3")
    said = capsys.readouterr()

    assert ran.output == "one\ntwo\n"
    assert said.out.startswith("one\n")
    assert said.out.rstrip().endswith("3")
    assert said.err == "two\n"


def test_an_expression_has_a_value_and_a_statement_has_none(shell: Any) -> None:
    assert run_code(shell, "[1]").value == [1]
    assert not run_code(shell, "x = [1]").has_value
    assert not run_code(shell, "None").has_value
    assert not run_code(shell, "1;").output


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("x = 1\n1 / 0", "ZeroDivisionError: division by zero (line 2)"),
        ("def f():\n    return nope\n\nf()", "NameError: name 'nope' is not defined (line 4)"),
        ("x = = 1", "SyntaxError: invalid syntax (line 1)"),
        ("open('/no/such/file')", "FileNotFoundError: [Errno 2] No such file or directory: 'file' (line 1)"),
        pytest.param(
            "raise SystemExit(3)",
            "SystemExit: 3 (line 1)",
            marks=pytest.mark.filterwarnings("ignore:To exit"),  # said by IPython itself
        ),
    ],
)
def test_an_error_is_one_line_and_no_traceback(
    shell: Any, code: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = run_code(shell, code)

    assert ran.error == said
    assert "Traceback" not in "".join(capsys.readouterr())


def test_everything_is_as_before_when_it_is_over(shell: Any) -> None:
    before = (shell.display_pub, sys.stdout, sys.stderr, sys.displayhook, shell.execution_count)
    run_code(shell, "1 / 0")
    run_code(shell, "1")

    assert (shell.display_pub, sys.stdout, sys.stderr, sys.displayhook, shell.execution_count) == before
    assert "_showtraceback" not in vars(shell)


def test_only_the_thread_of_the_code_is_captured(shell: Any) -> None:
    shell.user_ns["begin"], shell.user_ns["end"] = begin, end = threading.Event(), threading.Event()

    def other() -> None:
        begin.wait(240)
        sys.stdout.write("SENTINEL")
        end.set()

    thread = threading.Thread(target=other)
    thread.start()
    ran = run_code(shell, "begin.set()\nend.wait(240)\nprint('mine')")
    thread.join()

    assert ran.output == "mine\n"


def test_a_flood_of_output_is_kept_in_part_and_counted(shell: Any) -> None:
    ran = run_code(shell, "for _ in range(100): print('x' * 99)", max_captured=1_000)

    assert (len(ran.output), ran.omitted) == (1_000, 9_000)


def test_figures_that_are_displayed_come_back(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    shell.enable_gui = lambda *_: None
    shell.run_line_magic("matplotlib", "inline")
    ran = run_code(shell, CHART.replace('matplotlib.use("agg")\n', ""))

    assert [figure.mime for figure in ran.figures] == ["image/png"]
    assert (ran.figures[0].data or b"").startswith(b"\x89PNG")
    assert "Figure" in capsys.readouterr().out


def test_a_persons_interrupt_goes_through(shell: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_code(shell, "import signal\nsignal.raise_signal(signal.SIGINT)\nfor _ in range(10**9): pass")

    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_it_runs_only_where_the_notebook_itself_waits(shell: Any) -> None:
    errors: list[BaseException] = []

    def elsewhere() -> None:
        try:
            run_code(shell, "1")
        except ToolFailed as error:
            errors.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()

    assert "while a cell waits" in str(errors[0])


def test_a_cell_that_chats_runs_the_models_code_inside_itself(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    replies: list[ToolCall | str] = [call("run_python", code="found = double(4)\nprint('working')\nfound"), "It is 8."]
    with ScriptedWire(replies) as wire, ScriptedApprover([Approved()]) as approver:
        shell.user_ns |= {"wire": wire, "approver": approver}
        assert shell.run_cell(
            "from nbtool import Chat\nfrom nbtool.toolsets import notebook_python\n"
            "turn = Chat(wire=wire, approver=approver, tools=[notebook_python]).send('How much?')"
        ).success

    turn = shell.user_ns["turn"]
    assert turn.text == "It is 8."
    assert turn.calls[0].shown.startswith("working\nValue:\n8")
    assert turn.calls[0].result["value"] == shell.user_ns["found"] == 8
    assert "working" in capsys.readouterr().out


def test_the_extension_offers_the_notebook_and_takes_it_back(shell: Any) -> None:
    assert list(notebook_python().tools()) == ["run_python"]

    shell.run_line_magic("unload_ext", "nbtool")
    with pytest.raises(Exception, match="There is no notebook"):
        notebook_python()

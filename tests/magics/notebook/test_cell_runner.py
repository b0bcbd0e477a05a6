from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import Any

import pytest

from nbtool.errors import ToolFailed
from nbtool.magics.notebook.cell_runner import run_source


def kinds(outputs: list[dict[str, Any]]) -> list[str]:
    return [output["output_type"] for output in outputs]


def test_outputs_are_recorded_in_order_and_not_shown_where_the_chat_is(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    source = "from IPython.display import display, HTML\nprint('one')\nprint('two')\ndisplay(HTML('<b>x</b>'))\n'end'"

    result = run_source(shell, source)

    assert kinds(result.outputs) == ["stream", "display_data", "execute_result"]
    assert result.outputs[0]["text"] == "one\ntwo\n"
    assert result.outputs[1]["data"]["text/html"] == "<b>x</b>"
    assert result.outputs[2]["data"] == {"text/plain": "'end'"}
    assert capsys.readouterr().out == ""


def test_an_error_is_an_output_with_its_traceback_and_a_line(shell: Any) -> None:
    result = run_source(shell, "print('before')\n1 / 0")

    assert kinds(result.outputs) == ["stream", "error"]
    assert result.outputs[1]["ename"] == "ZeroDivisionError"
    assert result.error == "ZeroDivisionError: division by zero"
    assert "\x1b" not in result.as_cell_run().outputs[1].text


def test_a_display_that_is_updated_stays_one_output(shell: Any) -> None:
    source = "from IPython.display import display\nh = display(1, display_id=True)\nh.update(2)\n_ = 0"

    result = run_source(shell, source)

    assert [output["data"]["text/plain"] for output in result.outputs] == ["2"]


@pytest.mark.parametrize(("wait", "expected"), [(False, ["after"]), (True, ["after"])])
def test_cleared_output_is_removed(shell: Any, wait: bool, expected: list[str]) -> None:
    source = f"from IPython.display import clear_output\nprint('before')\nclear_output(wait={wait})\nprint('after')"

    result = run_source(shell, source)

    assert [output["text"].strip() for output in result.outputs] == expected


def test_output_beyond_the_bound_is_left_out_and_an_error_after_it_is_not(shell: Any) -> None:
    result = run_source(shell, "print('a' * 90)\nprint('b' * 90)\nprint('c')\n1 / 0", max_characters=100)

    assert kinds(result.outputs) == ["stream", "stream", "error"]
    omitted = "[The further output of this run is left out: it exceeds 100 characters or 1,000 outputs.]\n"
    assert result.outputs[1]["text"] == omitted


SHOW = "from IPython.display import display\n"
GROWING = {
    "displays without text": "for _ in range(2_000): display({'text/plain': ''}, raw=True)",
    "metadata": "display({'text/plain': ''}, raw=True, metadata={'k': 'x' * 300_000})",
    "the name of a type": "display({'x' * 300_000: ''}, raw=True)",
    "many types": "display({f'x/{n}': '' for n in range(90_000)}, raw=True)",
    "an update": "h = display(1, display_id=True)\nh.update({'text/plain': 'x' * 300_000}, raw=True)",
    "many updates": "h = display(1, display_id=True)\nfor n in range(9): h.update({f'{n}' * 300_000: ''}, raw=True)",
    "a traceback": "raise ValueError('x' * 900_000)",
    "lines of a traceback": "raise ValueError('x\\n' * 900_000)",
    "the name of an error": "raise type('x' * 900_000, (Exception,), {})",
}


@pytest.mark.promise("bounded")
@pytest.mark.parametrize("name", GROWING)
def test_output_in_any_form_is_within_the_bound(shell: Any, name: str) -> None:
    result = run_source(shell, SHOW + GROWING[name], max_characters=200_000, max_outputs=100)

    assert len(json.dumps(result.outputs)) < 900_000
    assert len(result.outputs) <= 101
    assert "left out" in str(result.outputs)


@pytest.mark.promise("bounded")
def test_many_short_prints_take_as_long_each_as_few(shell: Any) -> None:
    def seconds(count: int) -> float:
        started = time.thread_time()
        run_source(shell, f"for _ in range({count}): print('x' * 9)", max_characters=10**9)
        return time.thread_time() - started

    seconds(1_000)
    assert seconds(80_000) < 24 * seconds(10_000)  # 8 times as many; 64 times as long before each was stored alone


@pytest.mark.parametrize(
    "shown",
    ["{5: 'x'}, raw=True", "{'application/json': float('nan')}, raw=True", "{'x/\\ud800': 'x'}, raw=True"],
)
def test_a_display_that_is_no_json_can_be_sent_to_the_page_and_to_the_model(shell: Any, shown: str) -> None:
    result = run_source(shell, f"{SHOW}display({shown})")

    assert json.dumps(result.outputs, ensure_ascii=False, allow_nan=False).encode()
    assert len(result.as_cell_run().outputs) == 1


def test_names_of_the_cell_are_those_of_the_notebook_and_its_history_is_not(shell: Any) -> None:
    count = shell.execution_count

    run_source(shell, "made_here = double(4)")

    assert shell.user_ns["made_here"] == 8
    assert shell.execution_count == count


def test_a_cell_runs_on_the_main_thread_only(shell: Any) -> None:
    errors: list[BaseException] = []

    def work() -> None:
        try:
            run_source(shell, "x = 1")
        except ToolFailed as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert "only while a cell waits" in str(errors[0])


def test_the_shell_shows_its_outputs_as_before_afterwards(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run_source(shell, "1 / 0")
    capsys.readouterr()

    shell.run_cell("print('shown')\n40 + 2")

    said = capsys.readouterr().out
    assert "shown" in said
    assert "42" in said


def test_what_a_message_cannot_carry_is_shown_as_text(shell: Any) -> None:
    source = (
        "from IPython.display import display\n"
        "print('half \\ud800 of a character')\n"
        "display({'text/plain': 'x', 'application/json': {1, 2}, 'image/png': b'png'}, raw=True, metadata={'a': {1}})\n"
        "raise ValueError('\\udc00')"
    )

    outputs = run_source(shell, source).outputs

    assert json.dumps(outputs, ensure_ascii=False).encode()
    assert outputs[0]["text"] == "half ? of a character\n"
    assert outputs[1]["data"] == {"text/plain": "x", "application/json": "{1, 2}", "image/png": "cG5n"}
    assert outputs[1]["metadata"] == {}
    assert outputs[2]["ename"] == "ValueError"


def test_a_cell_that_awaits_runs_only_where_no_event_loop_runs(shell: Any) -> None:
    source = "import asyncio\nawait asyncio.sleep(0)\nawaited = 1"

    async def run_inside() -> None:
        with pytest.raises(ToolFailed, match="This cell awaits"):
            run_source(shell, source)
        run_source(shell, "not_awaited = 1")

    asyncio.run(run_inside())

    assert "awaited" not in shell.user_ns
    assert shell.user_ns["not_awaited"] == 1
    assert run_source(shell, source).error == ""
    assert shell.user_ns["awaited"] == 1


def test_a_cell_with_wrong_syntax_is_an_error_of_its_run(shell: Any) -> None:
    async def run_inside() -> str:
        return run_source(shell, "if True").error

    assert asyncio.run(run_inside()).startswith("SyntaxError")

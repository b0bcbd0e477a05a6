"""Situations of public reports: what a notebook, IPython and its libraries do around a cell that asks a model."""

from __future__ import annotations

import asyncio
import copy
import pickle
import sqlite3
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nbtool import Chat, tool
from nbtool.chat.attachments import as_media
from nbtool.errors import BadUsage
from nbtool.testing import ScriptedWire, call
from nbtool.tools.tool import as_tools
from tests.shells import end_shell, new_shell
from tests.stopped_clock import stop_clock

QUIET = "-q -m practice:fast -o answer"


@pytest.fixture
def shell() -> Iterator[Any]:
    """Give a real IPython with the extension loaded."""
    made = new_shell()
    made.run_line_magic("load_ext", "nbtool")
    yield made
    end_shell()


def output_of(shell: Any, cell: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    shell.run_cell(cell, store_history=True)
    said = capsys.readouterr()
    return said.out + said.err


def define(source: str) -> Any:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "<cell>", "exec", dont_inherit=True), names)
    return names["price"]


# The text of a cell, which IPython reads first.


def test_a_line_magic_whose_text_is_a_question(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """ipython/ipython#14258: a line magic whose text ends with a question mark. Right: it runs. Before: wrong."""
    output_of(shell, "x = 1", capsys)
    actual = output_of(shell, "%chat explain --dry-run what is x for?", capsys)

    assert "Object `for` not found" not in actual
    assert "what is x for?" in actual


def test_help_of_a_magic_is_still_help(shell: Any) -> None:
    """ipython/ipython#13996: `%%cmd?` asks for help on a cell magic. Right: help. Before: right."""
    assert "pinfo" in shell.transform_cell("%%chat?")
    assert "pinfo2" in shell.transform_cell("%chat??")


def test_a_comment_above_a_cell_magic(shell: Any) -> None:
    """ipython/ipython#15312: comment lines above a cell magic make it a line magic. Right: it runs. Before: wrong."""
    assert shell.run_cell(f"# setup\n\n# of the cell\n%%chat {QUIET}\nHello").success
    assert shell.user_ns["answer"].prompt.text == "Hello"


@pytest.mark.parametrize("above", ["import os\n", "%time 1\n", "# And finally\nmean = 1\n"])
def test_code_above_a_cell_magic(shell: Any, above: str, capsys: pytest.CaptureFixture[str]) -> None:
    """jupyter/notebook#5112, jupyter/notebook#5269, hyperdashio/hyperdash-sdk-py#61: code above a cell magic, whose
    error names a line magic. Right: the error says that it has to come first. Before: wrong."""
    actual = output_of(shell, f"{above}%%chat {QUIET}\nWhat's this?", capsys)

    assert "%%chat has to be the first line of its cell" in actual
    assert "mean" not in shell.user_ns


@pytest.mark.parametrize("body", [">>> fact(5)\n120", "Why is this 5?\n>>> fact(5)\n120", "In [1]: fact(5)\n120"])
def test_prompts_in_the_text_of_a_cell_magic(shell: Any, body: str) -> None:
    """ipython/ipython#8791, jupyterlab/jupyterlab#16483: prompts in the text of a cell are removed. Right: sent as they
    are. Before: wrong."""
    assert shell.run_cell(f"%%chat {QUIET}\n{body}").success
    assert shell.user_ns["answer"].prompt.text == body


@pytest.mark.parametrize("space", ["\u00a0", "\u202f", "\u3000"])
def test_spaces_of_web_pages(shell: Any, space: str) -> None:
    """jupyter/notebook#3105, notable/notable#778: a space without a break in copied code. Right: it is a space.
    Before: wrong."""
    assert shell.run_cell(f"%%chat {QUIET}{space}--set append_turns=true\nHello{space}: you").success
    assert shell.user_ns["answer"].prompt.text == f"Hello{space}: you"


# Copies of what a cell left in the notebook.


def test_a_dump_of_a_session_with_an_answer(shell: Any) -> None:
    """uqfoundation/dill#281, uqfoundation/dill#537: one object of a notebook breaks the dump of all. Right: an answer
    does not. Before: wrong."""
    shell.run_cell(f"%%chat {QUIET}\nHello")
    again = pickle.loads(pickle.dumps({"answer": shell.user_ns["answer"]}))["answer"]

    assert again.text == shell.user_ns["answer"].text


def test_a_copy_of_a_result() -> None:
    """JeschkeLab/DeerLab#301, lexiforest/curl_cffi#525: results can be neither copied nor pickled. Right: data.
    Before: wrong."""
    with ScriptedWire(["Done."]) as wire:
        turn = Chat(wire=wire).send("Go")

    assert copy.deepcopy([turn])[0].text == pickle.loads(pickle.dumps(turn)).text == "Done."


def test_a_copy_of_a_turn_that_failed() -> None:
    """deepset-ai/haystack#10026: copying the state of a failed agent raises an error of its own. Right: the copy has
    the error. Before: wrong."""
    turn = Chat("openai:m", base_url="http://127.0.0.1:9", api_key="k").send("Go")
    again = copy.deepcopy(turn)

    assert (again.status, str(again.error)) == ("error", str(turn.error))


def test_a_copy_of_an_agent() -> None:
    """google/adk-python#856: a deep copy of an agent names an object of its inside. Right: one sentence says what to do
    instead. Before: wrong."""
    with pytest.raises(BadUsage, match=r"A chat cannot be copied .* `chat\.fork\(\)`"):
        copy.deepcopy(Chat())


# Event loops.


def test_a_future_of_the_notebook_in_an_asynchronous_tool() -> None:
    """pydantic/pydantic-ai#4314, aio-libs/aiohttp#9020: "got Future attached to a different loop". Right: a tool of an
    awaited turn runs on the loop that awaits it. Before: wrong."""

    async def cell() -> Any:
        here = asyncio.get_running_loop()
        answer: asyncio.Future[str] = here.create_future()

        @tool(run="auto", timeout=20)
        async def wait_for_it() -> str:
            "Wait for the notebook."
            here.call_soon_threadsafe(here.call_later, 0.01, answer.set_result, "came")
            return await answer

        return await Chat(wire=ScriptedWire([[call("wait_for_it")], "Done."]), tools=[wait_for_it]).start("Go")

    assert asyncio.run(cell()).calls[0].result == "came"


def test_a_pool_that_the_first_turn_made_serves_the_second() -> None:
    """aio-libs/aiobotocore#807: a client that the first run made is bound to its loop. Right: later turns on that loop
    use it. Before: right."""
    locks: list[asyncio.Lock] = []

    @tool(run="auto")
    async def use_pool() -> int:
        "Use the pool."
        if not locks:
            locks.append(asyncio.Lock())
        async with locks[0]:
            await asyncio.sleep(0)
        return len(locks)

    async def cell() -> list[Any]:
        calls = [call("use_pool"), call("use_pool")]
        chat = Chat(wire=ScriptedWire([calls, "One.", calls, "Two."]), tools=[use_pool])
        turns = [await chat.start("Go"), await chat.start("Again")]
        return [one.result for turn in turns for one in turn.calls]

    assert asyncio.run(cell()) == [1, 1, 1, 1]


# A clock that a library of tests has stopped.


async def never_end() -> None:
    "Never end."
    await asyncio.Event().wait()


def test_a_time_limit_while_the_clock_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """spulec/freezegun#437, spulec/freezegun#563, adamchainz/time-machine#387: a stopped clock makes waits endless.
    Right: time limits are reached. Before: wrong."""
    stop_clock(monkeypatch)
    with ScriptedWire([[call("never_end")], "Done."]) as wire:
        turn = Chat(wire=wire, tools=[tool(never_end, run="auto", timeout=0.1)]).send("Go")

    assert turn.calls[0].status == "timed_out"


def test_a_duration_while_the_clock_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """spulec/freezegun#384: of two readings of a clock one is stopped, and the difference is years. Right: the real
    duration. Before: wrong."""
    stop_clock(monkeypatch)
    with ScriptedWire(["Done."]) as wire:
        turn = Chat(wire=wire).send("Go")

    assert time.time() == time.monotonic()
    assert 0 < turn.stats.seconds < 60


# Data.


@pytest.mark.parametrize("template", ["Classify {x}", "Compare {x} with {y}"])
def test_two_columns_of_one_name(template: str) -> None:
    """pandas-dev/pandas#28262, cmudig/AutoProfiler#101: a frame with two columns of one name. Right: refused. Before:
    wrong."""
    frame = pd.DataFrame([[1, 2, 3]], columns=["x", "y", "x"])

    with pytest.raises(BadUsage, match="Two columns are named 'x'"):
        Chat(wire=ScriptedWire([])).map(template, frame)


def test_two_columns_of_one_name_after_a_join() -> None:
    """ghga-de/datameta#80: of two columns with a name the first one is used without a word. Right: refused. Before:
    wrong."""
    cursor = sqlite3.connect(":memory:").execute("SELECT 1 AS id, 2 AS id")

    with pytest.raises(BadUsage, match="Two columns are named 'id'"):
        Chat(wire=ScriptedWire([])).map("Classify {id}", cursor)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_an_attached_spreadsheet_in_utf_16(tmp_path: Path, encoding: str) -> None:
    """dust-tt/dust#25510, HKUDS/Vibe-Trading#865: "Unicode text" of Excel is UTF-16 with a byte order mark. Right: its
    text. Before: wrong."""
    (tmp_path / "data.csv").write_bytes("name;préis\n".encode(encoding))

    assert as_media(tmp_path / "data.csv").data == "name;préis\n".encode()


def test_an_attached_spreadsheet_in_windows_1252(tmp_path: Path) -> None:
    """indico/indico#6085, doccano/doccano#88: the error about a file in another encoding means nothing to its user.
    Right: it names the encoding and what to do. Before: wrong."""
    (tmp_path / "data.csv").write_bytes("name;préis\n".encode("cp1252"))

    with pytest.raises(BadUsage, match=r"data\.csv is not UTF-8 text, but perhaps Windows-1252.* Save it as UTF-8"):
        as_media(tmp_path / "data.csv")


def test_a_result_with_the_name_of_a_builtin(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """ipython/ipython#9224: "'str' object is not callable" until the kernel is restarted. Right: a result takes such a
    name only when asked to. Before: wrong."""
    actual = output_of(shell, f"%%chat {QUIET.replace('answer', 'str')}\nHello", capsys)

    assert "`str` is a builtin of Python" in actual
    assert "str" not in shell.user_ns


def test_a_variable_called_str_and_a_tool_with_texts() -> None:
    """spacetelescope/drizzlepac#57: a text is assigned to the name `str`. Right: the error about a later tool names the
    variable. Before: wrong."""
    with pytest.raises(BadUsage, match=r"`str` is a variable of this notebook .*`del str`"):
        as_tools(tool(define("str = 'abc'\ndef price(ticker: str) -> float:\n    return 1.5")))


LOOKED_AT = {
    "masked array": lambda: np.ma.array([1, 2], mask=[0, 1]),
    "groups": lambda: pd.DataFrame({"k": ["a", "b"], "v": [1.5, 2.5]}).groupby("v"),
    "window": lambda: pd.Series([1.0, 2.0]).rolling(2),
    "dates": lambda: pd.DataFrame({"v": [1]}, index=pd.date_range("2026-01-01", periods=1, freq="D")),
    "intervals": lambda: pd.Series([1, 2], index=pd.IntervalIndex.from_breaks([0, 1, 2])),
    "levels": lambda: pd.DataFrame({"v": [1, 2]}, index=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])),
    "categories": lambda: pd.Series(["a", "b"], dtype="category"),
    "sparse": lambda: pd.Series(pd.arrays.SparseArray([0, 0, 1])),
}


@pytest.mark.parametrize("kind", LOOKED_AT)
def test_an_object_that_was_only_looked_at(shell: Any, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    """pandas-dev/pandas#58529: reading an attribute of an index fills its cache. Right: it is not called changed.
    Before: right."""
    shell.user_ns["thing"] = LOOKED_AT[kind]()
    shell.run_cell("from typing import Any\ndef look(x: Any) -> int:\n    'Look.'\n    return len(x)")
    actual = output_of(
        shell, "%%chat -m practice:fast -t look -v thing --approve auto\nUse &`look` with $`thing`.", capsys
    )

    assert "look(" in actual
    assert "changed in place" not in actual


# What a saved turn is to a reader without the page.


def test_a_task_list_in_an_exported_answer() -> None:
    """jupyter/notebook#3725, typora/typora-issues#5469: a task was a bullet and two brackets, or lost its box, in what
    was exported. Right: each task has its box, done or not, in place of the bullet. Before: wrong."""
    chat = Chat(wire=ScriptedWire(["- [x] load the *data*\n- [ ] fit the model\n- [link](https://example.org)"]))
    html = chat.send("What is left?")._repr_mimebundle_()["text/html"]

    assert html.count("☑ load the <em>data</em>") == html.count("☐ fit the model") == 1
    assert html.count("list-style:none") == 2
    assert "[x]" not in html


@pytest.mark.parametrize(
    "source",
    [
        r"\[ \frac{\partial^2 u}{\partial t^2} = c^2 \]",
        "$$\n\\begin{array}{c|c}\n\\tau & Q \\\\\n\\hline\n& w^\\top\n\\end{array}\n$$",
        r"$x^*(\boldsymbol{b}) = a^*$",
        r"$\left\{ a_{n} \right\}$",
    ],
)
def test_a_formula_in_an_exported_answer(source: str) -> None:
    """markedjs/marked#3445, theacodes/cmarkgfm#67, yzane/vscode-markdown-pdf#221, torchbox/wagtail-markdown#117: the
    backslashes before brackets and at the ends of lines were lost, and two `*` became italics.
    Right: the source of a formula is shown as it was written. Before: wrong."""
    html = Chat(wire=ScriptedWire([f"Then\n\n{source}"])).send("Which one?")._repr_mimebundle_()["text/html"]

    assert source in unescape(html)


def test_a_name_of_a_result_that_the_notebook_uses_for_another_object(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """posit-dev/positron#13470: a result gets a name that the notebook has already: overwritten, or refused without a
    way on. Right: both objects stay, and the error names the line that helps. Before: wrong."""
    made = tool(run="auto", name="total")(lambda: [1, 2])
    shell.user_ns["asked"] = Chat(wire=ScriptedWire([call("total"), "Done."]), tools=[made])
    shell.run_cell("%%chat -c asked -q\nAdd them.")
    shell.run_cell("total_1_result = [3]")

    refused = output_of(shell, "%%chat -c asked -q\nLook at $`total_1_result`.", capsys)

    assert "my_total_1_result = total_1_result" in refused
    assert shell.user_ns["total_1_result"] == [3]
    assert shell.user_ns["asked"].variables.value("total_1_result") == [1, 2]

from __future__ import annotations

import re
import sys
from base64 import b64decode, b64encode

import nbformat
import pandas as pd
import pytest

from nbtool import Chat, tool
from nbtool.chat.export.call_code import ExportContext
from nbtool.chat.export.figures import Figures
from nbtool.chat.export.notebook import as_notebook
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.events import CallFinished
from nbtool.messages import Media
from nbtool.testing import ScriptedWire, call
from tests.chat.export.saying import SECRET, double, make_chat
from tests.samples import PNG


def line(chat: Chat) -> list[Turn]:
    return [node.turn for node in chat.tree.active_path if node.turn]


def around(chat: Chat) -> ExportContext:
    return ExportContext(chat.tools.tools(), chat.variables, {"double": double})


def test_a_notebook_holds_prompts_saved_outputs_and_code() -> None:
    chat = make_chat()
    written = as_notebook(line(chat), around(chat))
    notebook = nbformat.reads(written, as_version=4)
    nbformat.validate(notebook)

    sources = [cell.source for cell in notebook.cells]
    assert [sources[1], sources[3]] == ["%load_ext nbtool", "%%chat\nFirst *thing*"]
    assert sources[0].startswith("# A chat with `scripted`")
    assert sources[2].startswith("# The calls of a chat as plain Python.")
    assert any("r1 = double(n=4)" in source for source in sources)
    html = notebook.cells[3].outputs[0].data["text/html"]
    assert "<script" not in html
    assert "All" in html
    assert SECRET not in written


def test_the_same_turns_give_the_same_notebook() -> None:
    chat = make_chat()

    assert as_notebook(line(chat), around(chat)) == as_notebook(line(chat), around(chat))


def test_a_prompt_holds_nothing_invisible_and_stays_in_its_cell() -> None:
    with ScriptedWire(["Done."]) as wire:
        chat = Chat(wire=wire)
        chat.send("%%bash\n\u202e rm")
    notebook = nbformat.reads(as_notebook(line(chat), around(chat)), as_version=4)
    assert notebook.metadata.language_info.pygments_lexer == "ipython3"

    assert notebook.cells[3].source == "%%chat\n%%bash\n\\u{202e} rm"


def test_without_nbformat_the_error_names_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nbformat", None)
    chat = make_chat()
    with pytest.raises(BadUsage, match="pip install nbformat"):
        as_notebook(line(chat), around(chat))


@tool(run="auto")
def plot(n: int) -> Media:
    "Plot."
    return Media("image/png", PNG + bytes(n))


@tool(run="auto")
def frame() -> pd.DataFrame:
    "Give a frame."
    return pd.DataFrame({"n": [1, 2]})


def test_figures_and_tables_are_outputs() -> None:
    with ScriptedWire([[call("plot", n=0), call("plot", n=400_000), call("frame")], "Done."]) as wire:
        chat = Chat(wire=wire, tools=[plot, frame])
        chat.send("Draw.")
    notebook = nbformat.reads(as_notebook(line(chat), around(chat)), as_version=4)
    turn, large = notebook.cells[3].outputs

    assert f'src="data:image/png;base64,{b64encode(PNG).decode()}"' in turn.data["text/html"]
    table = re.sub(' style="text-align:right"', "", turn.data["text/html"])
    assert "<table><tr><th>n</th></tr><tr><td>1</td></tr><tr><td>2</td></tr></table>" in table
    assert b64decode(large.data["image/png"]) == PNG + bytes(400_000)


def test_a_line_names_the_figures_that_only_their_own_kernel_had() -> None:
    with ScriptedWire([[call("plot", n=0), call("frame")], "Done."]) as wire:
        chat = Chat(wire=wire, tools=[plot, frame])
        turn = chat.send("Draw.")
    for event in turn.log:
        if isinstance(event, CallFinished) and event.name == "frame":
            event.media_unsaved = 1  # as the journal of another kernel says
    figures = Figures()
    notebook = nbformat.reads(as_notebook(line(chat), around(chat), figures=figures), as_version=4)
    _, missing = notebook.cells[3].outputs

    assert missing.data["text/plain"] == (
        "[1 image or sound of this result is not here: only the kernel that made it had the bytes]"
    )
    assert figures.unsaved == 1

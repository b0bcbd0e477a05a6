from __future__ import annotations

import threading

from nbtool import Chat
from nbtool.blocks.render.static_html import to_html
from nbtool.events import CallFinished
from nbtool.testing import ScriptedWire, call
from nbtool.tools import tool
from tests.tools.calling import ask_for, make_harness


def test_a_result_that_takes_too_long_to_render_is_reported_without_a_picture() -> None:
    goes_on = threading.Event()

    class Slow:
        def _repr_png_(self) -> bytes | None:
            goes_on.wait(10)
            return None

    Slow.__module__ = "matplotlib.odd"
    give = tool(lambda: Slow(), name="give", run="auto")
    record = make_harness(give, render_seconds=0.05).run(ask_for("give"))
    goes_on.set()

    assert (record.status, record.media, type(record.result)) == ("ok", (), Slow)


def test_a_result_of_which_the_model_gets_a_part_says_what_the_whole_is() -> None:
    @tool(run="auto")
    def long() -> str:
        """Give a long text."""
        return "word " * 20_000

    @tool(run="auto")
    def short() -> str:
        """Give a short text."""
        return "word " * 100

    with ScriptedWire([call("long"), call("short"), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[long, short]).send("Go")
    finished = {event.name: event for event in turn.log if isinstance(event, CallFinished)}
    blocks = {block["name"]: block for block in turn.transcript().document()["blocks"] if block["kind"] == "call"}

    assert finished["long"].whole.startswith("str, 100")
    assert blocks["long"].get("whole") == finished["long"].whole
    assert f"shown in part; the whole is {finished['long'].whole}" in to_html(turn.transcript().document())
    assert (finished["short"].whole, blocks["short"].get("whole")) == ("", None)

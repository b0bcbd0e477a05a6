"""Turns that `pickle`, `copy`, `%store` and dumps of a whole session take: data of what has ended."""

from __future__ import annotations

import copy
import pickle
import threading
from dataclasses import dataclass
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage, NbtoolError
from nbtool.testing import ScriptedWire, call


@dataclass
class Fruit:
    name: str


class Needy(Exception):
    """An error that pickle cannot read back."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


@tool(run="auto")
def open_it(n: int) -> Any:
    "Open something that no file can hold."
    return threading.Lock() if n else None


def finished(*replies: Any, **options: Any) -> Turn:
    with ScriptedWire(list(replies)) as wire:
        return Chat(wire=wire, tools=[open_it]).send("Go", **options)


COPIES = {
    "pickle": lambda turn: pickle.loads(pickle.dumps(turn)),
    "oldest pickle": lambda turn: pickle.loads(pickle.dumps(turn, 2)),
    "deepcopy": lambda turn: copy.deepcopy({"a": [turn]})["a"][0],
    "copy": copy.copy,
    "twice": lambda turn: pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(turn)))),
}


@pytest.mark.parametrize("kind", COPIES)
def test_a_finished_turn_is_data(kind: str) -> None:
    turn = finished([call("open_it", n=1)], "Done.")
    again = COPIES[kind](turn)

    for name in ("text", "status", "usage", "stats", "model", "turn_id", "content", "thinking", "notices", "started"):
        assert getattr(again, name) == getattr(turn, name), name
    assert [(one.name, one.status, one.shown) for one in again.calls] == [
        (one.name, one.status, one.shown) for one in turn.calls
    ]
    assert again.calls[0].result is None
    assert turn.calls[0].result is not None
    assert again.messages == turn.messages
    assert again._repr_mimebundle_() == turn._repr_mimebundle_()
    assert again.done.result() is again
    assert repr(again) == repr(turn)


def test_the_value_of_an_answer_is_kept() -> None:
    turn = finished('{"name": "plum"}', as_=Fruit)
    again = pickle.loads(pickle.dumps(turn))

    assert again.value == Fruit("plum")
    assert pickle.loads(pickle.dumps(again)).value == Fruit("plum")


@pytest.mark.parametrize("error", [Needy(5, "no"), NbtoolError("What.", fix="Do."), ValueError("no"), None])
def test_the_error_of_a_turn_is_kept_or_its_text(error: Exception | None) -> None:
    turn = finished("Hello")
    turn.error = error
    again = pickle.loads(pickle.dumps(turn))

    assert (again.error is None) is (error is None)
    if error is not None:
        assert str(error) in str(again.error)


def test_a_turn_that_runs_is_refused_with_the_way_out() -> None:
    turn = Chat(wire=ScriptedWire(["Hello"])).compose("Go")

    with pytest.raises(BadUsage, match=r"has not ended.*`%chat approve ID --wait`, `%chat stop`"):
        pickle.dumps(turn)


def test_a_copy_can_be_attached_shown_and_sent_on() -> None:
    again = copy.deepcopy(finished("Hello"))
    again.cancel()

    assert again.transcript().document()["blocks"]
    assert again.natural_flow == "Hello"


def test_a_chat_and_a_map_say_what_to_do_instead() -> None:
    chat = Chat(wire=ScriptedWire(["1"]))
    batch = chat.map(["a"]).wait()

    for save in (pickle.dumps, copy.deepcopy, copy.copy):
        with pytest.raises(BadUsage, match=r"`chat\.fork\(\)`"):
            save(chat)
        with pytest.raises(BadUsage, match=r"Save `batch\.values`"):
            save(batch)

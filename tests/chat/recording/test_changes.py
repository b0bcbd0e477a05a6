"""What matters, and keeps a recorded turn from being told again; what does not."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nbtool import Chat, tool
from nbtool.messages import Media
from nbtool.testing import call
from tests.chat.recording.making import ONLY, PROMPT, Shop, chat, frame
from tests.chat.recording.replaying import change_recording, notices


def other_price() -> list[Any]:
    @tool(run="auto")
    def price(ticker: str) -> int:
        "The price of a ticker."
        return len(ticker)

    return [price, Shop().tools()[1]]


def test_what_changed_is_reported(recorded_path: Path) -> None:
    exposed = change_recording(recorded_path, lambda chat: chat.expose(df=frame(3)))
    tools = change_recording(recorded_path, tools=other_price())
    missing = change_recording(recorded_path, tools=[Shop().tools()[0]])
    system = change_recording(recorded_path, system="Be brief.")
    options = change_recording(recorded_path, options={"temperature": 0})
    model = change_recording(recorded_path, lambda chat: setattr(chat, "model", Chat("openai:gpt-5-mini").model))
    more = change_recording(recorded_path, lambda chat: chat.expose(other=1))
    prompt = change_recording(recorded_path, prompt="Something else.")

    assert "`df`" in exposed
    assert "the tool `price` changed" in tools
    assert "the tool `head` is gone" in missing
    assert "system text" in system
    assert "the options" in options
    assert "openai:gpt-5-mini, " in model
    assert "`other`" in more
    assert "notebook.nbtool.json" in prompt
    assert len({exposed, tools, missing, system, options, model, more, prompt}) == 8


def test_in_auto_what_changed_is_reported_and_the_model_is_asked(recorded_path: Path) -> None:
    fresh = chat(recorded_path, ["Another answer."])
    fresh.expose(df=frame(3))

    turn = fresh.send(PROMPT)

    assert turn.text == "Another answer."
    assert turn.replayed is None
    (notice,) = notices(turn)
    assert all(part in notice for part in (str(dt.date.today()), "`df`"))


def test_an_attachment_that_changed_is_another_prompt(path: Path) -> None:
    chat(path, ["A dot."]).send("Look", attach=Media("image/png", b"\x89PNG one"))

    again = chat(path).send("Look", attach=Media("image/png", b"\x89PNG one"), settings=ONLY)
    other = chat(path).send("Look", attach=Media("image/png", b"\x89PNG two"), settings=ONLY)

    assert again.text == "A dot."
    assert other.status == "error"


def test_the_date_in_the_prompt_does_not_matter(recorded_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nbtool.chat.prompt_context._today", lambda: "1999-12-31 (CET)")

    assert chat(recorded_path).send(PROMPT).replayed is not None


def test_a_table_that_a_tool_reads_by_name_matters(path: Path) -> None:
    def kernel(rows: int) -> Any:
        around: dict[str, Any] = {"__name__": "__main__", "table": pd.DataFrame({"a": range(rows)}), "seen": []}
        exec("def size() -> int:\n    'How many.'\n    seen.append(1)\n    return len(table)", around)
        return tool(run="auto")(around["size"])

    Chat_ = lambda rows, replies=(): chat(path, replies, tools=[kernel(rows)])  # noqa: E731, N806 - a kernel a call
    Chat_(3, [call("size"), "Three."]).send("How many?")

    same = Chat_(3).send("How many?")
    other = Chat_(4).send("How many?", settings=ONLY)

    assert same.text == "Three."
    assert all(part in str(other.error) for part in ("`table`", "`size`"))


def test_options_that_cannot_be_compared_keep_a_turn_from_being_recorded(path: Path) -> None:
    turn = chat(path, ["Hi."], options={"stop": object()}).send("Hello")

    assert "`options`" in notices(turn)[0]
    assert not path.exists()


def test_a_turn_with_text_that_no_file_can_hold_is_kept_without_it(path: Path) -> None:
    chat(path, ["Hi \ud800."], tools=[]).send("Hello \ud800")

    assert chat(path, tools=[]).send("Hello \ud800").text == "Hi \ufffd."


def test_what_a_tool_itself_changes_does_not_matter(path: Path) -> None:
    def kernel(replies: Any = ()) -> Chat:
        letters: list[str] = []

        @tool(run="auto")
        def write(to: str) -> str:
            "Write a letter."
            letters.append(to)
            return f"To {to}."

        return chat(path, replies, tools=[write])

    first = kernel([call("write", to="ada"), "Written.", "Welcome."])
    first.send("Write")
    first.send("Thanks")
    second = kernel()

    assert [second.send(prompt).text for prompt in ("Write", "Thanks")] == ["Written.", "Welcome."]


def test_an_object_that_cannot_be_compared_keeps_a_turn_from_being_recorded(path: Path) -> None:
    first = chat(path, ["Hm."])
    first.expose(model=object())
    turn = first.send("Score $VAR_REF{{model}}")

    (notice,) = notices(turn)
    assert "`model`" in notice
    assert not path.exists()


def test_an_object_that_cannot_be_compared_and_is_not_pointed_to_does_no_harm(path: Path) -> None:
    first, second = chat(path, ["Hi."]), chat(path)
    for one in (first, second):
        one.expose(model=object())
    first.send("Hello")

    assert second.send("Hello").text == "Hi."

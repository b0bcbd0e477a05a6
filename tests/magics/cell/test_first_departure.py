"""What the first prompt to a host sends is said before it is sent, once a host."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool.chat.chat import Chat
from nbtool.magics.cell.first_departure import MAX_NAMED, first_departure_note
from nbtool.tools import tool
from nbtool.wire.transport import traffic


@tool
def price(ticker: str) -> float:
    "Latest close."
    return float(len(ticker))


def compose(address: str = "https://lab.example/v1", **more: Any) -> tuple[Chat, Any]:
    chat = Chat("lab:large", base_url=address, api_key="k", **more)  # type: ignore[arg-type]  # tests of texts
    return chat, chat.compose("Which is cheaper?")


@pytest.fixture(autouse=True)
def no_traffic(monkeypatch: pytest.MonkeyPatch) -> dict[str, traffic.HostTraffic]:
    """Give the traffic of this process, which has none yet."""
    totals: dict[str, traffic.HostTraffic] = {}
    monkeypatch.setattr(traffic, "_totals", totals)
    return totals


def test_host_variables_columns_values_and_tools_are_named() -> None:
    pandas = pytest.importorskip("pandas")
    chat, turn = compose(tools=[price], system="Be brief.")
    chat.expose(df=pandas.DataFrame({"species": ["a"], "mass": [1.0]}))
    chat.expose(limits=[1, 2], read=True)

    note = first_departure_note(chat, turn, cells=2)

    for part in ("lab.example", "system prompt", "2 cells", "`df`", "species", "mass", "values of `limits`", "price"):
        assert part in note
    assert "--dry-run" in note


def test_a_name_that_is_looked_up_in_the_notebook_is_described_as_the_object_that_it_is_now() -> None:
    pandas = pytest.importorskip("pandas")
    chat, turn = compose()
    chat.variables.attach_notebook({"df": pandas.DataFrame({"species": ["a"], "mass": [1.0]})})
    chat.variables.expose("df")

    note = first_departure_note(chat, turn)

    assert all(part in note for part in ("`df`", "DataFrame", "species", "mass"))


def test_more_variables_than_a_line_names_are_counted() -> None:
    chat, turn = compose()
    chat.expose(**{f"v{n}": n for n in range(MAX_NAMED + 3)})

    note = first_departure_note(chat, turn)

    assert "`v7`" in note
    assert "`v8`" not in note
    assert "3 more variables" in note


@pytest.mark.parametrize("address", ["http://127.0.0.1:8000/v1", "http://localhost:8000/v1", "http://[::1]:8000/v1"])
def test_a_server_of_this_machine_has_no_such_line(address: str) -> None:
    assert first_departure_note(*compose(address)) == ""


def test_a_host_that_had_a_prompt_has_no_such_line_and_a_list_of_models_is_no_prompt(
    no_traffic: dict[str, traffic.HostTraffic],
) -> None:
    no_traffic["lab.example"] = traffic.HostTraffic(1, 0)
    listed = first_departure_note(*compose())
    no_traffic["lab.example"] = traffic.HostTraffic(2, 900)

    assert listed
    assert first_departure_note(*compose()) == ""


def test_the_model_in_the_kernel_has_no_such_line() -> None:
    chat = Chat("practice:fast")

    assert first_departure_note(chat, chat.compose("Hello.")) == ""

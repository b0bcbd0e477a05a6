"""Situations of public reports about values that became other values on their way to a model."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import PIL.Image
import plotly.express as px
import polars as pl
import pytest
import xarray as xr
from IPython.display import HTML, JSON, Latex, Markdown
from matplotlib.figure import Figure

from nbtool import Approved, Chat, tool
from nbtool.chat.turn import Turn
from nbtool.events import Notice
from nbtool.messages import Media
from nbtool.testing import ScriptedWire, call
from tests.chaos import DONE, event, finish, head, serve_each, text, whole
from tests.samples import PNG
from tests.wire.process_state import clear_adaptations


def read(value: Any) -> str:
    """Return what a model reads of the result of a tool, without the line that names its variable."""
    shown = run(lambda: value).calls[0].shown
    return shown.partition("\n[Whole result")[0].partition("\n[Shown in part")[0]


def run(function: Callable[[], Any]) -> Turn:
    made = tool(run="auto", name="give")(function)
    return Chat(wire=ScriptedWire([call("give"), "Done."]), tools=[made]).send("Go.")


def is_whole(value: Any) -> bool:
    return "[Shown in part" not in run(lambda: value).calls[0].shown


def test_an_id_in_a_column_of_floats_keeps_its_digits() -> None:
    """boettiger-lab/mcp-data-server#387: ids were shown in scientific notation. Right: each digit. Before: wrong."""
    frame = pd.DataFrame({"id": [123456789012, None]})

    assert "123456789012" in read(frame)
    assert "NaN" in read(frame)


def test_a_small_number_is_not_rounded_to_a_display_precision() -> None:
    """pandas-dev/pandas#46257: small numbers lost their digits in `to_string`. Right: all. Before: wrong."""
    frame = pd.DataFrame({"c0": [1234.0], "c2": [1.234567891e-18]})

    with pd.option_context("display.precision", 2):
        assert read(frame).endswith("c0,c2\n1234.0,1.234567891e-18")


def test_columns_in_the_middle_of_what_a_script_prints_are_there() -> None:
    """langchain-ai/langchain#7901: `print(df)` left out columns, and the model took them for empty.

    Right: all columns. Before: wrong.
    """
    from nbtool.tools.script import script_tools  # noqa: PLC0415 - of this test only

    wide = pd.DataFrame({f"c{n}": [n] for n in range(30)})

    @tool(run="auto")
    def load() -> Any:
        return wide

    wire = ScriptedWire([call("RunScript", script="print(load())"), "Done."])
    turn = Chat(wire=wire, tools=[load, script_tools()], approver=lambda _: Approved()).send("Go.")
    (shown,) = [record.shown for record in turn.calls if record.name == "RunScript"]

    assert all(f"c{n}" in shown for n in range(30)), shown
    assert "..." not in shown


def test_the_periods_that_are_keys_are_all_there() -> None:
    """pandas-dev/pandas#31917, Kanaries/pygwalker#63: a Period is no JSON. Right: its text. Before: wrong."""
    sums = pd.Series([1, 2, 3], index=pd.period_range("2026-01", periods=3, freq="M"))

    assert json.loads(read(sums.to_dict())) == {"2026-01": 1, "2026-02": 2, "2026-03": 3}


def test_the_columns_of_a_report_may_be_years_as_periods() -> None:
    """JerBouma/FinanceToolkit#103: `Can't clean for JSON: Period('2018', 'Y-DEC')`. Right: 2018. Before: wrong."""
    frame = pd.DataFrame([[1.5]], columns=pd.PeriodIndex(["2018"], freq="Y"), index=["AAPL"])

    assert read(frame).endswith(",2018\nAAPL,1.5")
    assert json.loads(read({"ratios": frame}))["ratios"]["columns"] == ["2018"]


def test_a_boolean_of_numpy_is_a_boolean() -> None:
    """wikimedia/revscoring#47, MTG/sms-tools#51: numpy's booleans are no JSON. Right: true. Before: wrong."""
    assert read({"ok": np.bool_(True), "all": [np.False_]}) == '{"ok": true, "all": [false]}'


def test_keys_of_two_values_are_kept_apart() -> None:
    """materialyzeai/monty#637: tuples as keys of a dict cannot be written. Right: their text. Before: right."""
    read_back = json.loads(read({(0, 0): "hello", ("a", 1): "you"}))

    assert list(read_back.values()) == ["hello", "you"]
    assert "'a', 1" in list(read_back)[1]


def test_two_columns_of_one_name_are_two() -> None:
    """langchain-ai/langchain-ibm#237: of `COUNT(*), COUNT(*)` one column was left. Right: both. Before: right."""
    frame = pd.DataFrame([[1000, 2000]], columns=["count", "count"])

    shown = read(frame).partition("\n")[2]
    assert (shown.count("count"), "1000" in shown, "2000" in shown) == (2, True, True)


def test_two_columns_of_one_name_are_two_inside_a_dict_as_well() -> None:
    """explosion/spacy-layout#38: columns of one name are lost in a dict. Right: both. Before: wrong."""
    frame = pd.DataFrame([[1, 2]], columns=["Value", "Value"])

    assert json.loads(read({"table": frame})) == {"table": {"columns": ["Value", "Value"], "rows": [[1, 2]]}}


def test_an_infinity_and_a_missing_number_are_not_null() -> None:
    """PrefectHQ/prefect#6439, TOMToolkit/tom_base#978: NaN and infinities are no JSON. Right: named. Before: wrong."""
    assert read({"flux": [float("inf"), float("nan"), None]}) == '{"flux": [Infinity, NaN, null]}'


def test_null_differs_from_an_empty_text() -> None:
    """pola-rs/polars#28589: null and "" were written alike. Right: told apart. Before: wrong."""
    frame = pl.DataFrame({"s": ["a", None, "", "null"]})

    assert read(frame).endswith('s\na\nnull\n""\n"null"')


def test_missing_values_of_pandas_differ_from_texts() -> None:
    """bokeh/bokeh#14907: NaT was written as NaN. Right: each by its name. Before: wrong."""
    frame = pd.DataFrame({"v": [pd.NaT, np.nan, pd.NA, None, "NaT", ""]}, dtype=object)

    assert read(frame).endswith('v\nNaT\nNaN\n<NA>\nNone\n"NaT"\n""')


def test_a_large_array_is_not_taken_for_a_small_one() -> None:
    """numpy/numpy#6855: a masked array left out values without a mark. Right: whole, or a mark. Before: wrong."""
    masked = np.ma.masked_array(np.arange(1_200), mask=np.arange(1_200) % 5 == 0)
    shown = read(masked).partition("\n")[2]

    assert not is_whole(masked) or ("599" in shown and "..." not in shown)


def test_an_array_in_a_dict_is_its_values() -> None:
    """SDXorg/pysd#197: arrays of over 1,000 values contained an ellipsis. Right: all values. Before: wrong."""
    read_back = json.loads(read({"x": np.arange(1_225), "n": 1}))

    assert read_back == {"x": list(range(1_225)), "n": 1}


def test_a_labelled_array_keeps_its_digits() -> None:
    """pydata/xarray#1207: its repr shows fewer digits. Right: all of them. Before: wrong."""
    assert "-0.11684307123" in read(xr.DataArray([-0.11684307123, 1.0], dims="x"))


def test_nanoseconds_are_kept() -> None:
    """ranaroussi/pystore#25, sunpy/sunpy#4409: the last three digits of a time were lost.

    Right: kept. Before: wrong.
    """
    moment = "2019-06-15T00:00:12.868214001"
    frame = pl.DataFrame({"ts": pl.Series([pd.Timestamp(moment).value]).cast(pl.Datetime("ns"))})

    assert moment in read(frame)
    assert moment in read({"ts": pd.Timestamp(moment)})


def test_a_float_of_four_bytes_has_no_digits_that_it_has_not() -> None:
    """neurolearn/neurolearn-web#31: numpy's float32 is no JSON. Right: 0.1 for 0.1. Before: wrong."""
    assert read({"a": np.float32(0.1), "b": np.array([0.1, 3.4], "f4")}) == '{"a": 0.1, "b": [0.1, 3.4]}'


def test_a_chart_is_its_data() -> None:
    """plotly/plotly.py#5124, nteract/nteract#1595: the data of a chart are base64. Right: numbers. Before: wrong."""
    chart = px.line(pd.DataFrame({"x": [1, 2], "y": [10_000_000_000, 0.5]}), x="x", y="y")

    assert "10000000000.0, 0.5" in read(chart)
    assert "bdata" not in read(chart)


@pytest.mark.parametrize(
    ("value", "content"),
    [(Markdown("## Report"), "## Report"), (HTML("<b>5</b>"), "<b>5</b>"), (Latex("$x^2$"), "$x^2$"),
     (JSON({"a": 1}), '{"a": 1}')],
)  # fmt: skip
def test_what_a_notebook_displays_is_read(value: Any, content: str) -> None:
    """ipython/ipython#12895, ideonate/nb2xls#4: it is read as `<IPython.core.display.Markdown object>`.

    Right: its text. Before: wrong.
    """
    assert read(value).endswith(content)
    assert content in json.dumps(json.loads(read([value])), ensure_ascii=False) or content == '{"a": 1}'
    assert is_whole(value)


def test_a_generator_in_a_result_is_its_values() -> None:
    """QwenLM/Qwen-Agent#506: a tool gives a generator of its pieces. Right: the pieces. Before: wrong."""
    assert read({"pieces": (word for word in ("This", "is")), "n": map(abs, [-1])}) == (
        '{"pieces": ["This", "is"], "n": [1]}'
    )
    assert "more items" in read({"all": itertools.count()})


def _figure() -> Any:
    figure = Figure(figsize=(1, 1), dpi=40)
    figure.subplots().plot([1, 2])
    return figure


@pytest.mark.parametrize(
    "make",
    [_figure, lambda: PIL.Image.new("RGB", (2, 2)), lambda: PNG, lambda: {"n": 1, "plots": [_figure()]}],
    ids=["figure", "image", "bytes", "in a dict"],
)
def test_a_picture_reaches_the_model(make: Any) -> None:
    """microsoft/agent-framework#4272, openai/openai-agents-python#787: tools give images, models get text.

    Right: the image. Before: wrong.
    """
    result = run(make).calls[0].to_result()

    assert [media.mime for media in result.media] == ["image/png"]
    assert PIL.Image.open(io.BytesIO(result.media[0].data or b"")).format == "PNG"


@pytest.mark.parametrize(
    ("status", "message"),
    [(400, "this model does not support image input"), (404, "No endpoints found that support image input")],
)
def test_a_model_that_takes_no_pictures_goes_on_without_them(status: int, message: str) -> None:
    """ollama/ollama#17301, JohnnyZ93/oai-compatible-copilot#229, zai-org/feedback#570, nexu-io/nexu#875: an image ends
    the turn, and each later one. Right: the turn goes on, and says so. Before: wrong.
    """

    @tool(run="auto")
    def draw() -> Any:
        """Draw."""
        return Media("image/png", PNG)

    clear_adaptations()
    asked = {"index": 0, "id": "c1", "type": "function", "function": {"name": "draw", "arguments": "{}"}}
    first = [head(), event({"choices": [{"index": 0, "delta": {"tool_calls": [asked]}}]}), finish("tool_calls"), DONE]
    refused = [whole(status, {"error": {"message": message, "type": "invalid_request_error"}})]
    with serve_each(first, refused, *[[head(), text("Done."), finish(), DONE]] * 2) as server:
        chat = Chat("tiny", base_url=server.url, tools=[draw])
        turns = [chat.send("Draw."), chat.send("And now?")]
    clear_adaptations()

    assert [turn.text for turn in turns] == ["Done.", "Done."]
    assert [one.text for one in turns[0].log if isinstance(one, Notice)] == [
        "tiny takes no images here, so those of results are not attached."
    ]


def test_the_levels_of_a_label_are_named_for_the_person_too() -> None:
    """sinaptik-ai/pandas-ai#1150: frames with columns of two levels. Right: both levels. Before: wrong."""
    pivot = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]))
    turn = run(lambda: pivot)

    assert turn.calls[0].table["columns"] == ["a / x", "a / y"]
    assert "a / x,a / y\n1,2" in turn.calls[0].shown


def test_a_description_is_cut_in_the_list_of_tools_only_where_that_saves_something() -> None:
    """MISP/MISP#451, mvhenten/ellipsize#7: a text was cut although the mark was as long as what it stood for.

    Right: the whole text. Before: wrong.
    """

    def read(path: str) -> str:
        return path

    listings = []
    for length in (110, 300):
        read.__doc__ = "x" * length
        with ScriptedWire(["Hello."]) as wire:
            Chat(wire=wire, tools=[read], search_tools=True).send("Hello?")
        listings.append(wire.prompts[0].system)

    assert "x" * 110 in listings[0]
    assert "x" * 110 not in listings[1]
    assert "200 characters more" in listings[1]


@pytest.mark.parametrize("value", [np.float32(0.6666667), np.bool_(True), np.int16(5), np.float64(0.5)], ids=repr)
def test_a_number_of_numpy_is_no_text_and_no_error_in_what_is_kept(value: Any, tmp_path: Path) -> None:
    """EleutherAI/lm-evaluation-harness#3885, numpy/numpy#16432, livekit/agents#2855: a number of numpy was written as a
    text, as another type, or not at all. Right: a number in the file, and its type when it is read. Before: wrong."""
    made = tool(run="auto", name="give")(lambda: {"value": value})
    recording = Chat(wire=ScriptedWire([call("give"), "Done."]), tools=[made])
    recording.record(tmp_path / "kept.json")
    recording.send("Go.")
    replaying = Chat(wire=ScriptedWire([]), tools=[made])
    replaying.record(tmp_path / "kept.json")

    restored = replaying.send("Go.").calls[0].result["value"]

    written = json.loads((tmp_path / "kept.json").read_text())["turns"][0]["calls"]["call-1"]["value"]
    assert written == {"value": value.item()}
    assert type(written["value"]) is type(value.item())
    assert (type(restored), restored) == (type(value), value)

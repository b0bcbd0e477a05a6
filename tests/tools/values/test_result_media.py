from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from nbtool import Approved, Released, Withheld, tool
from nbtool.messages import Media
from nbtool.tools.approval import Question
from nbtool.tools.values.named_parts import MultipartResult
from nbtool.tools.values.result_media import (
    MAX_DEPTH,
    MAX_MEDIA,
    MAX_MEDIA_BYTES,
    ResultMedia,
    extract_media,
    may_have_media,
)
from tests.policy.in_force import policy_in_force
from tests.samples import MP3, PNG, WAV
from tests.tools.calling import ask_for, make_harness


def figure() -> Any:
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

    rendered = Figure(figsize=(1, 1), dpi=40)
    rendered.subplots().plot([1, 2])
    return rendered


def shown_sound() -> Any:
    from IPython.display import Audio  # noqa: PLC0415 - the same

    return Audio(data=WAV)


class Grid:
    """Several plots that are saved as one picture."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def savefig(self, *args: Any, **keywords: Any) -> None:
        self.inner.savefig(*args, **keywords)


class Chart:
    """Draws itself, as charts of many libraries do."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def _repr_png_(self) -> bytes:
        return self.data


@pytest.mark.parametrize(
    ("make", "mimes"),
    [
        (lambda: Media("image/png", PNG, name="plot"), ["image/png"]),
        (lambda: PNG, ["image/png"]),
        (lambda: Image.new("RGB", (2, 2)), ["image/png"]),
        (figure, ["image/png"]),
        (lambda: figure().axes[0], ["image/png"]),
        (lambda: (drawing := figure(), drawing.axes[0], drawing.axes), ["image/png"]),
        (lambda: np.array([[figure().axes[0]], [figure().axes[0]]], dtype=object), ["image/png", "image/png"]),
        (lambda: Grid(figure()), ["image/png"]),
        (shown_sound, ["audio/wav"]),
        (lambda: [Media("audio/mpeg", MP3), "and words", PNG], ["audio/mpeg", "image/png"]),
        (lambda: {"plot": Image.new("L", (2, 2)), "n": 3}, ["image/png"]),
        (lambda: {"plots": [("a", Image.new("L", (2, 2)))]}, ["image/png"]),
        (lambda: Chart(PNG), ["image/png"]),
        (lambda: MultipartResult("ran", value=PNG, figures=[Media("image/png", PNG)]), ["image/png"]),
    ],
    ids=[
        "media",
        "bytes",
        "PIL",
        "figure",
        "axes",
        "with its axes",
        "array",
        "grid",
        "Audio",
        "list",
        "dict",
        "nested",
        "chart",
        "parts",
    ],
)
def test_images_and_sounds_of_a_result_are_rendered(make: Any, mimes: list[str]) -> None:
    value = make()

    found = extract_media(value)

    assert may_have_media(value)
    assert ([one.mime for one in found.media], found.omitted) == (mimes, 0)
    assert [one.mime for one in found.images] == [mime for mime in mimes if mime.startswith("image/")]


class Hostile:
    """Claims to draw itself."""

    def _repr_png_(self) -> bytes:
        return b"<svg onload=x/>"


class Broken:
    def _repr_png_(self) -> bytes:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "value",
    [
        "text", 3, None, ["a", 1.5], {"a": True}, b"no image", Hostile(), Broken(), Chart,
        Media("image/svg+xml", b"<svg onload=x/>"),
        Media("image/png", b"<svg onload=x/>"), Media("image/png", url="https://a.example/x.png"),
        Media("application/pdf", b"%PDF-1.7"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_nothing_else_is_rendered_whatever_it_claims_to_be(value: Any) -> None:
    assert extract_media(value) == ResultMedia()


def test_too_many_and_too_large_ones_are_counted() -> None:
    large = Media("image/png", PNG + bytes(MAX_MEDIA_BYTES))

    found = extract_media([large, *[PNG] * (MAX_MEDIA + 2)])

    assert (len(found.media), found.omitted, found.omitted_images) == (MAX_MEDIA, 3, 3)


@pytest.mark.parametrize("make", [lambda: Image.new("RGB", (2, 2)), figure, lambda: PNG, lambda: {"plot": figure()}])
def test_the_person_and_a_model_see_the_picture_that_a_tool_gives(make: Any) -> None:
    harness = make_harness(tool(make, name="draw", run="auto"))

    record = harness.run(ask_for("draw"))

    (finished,) = harness.of("call_finished")
    assert [one.mime for one in finished.media] == ["image/png"]
    assert record.to_result().media == finished.media


@pytest.mark.promise("withheld")
@pytest.mark.parametrize(("decision", "seen"), [(Released(), 1), (Released("a chart"), 0), (Withheld(), 0)])
@pytest.mark.parametrize("make", [figure, lambda: {"plots": [Image.new("RGB", (2, 2))]}])
def test_a_picture_passes_the_gate_of_its_result(make: Any, decision: Any, seen: int) -> None:
    asked: list[Question] = []

    def approver(question: Question) -> Any:
        asked.append(question)
        return decision

    harness = make_harness(tool(make, name="draw", run="auto", result="always"), approver=approver)
    record = harness.run(ask_for("draw"))

    assert [len(question.media) for question in asked] == [1]
    assert len(record.to_result().media) == len(harness.of("call_finished")[0].media) == seen


@pytest.mark.promise("policy-values")
def test_no_picture_leaves_where_the_policy_lets_no_value_leave(tmp_path: Path) -> None:
    with policy_in_force(tmp_path, "[values]\nmay_leave = false"):
        record = make_harness(tool(figure, name="draw", run="auto")).run(ask_for("draw"))

    assert record.to_result().media == ()


@pytest.mark.promise("by-reference")
def test_a_picture_that_is_closed_does_not_leave_as_a_result() -> None:
    picture = Image.new("RGB", (2, 2))
    same = tool(lambda it: {"it": it}, name="same", run="auto")
    harness = make_harness(same, notebook={"picture": picture}, expose=["picture"])

    assert harness.run(ask_for("same", it="$VAR_REF{{picture}}")).to_result().media == ()


@pytest.mark.promise("withheld")
def test_a_picture_is_not_sent_where_its_result_goes_by_reference_only() -> None:
    harness = make_harness(tool(figure, name="draw", run="auto", result="reference"))

    record = harness.run(ask_for("draw"))

    assert (record.to_result().media, harness.of("call_finished")[0].media) == ((), ())
    assert "by reference" in record.shown


@pytest.mark.parametrize(("decision", "seen"), [(Released(), 1), (Released("a chart"), 0), (Withheld(), 0)])
def test_what_a_person_took_out_or_withheld_is_not_kept_as_a_picture(decision: Any, seen: int) -> None:
    draw = tool(lambda: PNG, name="draw", run="auto", result="always")
    harness = make_harness(draw, approver=lambda question: Approved() if question.gate == "run" else decision)

    harness.run(ask_for("draw"))

    assert len(harness.of("call_finished")[0].media) == seen


@pytest.mark.parametrize(("decision", "actual"), [(Released(), 1), (Released("a chart"), 0), (Withheld(), 0)])
def test_an_image_that_a_model_would_see_is_part_of_the_question_about_its_result(decision: Any, actual: int) -> None:
    images = [Media("image/png", PNG), Media("image/png", PNG + b"\0")]
    draw = tool(lambda: images.pop(), name="draw", run="auto", result="always")
    asked: list[Question] = []

    def approver(question: Question) -> Any:
        asked.append(question)
        return decision

    harness = make_harness(draw, approver=approver)
    records = [harness.run(ask_for("draw")) for _ in range(2)]

    assert [len(question.media) for question in asked] == [1, 1]
    assert [event.media for event in harness.of("call_asked")] == [question.media for question in asked]
    assert [len(record.to_result().media) for record in records] == [actual, actual]


def test_what_a_drawing_package_made_and_nobody_can_draw_has_no_picture() -> None:
    odd = type("Odd", (), {"__module__": "matplotlib.odd"})()
    give = tool(lambda: odd, name="give", run="auto")
    record = make_harness(give).run(ask_for("give"))

    assert (record.status, record.media, record.media_left_out) == ("ok", (), 0)


def nested(value: Any, levels: int) -> Any:
    for _ in range(levels):
        value = [value]
    return value


def test_pictures_are_searched_for_once_in_a_ring_and_up_to_the_maximum_depth() -> None:
    ring: list[Any] = [PNG]
    ring += [ring, {"ring": ring}]

    assert [one.data for one in extract_media(ring).media] == [PNG]
    assert [len(extract_media(nested(PNG, levels)).media) for levels in (MAX_DEPTH, MAX_DEPTH + 1)] == [1, 0]

from __future__ import annotations

import pytest

from nbtool import Released, tool
from nbtool.messages import Media, ToolCall
from nbtool.tools.values.result_media import MAX_MEDIA_BYTES, extract_media
from tests.tools.calling import ask_for, make_harness

GIF = Media("image/gif", b"GIF89a and so on")


def test_a_model_sees_the_image_that_a_tool_gives_unless_a_person_put_a_text_in_its_place() -> None:
    drawing = tool(lambda: GIF, name="draw", run="auto", result="always")
    seen = make_harness(drawing, approver=lambda _: Released()).run(ask_for("draw"))
    edited = make_harness(drawing, approver=lambda _: Released("nothing to see")).run(ask_for("draw"))

    assert seen.to_result().media == (GIF,)
    assert seen.shown == "image/gif, 16 bytes\n[Whole result: $VAR_REF{{draw_1_result}}]"
    assert (edited.to_result().media, edited.shown) == ((), "nothing to see")


@pytest.mark.parametrize(
    "value",
    [
        "text",
        Media("image/png", b"is no PNG"),
        Media("image/svg+xml", b"<svg/>"),
        Media("audio/wav", b"RIFF1234WAVE"),
        Media("image/gif", url="https://example.org/x.gif"),
        Media("image/gif", b"GIF89a" + b"x" * MAX_MEDIA_BYTES),
    ],
)
def test_what_is_no_image_that_models_see_is_left_to_the_text(value: object) -> None:
    assert extract_media(value).images == ()


def test_eight_images_of_a_list_are_seen_at_most() -> None:
    assert extract_media(["text", *[GIF] * 10]).images == (GIF,) * 8


def test_the_model_is_informed_of_how_many_images_it_does_not_see() -> None:
    drawing = tool(lambda: [GIF] * 10, name="draw", run="auto")

    assert "2 images more" in make_harness(drawing).run(ask_for("draw")).shown


@tool
def look(n: int) -> int:
    """Look."""
    return n


@pytest.mark.parametrize(
    ("arguments", "status"), [("", "not_run"), ("{}", "not_run"), ('{"n": ', "invalid"), ("[1]", "invalid")]
)
def test_a_call_that_may_not_run_is_distinguished_from_one_that_cannot_be_read(arguments: str, status: str) -> None:
    record = make_harness(look).run(ToolCall("look", arguments, id="t1", call_id="c1"))

    assert (record.status, record.result) == (status, None)

from __future__ import annotations

from nbtool.messages import Media, ToolResult, results, user
from nbtool.wire.base import Prompt
from nbtool.wire.endpoints.result_images import without_result_images

PICTURE, SOUND = Media("image/png", b"png"), Media("audio/wav", b"wav")


def test_only_the_images_of_results_are_replaced_by_a_note() -> None:
    shown, counted = ToolResult("draw", "Drawn.", media=(PICTURE, SOUND)), ToolResult("count", "3")
    prompt = Prompt((user("Go", PICTURE), results(shown, counted)))

    sent = without_result_images(prompt, "tiny").messages

    assert sent[0] == prompt.messages[0]
    first, second = sent[1].parts
    assert isinstance(first, ToolResult)
    assert (first.media, first.text.splitlines()[0]) == ((SOUND,), "Drawn.")
    assert "1 image" in first.text
    assert second == counted

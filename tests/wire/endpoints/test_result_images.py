from __future__ import annotations

import pytest

from nbtool.errors import AuthenticationFailed, ProviderError
from nbtool.messages import Media, ToolResult, results, user
from nbtool.wire.base import Prompt
from nbtool.wire.endpoints.result_images import is_image_refused, without_result_images

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


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ProviderError("This model has no vision.", status=400), True),
        (ProviderError("Invalid.", status=422, param="messages.1.image_url"), True),
        (ProviderError("Invalid.", status=404, code="unsupported_modality"), True),
        (ProviderError("Too many images in a minute.", status=429), False),
        (ProviderError("The image could not be read."), False),
        (ProviderError("The context is too long.", status=400), False),
        (AuthenticationFailed("Your key has no access to images.", status=400), False),
        (ValueError("no image"), False),
    ],
)
def test_a_refusal_of_images_is_an_error_of_the_request_that_is_about_them(error: Exception, expected: bool) -> None:
    assert is_image_refused(error) is expected

"""What the practice model makes of images, and of a type that its answer is to fit."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import Literal

import pytest
from PIL import Image

from nbtool import Chat, tool
from nbtool.errors import ProviderError
from nbtool.practice.pictures import CELLS, SCALE, describe_image, make_png


@dataclass
class Bird:
    species: Literal["Adelie", "Chinstrap", "Gentoo"]
    grams: float


def test_a_drawing_is_a_png_that_depends_on_its_words_alone() -> None:
    first, again, other = make_png("ice"), make_png("ice"), make_png("snow")

    with Image.open(BytesIO(first)) as image:
        image.load()
        assert (image.format, image.mode, image.size) == ("PNG", "RGB", (CELLS * SCALE, CELLS * SCALE))
        assert image.transpose(Image.Transpose.FLIP_LEFT_RIGHT).tobytes() == image.tobytes()
    assert first == again
    assert first != other


def test_the_model_that_draws_brings_an_image_and_says_that_it_is_a_pattern() -> None:
    turn = Chat("practice:image").send("A penguin on the ice")

    assert (turn.status, turn.text.strip()) == ("completed", "Revised prompt: A pattern, not: A penguin on the ice")
    assert [media.data for media in turn.media] == [make_png("A penguin on the ice")]


def test_the_model_that_draws_does_not_chat_and_the_others_do_not_draw() -> None:
    chats = Chat("practice:image", wire="chat").send("Hello")
    draws = Chat("practice:fast", wire="image").send("A penguin")

    assert isinstance(chats.error, ProviderError)
    assert "only generates images" in str(chats.error)
    assert "does not generate images" in str(draws.error)


def test_the_type_of_an_attachment_is_that_of_its_bytes() -> None:
    turn = Chat("practice:fast").send("What is this?", attach=make_png("ice"))

    assert "- I was shown: image/png, 256 by 256 pixels, " in turn.text


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://example.org/a.png", "an image at https://example.org/a.png"),
        ("data:image/png;base64,iVBORw0KGgo=", "image/png, 8 bytes"),
        ("data:image/gif;base64,R0lGODlh", "image/gif, 6 bytes"),
        ("data:image/gif;base64,a", "an image that is no base64"),
    ],
)
def test_an_image_is_described_whatever_it_is(url: str, said: str) -> None:
    assert describe_image({"type": "image_url", "image_url": {"url": url}}) == said


def test_an_answer_of_a_type_is_filled_from_the_words_of_the_prompt() -> None:
    turn = Chat("practice:fast").send("A Gentoo from Biscoe weighs 5400 grams.", as_=Bird)

    assert turn.value == Bird("Gentoo", 5400.0)


def test_an_answer_of_a_type_takes_what_a_tool_gave() -> None:
    @tool(run="auto")
    def weigh(species: str) -> float:
        "The mass of a species."
        return 4200.5 if species == "Adelie" else 0.0

    turn = Chat("practice:fast", tools=[weigh]).send('Use `weigh` for "Adelie".', as_=Bird)

    assert turn.value == Bird("Adelie", 4200.5)

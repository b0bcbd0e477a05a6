"""Errors as a notebook shows them."""

from __future__ import annotations

from nbtool import Chat
from nbtool.errors import BadUsage, ModelNotFound, NbtoolError


def traceback_lines(error: NbtoolError) -> list[str]:
    return error._render_traceback_()


def send_to_unknown_model() -> None:
    Chat("nosuch:model").send("Hello")


def test_a_notebook_shows_the_callers_lines_and_the_words_and_nothing_of_ours() -> None:
    try:
        send_to_unknown_model()
    except NbtoolError as error:
        first, second, words = traceback_lines(error)

    assert first.endswith(": send_to_unknown_model()")
    assert second.endswith(': Chat("nosuch:model").send("Hello")')
    assert words.startswith("UnknownModel: Unknown provider 'nosuch'.")


def test_an_error_that_a_notebook_echoes_shows_its_fix() -> None:
    assert repr(ModelNotFound("No such model.", fix="Available: a.")) == (
        "ModelNotFound('No such model.', fix='Available: a.')"
    )
    assert repr(BadUsage("No.")) == "BadUsage('No.')"


def test_an_error_that_nobody_raised_shows_its_words() -> None:
    assert traceback_lines(BadUsage("It makes no sense.", fix="Leave it out.")) == [
        "BadUsage: It makes no sense. Leave it out."
    ]

"""The models that the box of `%chat show` offers."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool.blocks.render.whole_conversation import ModelChoice
from nbtool.magics.commands.context import CommandContext
from nbtool.magics.commands.state import model_choices as choices


@pytest.fixture
def kernel(shell: Any) -> Any:
    """Give the chats of a kernel, of which one has asked a model."""
    shell.run_cell("%%chat -q -m practice:fast\nHello")
    return shell.magics_manager.registry["ChatMagics"].kernel_chats


def choices_of(kernel: Any, name: str = "main") -> dict[str, ModelChoice]:
    context = CommandContext(kernel, name)
    return {choice["name"]: choice for choice in choices.model_choices(context)}


def test_the_models_of_the_chats_the_listing_and_the_providers_are_offered(
    kernel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k-1")
    kernel.model_list[:] = ["practice:listed model"]
    found = choices_of(kernel, "notes x")

    assert next(iter(found.values())) == choices_of(kernel, "notes x")[kernel.chat("notes x").model.name]
    assert found["practice:fast"] == {
        "name": "practice:fast",
        "note": "of the chat main",
        "magic": "%%chat -c 'notes x' -m practice:fast",
    }
    assert found["practice:listed model"]["magic"] == "%%chat -c 'notes x' -m 'practice:listed model'"
    assert any(name.startswith("openai:") and choice["magic"] for name, choice in found.items())
    assert choices_of(kernel)["practice:fast"] == {
        "name": "practice:fast",
        "note": "the model of this chat",
        "magic": "%%chat",
    }


def test_a_model_without_a_key_or_of_no_provider_cannot_be_chosen_and_says_why(kernel: Any) -> None:
    kernel.settings.model = "nobody:model"
    found = choices_of(kernel)
    openai = next(choice for name, choice in found.items() if name.startswith("openai:"))

    assert (openai["magic"], openai["note"]) == ("", "no key: OPENAI_API_KEY is not set")
    assert found["nobody:model"] == {"name": "nobody:model", "note": "Unknown provider 'nobody'.", "magic": ""}
    kernel.settings.base_url = "http://127.0.0.1:9/v1"
    assert choices_of(kernel)["nobody:model"]["magic"] == "%%chat -m nobody:model"


def test_the_number_and_the_names_of_choices_are_bounded(kernel: Any) -> None:
    kernel.model_list[:] = ["practice:two\nlines", "practice:" + "x" * choices.MAX_NAME]
    kernel.model_list += [f"practice:{number}" for number in range(2 * choices.MAX_CHOICES)]
    found = choices_of(kernel)

    assert len(found) == choices.MAX_CHOICES
    assert all(len(name) <= choices.MAX_NAME and name.isprintable() for name in found)

"""The reference of the public classes says what each argument of their constructors is."""

from __future__ import annotations

import dataclasses
import inspect
import re

import pytest

import nbtool

MADE_BY_CHATS = {"Batch"}
"""Public classes whose objects nobody makes: `Chat.map` returns them."""

CLASSES = {
    name: public
    for name in nbtool.__all__
    if name not in MADE_BY_CHATS
    and inspect.isclass(public := getattr(nbtool, name))
    and "__init__" in vars(public)
    and not dataclasses.is_dataclass(public)
}
"""The public classes that take arguments other than the fields which their reference lists."""


def arguments(public: type) -> list[str]:
    return list(inspect.signature(public).parameters)


@pytest.mark.parametrize("name", CLASSES)
def test_the_docstring_of_a_public_class_names_each_argument(name: str) -> None:
    text = inspect.getdoc(CLASSES[name]) or ""

    assert [
        one for one in arguments(CLASSES[name]) if not re.search(rf"`{one}`|^    {one}: ", text, re.MULTILINE)
    ] == []


def test_the_docstring_of_chat_lists_its_arguments_in_their_order() -> None:
    listed = (inspect.getdoc(nbtool.Chat) or "").partition("Args:\n")[2].partition("\nRaises:")[0]

    assert re.findall(r"^    (\w+): ", listed, re.MULTILINE) == arguments(nbtool.Chat)
    assert "Chat" in CLASSES

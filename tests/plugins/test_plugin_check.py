"""What is handed over as a plugin has to be one: a misspelt hook is refused by its name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nbtool import Chat
from nbtool.chain.plugin import HOOKS, PLAIN_HOOKS
from nbtool.errors import BadUsage
from nbtool.testing import ScriptedWire


def plugin_with(name: str, method: object) -> object:
    return type("Mine", (), {name: method})()


@pytest.mark.parametrize("name", HOOKS + PLAIN_HOOKS)
def test_a_misspelt_hook_is_refused_and_the_right_one_named(name: str) -> None:
    misspelt = name[:-2] + name[-1] + name[-2]

    with pytest.raises(BadUsage, match=f"Unknown hook {misspelt} of the plugin Mine. Did you mean {name}?"):
        Chat(wire=ScriptedWire([]), plugins=[plugin_with(misspelt, lambda _self, _: None)])


def test_a_misspelt_hook_of_a_plugin_that_is_added_later_is_refused_before_anything_is_sent() -> None:
    wire = ScriptedWire([])
    chat = Chat(wire=wire)
    chat.plugins.append(plugin_with("on_turn_begin", lambda _self, _: None))

    with pytest.raises(BadUsage, match="on_turn_begin"):
        chat.send("Hi")
    assert wire.prompts == []


def test_an_attribute_that_is_no_function_is_refused_where_a_hook_is_expected() -> None:
    with pytest.raises(BadUsage, match="on_turn_end of the plugin Mine is not callable"):
        Chat(wire=ScriptedWire([]), plugins=[plugin_with("on_turn_end", 3)])


def test_a_plain_hook_may_not_be_async() -> None:
    async def on_event(_self: object, _: object) -> None: ...

    with pytest.raises(BadUsage, match="on_event of the plugin Mine is async"):
        Chat(wire=ScriptedWire([]), plugins=[plugin_with("on_event", on_event)])


def test_a_class_in_place_of_an_object_is_refused() -> None:
    class Own:
        def on_turn_start(self, _: object) -> None: ...

    with pytest.raises(BadUsage, match="The plugin Own is a class"):
        Chat(wire=ScriptedWire([]), plugins=[Own])


def test_an_attribute_that_only_begins_like_a_hook_and_is_no_function_is_none_of_ours() -> None:
    with ScriptedWire(["Hello"]) as wire:
        plugin = type("Mine", (), {"on_duty": True, "on_event": lambda *_: None})()
        turn = Chat(wire=wire, plugins=[plugin]).send("Hi")

    assert turn.status == "completed"


def test_the_guide_for_authors_lists_every_hook_and_no_other() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`on_\w+`(?:, `on_\w+`)*) \| ", guide, re.MULTILINE)

    assert sorted(re.findall(r"on_\w+", " ".join(rows))) == sorted(HOOKS + PLAIN_HOOKS)


@pytest.mark.parametrize(
    ("plugin", "fix"),
    [("nbtool.plugins.Budget", "Budget(…)"), ("a budget", ", ".join(HOOKS + PLAIN_HOOKS)), (7, "on_before_request")],
)
def test_the_fix_names_what_to_pass(plugin: object, fix: str) -> None:
    with pytest.raises(BadUsage) as refused:
        Chat(wire=ScriptedWire([]), plugins=[plugin])

    assert fix in refused.value.fix


def test_an_object_is_refused_for_what_only_it_has_although_its_class_was_checked() -> None:
    class Own:
        def on_turn_start(self, _: object) -> None: ...

    chat = Chat(wire=ScriptedWire([]), plugins=[Own()])
    other = Own()
    vars(other)["on_turn_begin"] = print

    with pytest.raises(BadUsage, match="Unknown hook on_turn_begin of the plugin Own"):
        chat.plugins = [Own(), other]


def test_a_class_with_a_misspelt_hook_is_refused_although_the_one_that_it_extends_was_checked() -> None:
    class Own:
        def on_turn_start(self, _: object) -> None: ...

    class Extended(Own):
        def on_turn_begin(self, _: object) -> None: ...

    chat = Chat(wire=ScriptedWire([]), plugins=[Own()])

    with pytest.raises(BadUsage, match="Unknown hook on_turn_begin of the plugin Extended"):
        chat.plugins = [Extended()]

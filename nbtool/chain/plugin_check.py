"""Whether an object is a plugin: a misspelt hook must not be silently no hook."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable

from nbtool.errors import BadUsage

HOOKS = (
    "on_turn_start", "on_before_request", "on_stream_data", "on_after_request", "on_message_append", "on_turn_end",
    "on_before_calls", "on_call_start", "on_call_end",
)  # fmt: skip
"""The hooks that the turn awaits; each may be plain or async."""

PLAIN_HOOKS = ("on_event", "on_journal")
"""The hooks that are plain functions only."""


def check_plugins(plugins: Iterable[object]) -> None:
    """See that each of some objects is a plugin.

    Raises:
        BadUsage: one is a class, or has an `on_…` that is no hook; the text says which.
    """
    for plugin in plugins:
        _check(plugin)


def _check(plugin: object) -> None:
    if isinstance(plugin, type):
        raise BadUsage(f"The plugin {plugin.__name__} is a class.", fix=f"Hand over an object: {plugin.__name__}(…).")
    owner = type(plugin).__name__
    for name in dir(plugin):
        if not name.startswith("on_"):
            continue
        hook = getattr(plugin, name, None)
        if name not in HOOKS + PLAIN_HOOKS:
            if callable(hook):
                raise BadUsage(f"The plugin {owner} has {name}, which is no hook.", fix=_fix(name))
        elif hook is not None and not callable(hook):
            raise BadUsage(f"{name} of the plugin {owner} is no function.", fix="Give it a method of that name.")
        elif name in PLAIN_HOOKS and inspect.iscoroutinefunction(hook):
            raise BadUsage(f"{name} of the plugin {owner} is async.", fix="Make it a plain function.")


def _fix(name: str) -> str:
    matches = difflib.get_close_matches(name, HOOKS + PLAIN_HOOKS, n=1)
    return f"Did you mean {matches[0]}?" if matches else f"Hooks are {', '.join(HOOKS + PLAIN_HOOKS)}."

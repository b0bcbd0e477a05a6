"""Check that an object is a plugin: a misspelt hook must not be ignored silently."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable

from nbtool.chain.plugin import HOOKS, PLAIN_HOOKS
from nbtool.errors import BadUsage


def check_plugins(plugins: Iterable[object]) -> None:
    """Check that each object is a plugin.

    Raises:
        BadUsage: one is a class, or has an `on_…` method that is not a hook; the text says which.
    """
    for plugin in plugins:
        _check(plugin)


def _check(plugin: object) -> None:
    if isinstance(plugin, type):
        raise BadUsage(f"The plugin {plugin.__name__} is a class.", fix=f"Pass an instance: {plugin.__name__}(…).")
    owner = type(plugin).__name__
    for name in dir(plugin):
        if not name.startswith("on_"):
            continue
        hook = getattr(plugin, name, None)
        if name not in HOOKS + PLAIN_HOOKS:
            if callable(hook):
                raise BadUsage(f"Unknown hook {name} of the plugin {owner}.", fix=_fix(name))
        elif hook is not None and not callable(hook):
            raise BadUsage(f"{name} of the plugin {owner} is not callable.", fix="Make it a method.")
        elif name in PLAIN_HOOKS and inspect.iscoroutinefunction(hook):
            raise BadUsage(f"{name} of the plugin {owner} is async.", fix="Make it a sync function.")


def _fix(name: str) -> str:
    matches = difflib.get_close_matches(name, HOOKS + PLAIN_HOOKS)
    return f"Did you mean {matches[0]}?" if matches else f"Hooks are {', '.join(HOOKS + PLAIN_HOOKS)}."

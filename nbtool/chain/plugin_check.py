"""Check that an object is a plugin: a misspelt hook must not be ignored silently."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable
from functools import lru_cache
from types import FunctionType

from nbtool.argument_check import describe_value
from nbtool.chain.plugin import HOOKS, OTHER_METHODS, PLAIN_HOOKS
from nbtool.errors import BadUsage
from nbtool.text import shorten

MAX_SHOWN = 60
"""Maximum number of characters of a text in an error."""


def check_plugins(plugins: Iterable[object]) -> None:
    """Check that each object is a plugin.

    Raises:
        BadUsage: one is a class, has no hook, or has an `on_…` method that is not a hook; the text says which.
    """
    for plugin in plugins:
        kind: type = type(plugin)
        if not _is_plugin_class(kind) or _has_own_hooks(plugin):
            _check(plugin)


@lru_cache(maxsize=256)
def _is_plugin_class(kind: type) -> bool:
    """Whether each object of a class is a plugin, as far as it has no attributes of its own: all hooks are methods."""
    methods = [item for owner in reversed(kind.__mro__) for item in vars(owner).items()]
    hooks = {name: member for name, member in methods if name.startswith("on_")}
    return (
        not hasattr(kind, "__getattr__")
        and not any({"__getattribute__", "__dir__"} & vars(owner).keys() for owner in kind.__mro__[:-1])
        and bool(hooks.keys() & {*HOOKS, *PLAIN_HOOKS})
        and hooks.keys() <= {*HOOKS, *PLAIN_HOOKS}
        and all(isinstance(hook, FunctionType) for hook in hooks.values())
        and not any(inspect.iscoroutinefunction(hooks[name]) for name in hooks.keys() & {*PLAIN_HOOKS})
    )


def _has_own_hooks(plugin: object) -> bool:
    return any(name.startswith("on_") for name in getattr(plugin, "__dict__", ()))


def _check(plugin: object) -> None:
    if isinstance(plugin, type):
        raise BadUsage(f"The plugin {plugin.__name__} is a class.", fix=f"Pass an instance: {plugin.__name__}(…).")
    _check_names(plugin)
    if not any(callable(getattr(plugin, name, None)) for name in (*HOOKS, *PLAIN_HOOKS, *OTHER_METHODS)):
        raise BadUsage(f"{_describe(plugin)} is not a plugin: it has no hook.", fix=_plugin_fix(plugin))


def _check_names(plugin: object) -> None:
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


def _describe(plugin: object) -> str:
    shown = f"the text {shorten(repr(plugin), MAX_SHOWN)}" if isinstance(plugin, str) else describe_value(plugin)
    return shown[:1].upper() + shown[1:]


def _plugin_fix(plugin: object) -> str:
    if isinstance(plugin, str) and (name := plugin.rpartition(".")[2]).isidentifier():
        return f"Pass an instance, without quotes: {name}(…), of nbtool.plugins for example."
    return f"Leave it out, or pass an object with one of the hooks {', '.join(HOOKS + PLAIN_HOOKS)}."


def _fix(name: str) -> str:
    matches = difflib.get_close_matches(name, HOOKS + PLAIN_HOOKS)
    return f"Did you mean {matches[0]}?" if matches else f"Hooks are {', '.join(HOOKS + PLAIN_HOOKS)}."

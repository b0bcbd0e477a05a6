"""Apply the settings of `%config NbTool` to a chat, where neither a cell nor the chat itself says otherwise."""

from __future__ import annotations

from argparse import Namespace as Flags
from dataclasses import dataclass, field, replace
from typing import Any

from nbtool.chat.chat import Chat
from nbtool.chat.model import Model
from nbtool.chat.model.model import BY_USER
from nbtool.magics.flags.config import NbTool
from nbtool.plugins.privacy import Privacy
from nbtool.wire.providers.connection import CONNECTION_SETTINGS, Connection, make_connection

DEFAULT_MODEL = "default"
"""The value of `-m` that returns a chat to the model it has when no cell chooses one."""

MODEL_SETTINGS = ("wire", "tool_mode", "tool_format")
"""The settings that a model has by the same names."""


@dataclass
class ChatSettings:
    """The settings that were applied to one chat; a value that is not the applied one was set by somebody else.

    `own_model` is the one that the chat had before any cell or setting chose another; `offered` are the settings of the
    default model, which a cell may have returned to. `result_bytes` is the applied bound, `own_result_bytes` the one
    that the chat has without a setting.
    """

    own_model: Model = field(default_factory=Model)
    applied: dict[str, Any] = field(default_factory=dict)
    offered: dict[str, Any] = field(default_factory=dict)
    plugins: list[object] = field(default_factory=list)
    privacy: bool | tuple[str, ...] | None = None
    audit: Any = None
    result_bytes: int = 0
    own_result_bytes: int = 0

    def apply(self, chat: Chat, settings: NbTool) -> None:
        """Apply the current settings.

        Raises:
            nbtool.errors.BadUsage: a type of private values is unknown.
        """
        self._apply_bound(chat, settings)
        chat.system = self._choose("system", chat.system, settings.system, default="")
        self._apply_audit(chat, settings)
        chat.model = self._configured(chat.model, settings)
        self._apply_plugins(chat, settings)

    def _apply_audit(self, chat: Chat, settings: NbTool) -> None:
        """Set the audit file, unless the chat has one of its own."""
        if chat.audit is None or chat.audit == self.audit:
            chat.audit = settings.audit or None
            self.audit = chat.audit

    def _apply_bound(self, chat: Chat, settings: NbTool) -> None:
        """Set the bound of stored results; without a setting, the one that the chat had before one was set."""
        variables = chat.variables
        if variables.max_bytes != self.result_bytes:
            self.own_result_bytes = variables.max_bytes
        self.result_bytes = settings.result_bytes or self.own_result_bytes
        variables.max_bytes = self.result_bytes

    def default_model(self, settings: NbTool) -> Model:
        """Return the model of the chat when no cell has chosen one."""
        fork = replace(self, applied=dict(self.applied))
        model = fork._configured(self.own_model, settings)
        self.offered = fork.applied
        return model

    def _configured(self, model: Model, settings: NbTool) -> Model:
        """Return a model with the settings applied."""
        wanted = settings.setting("model")
        model = model.with_default(wanted.value or None, chosen_by=wanted.source)
        changes = {
            name: self._choose(
                name, getattr(model, name), getattr(settings, name), default="auto" if name == "tool_mode" else None
            )
            for name in MODEL_SETTINGS
        }
        changes |= self._access(model, settings)
        if changes["base_url"] not in (None, model.base_url):
            changes["is_unnamed"] = False  # the address was set since
        is_changed = any(getattr(model, name) != value for name, value in changes.items())
        return replace(model, **changes) if is_changed else model

    def _choose(self, name: str, current: Any, wanted: Any, *, default: Any) -> Any:
        if not self._is_ours(name, current, default):
            return current
        self.applied[name] = wanted or default
        return self.applied[name]

    def _is_ours(self, name: str, value: Any, default: Any) -> bool:
        return value in (default, self.applied.get(name, default), self.offered.get(name, default))

    def _access(self, model: Model, settings: NbTool) -> dict[str, Any]:
        """Return address, key and connection: those of the settings for the models of their server, and for no other.

        They go together: a chat with one of its own takes none, so that no key or header reaches another address.
        """
        defaults = {"connection": Connection(), "base_url": None, "api_key": None}
        wanted: dict[str, Any] = {
            "connection": make_connection({name: getattr(settings, name) for name in CONNECTION_SETTINGS}),
            "base_url": settings.base_url or None,
            "api_key": settings.api_key,
        }
        is_set_model = model.model_id in (None, settings.model) or model.is_from_setting
        if model.keeps_access and model.model_id:
            is_set_model |= Model(settings.model or None, **wanted).is_same_server(model.model_id)
        has_own = any(not self._is_ours(name, getattr(model, name), default) for name, default in defaults.items())
        if has_own or not is_set_model:
            wanted = defaults
        return {
            name: self._choose(name, getattr(model, name), wanted[name], default=default)
            for name, default in defaults.items()
        }

    def _apply_plugins(self, chat: Chat, settings: NbTool) -> None:
        """Put the plugins of the setting before those of the chat, and one that masks private values last."""
        privacy = settings.privacy
        if self.privacy != privacy:
            types = () if isinstance(privacy, bool) or privacy is None else (privacy,)
            added: list[object] = [Privacy(*types)] if privacy else []
            chat.plugins[:] = [
                plugin for plugin in chat.plugins if not (isinstance(plugin, Privacy) and plugin in self.plugins)
            ]
            self.plugins = [plugin for plugin in self.plugins if not isinstance(plugin, Privacy)] + added
            if not any(isinstance(plugin, Privacy) for plugin in chat.plugins):
                chat.plugins.extend(added)
            self.privacy = privacy
        wanted = [plugin for plugin in settings.plugins if plugin not in chat.plugins]
        removed = [
            plugin for plugin in self.plugins if not isinstance(plugin, Privacy) and plugin not in settings.plugins
        ]
        if wanted or removed:
            chat.plugins[:] = [*wanted, *(plugin for plugin in chat.plugins if plugin not in removed)]
            self.plugins = [plugin for plugin in self.plugins if plugin not in removed] + wanted


def choose_model(current: Model, flags: Flags) -> Model:
    """Return the model of a cell: the current one, the chat's default, or another one of a server of these two."""
    name, default = flags.model, flags.default_model
    if name == DEFAULT_MODEL:
        current, name = default, None
    elif name and name != current.model_id and not current.is_same_server(name) and default.is_same_server(name):
        current = replace(default, chosen_by=BY_USER, is_from_setting=False, keeps_access=True)
    return current.with_changes(name, wire=flags.wire, tool_mode=flags.tool_mode, tool_format=flags.tool_format)

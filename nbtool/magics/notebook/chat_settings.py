"""Apply the settings of `%config NbTool` to a chat, where neither a cell nor the chat itself says otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from nbtool.chat.chat import Chat
from nbtool.chat.model import Model
from nbtool.magics.notebook.config import NbTool
from nbtool.plugins.privacy import Privacy
from nbtool.wire.providers.connection import CONNECTION_SETTINGS, Connection, make_connection

_MODEL_SETTINGS = ("wire", "tool_mode", "tool_format")


@dataclass
class ChatSettings:
    """The settings that were applied to one chat; a value that is not the applied one was set by somebody else."""

    applied: dict[str, Any] = field(default_factory=dict)
    plugins: list[object] = field(default_factory=list)
    privacy: bool | tuple[str, ...] | None = None

    def apply(self, chat: Chat, settings: NbTool) -> None:
        """Apply the current settings.

        Raises:
            nbtool.errors.BadUsage: a type of private values is unknown.
        """
        if settings.result_bytes:
            chat.variables.max_bytes = settings.result_bytes
        wanted = settings.setting("model")
        chat.model = chat.model.with_default(wanted.value or None, chosen_by=wanted.source)
        chat.system = self._choose("system", chat.system, settings.system, default="")
        model = chat.model
        changes = {
            name: self._choose(
                name, getattr(model, name), getattr(settings, name), default="auto" if name == "tool_mode" else None
            )
            for name in _MODEL_SETTINGS
        }
        changes |= self._access(model, settings)
        if any(getattr(model, name) != value for name, value in changes.items()):
            chat.model = replace(model, **changes)
        self._apply_plugins(chat, settings)

    def _choose(self, name: str, current: Any, wanted: Any, *, default: Any) -> Any:
        if current not in (default, self.applied.get(name, default)):
            return current
        self.applied[name] = wanted or default
        return self.applied[name]

    def _access(self, model: Model, settings: NbTool) -> dict[str, Any]:
        """Return address, key and connection: those of the settings for the model that they set, and for no other.

        They go together: a chat with one of its own takes none, so that no key or header reaches another address.
        """
        defaults = {"connection": Connection(), "base_url": None, "api_key": None}
        is_set_model = model.model_id is None or model.is_from_setting or model.model_id == settings.model
        has_own = any(
            getattr(model, name) not in (default, self.applied.get(name, default)) for name, default in defaults.items()
        )
        wanted: dict[str, Any] = dict.fromkeys(defaults)
        if is_set_model and not has_own:
            values = {name: getattr(settings, name) for name in CONNECTION_SETTINGS}
            wanted = {
                "connection": make_connection(values),
                "base_url": settings.base_url or None,
                "api_key": settings.api_key,
            }
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
            chat.plugins[:] = [one for one in chat.plugins if not (isinstance(one, Privacy) and one in self.plugins)]
            self.plugins = [one for one in self.plugins if not isinstance(one, Privacy)] + added
            if not any(isinstance(one, Privacy) for one in chat.plugins):
                chat.plugins.extend(added)
            self.privacy = privacy
        wanted = [one for one in settings.plugins if one not in chat.plugins]
        removed = [one for one in self.plugins if not isinstance(one, Privacy) and one not in settings.plugins]
        if wanted or removed:
            chat.plugins[:] = [*wanted, *(one for one in chat.plugins if one not in removed)]
            self.plugins = [one for one in self.plugins if one not in removed] + wanted

"""`--set`: settings of `%config NbTool` for one cell, over what the chat has, and back afterwards."""

from __future__ import annotations

from argparse import Namespace as Flags
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from nbtool.chat.chat import Chat
from nbtool.chat.model import Model
from nbtool.errors import BadUsage
from nbtool.magics.flags.chat_settings import MODEL_SETTINGS, ChatSettings, choose_model
from nbtool.magics.flags.config import SECRETS, NbTool
from nbtool.plugins.privacy import Privacy

ACCESS = frozenset({"base_url", *SECRETS})
"""The settings that are for the server of a model."""


@dataclass(frozen=True, slots=True)
class _Former:
    """What a chat has of its own, and the value that a cell sets in its place."""

    model: tuple[Model, Model] | None = None
    system: tuple[str, str] | None = None


@contextmanager
def apply_for_cell(applied: ChatSettings, chat: Chat, settings: NbTool, own: NbTool, flags: Flags) -> Iterator[None]:
    """Apply the settings of a cell to its chat, and those of the kernel again at its end.

    A value that the chat has of its own is set too, and is back afterwards; what a flag of the cell sets stays.

    Raises:
        BadUsage: a setting is invalid, or does not fit what the chat has of its own.
    """
    if not own.set_by_cell:
        yield
        return
    former = _Former()
    try:
        applied.apply(chat, own)
        _check_privacy(chat, own)
        former = _replace_own(chat, own)
        yield
    finally:
        _put_back(chat, former, flags)
        applied.apply(chat, settings)


def _check_privacy(chat: Chat, own: NbTool) -> None:
    if "privacy" in own.set_by_cell and not own.privacy and any(isinstance(plugin, Privacy) for plugin in chat.plugins):
        raise BadUsage(
            "--set privacy cannot turn off the masks of this chat, which has a plugin for them of its own.",
            fix="Use another chat, with `-c NAME`.",
        )


def _replace_own(chat: Chat, own: NbTool) -> _Former:
    """Set what the chat has of its own to the values of the cell; return both."""
    names, former = own.set_by_cell, _Former()
    if "system" in names and chat.system != own.system:
        former = replace(former, system=(chat.system, own.system))
        chat.system = own.system
    model = _model_of_cell(chat, own)
    if model != chat.model:
        former = replace(former, model=(chat.model, model))
        chat.model = model
    return former


def _model_of_cell(chat: Chat, own: NbTool) -> Model:
    """Return the model of a cell: as in a new chat with its settings, if it names one, else that of the chat.

    Raises:
        BadUsage: the cell gives access to a server, but the chat has a model of another one.
    """
    names, model = own.set_by_cell, chat.model
    has_own_model = bool(model.model_id) and not model.is_from_setting
    if "model" in names and (has_own_model or model.model_id != (own.model or None)):
        model = ChatSettings().default_model(own)
    elif has_own_model and (unfit := names & ACCESS):
        raise BadUsage(
            f"--set {min(unfit)} is for the server of `--set model`, and this chat has a model of its own.",
            fix=f"Add `model=PROVIDER:MODEL` to it, or `--set model={model.name}`.",
        )
    changes: dict[str, Any] = {name: getattr(own, name) for name in MODEL_SETTINGS if name in names}
    if "tool_mode" in changes:
        changes["tool_mode"] = changes["tool_mode"] or "auto"
    is_changed = any(getattr(model, name) != value for name, value in changes.items())
    return replace(model, **changes) if is_changed else model


def _put_back(chat: Chat, former: _Former, flags: Flags) -> None:
    """Give a chat back what it had of its own, with what flags of the cell changed of it."""
    if former.system and chat.system == former.system[1] and flags.system is None:
        chat.system = former.system[0]
    if former.model:
        before, forced = former.model
        chat.model = before if chat.model is forced else choose_model(before, flags)

"""Redact content: plugins remove private values, and known secrets go too; `nbtool.audience` says what is content."""

from __future__ import annotations

from collections.abc import Sequence

from nbtool.audience import Hide
from nbtool.chain.hooks import JournalContext
from nbtool.wire.framing.known_secrets import secret_hider

HOOK_FAILED = "[kept out: a plugin's on_journal failed]"
"""Replaces a text when a plugin's hook fails."""


def redactor_for(plugins: Sequence[object], turn_id: str) -> Hide | None:
    """Return a function that redacts texts with the `on_journal` hooks of all plugins; None if there is none."""
    hooks = [hook for plugin in plugins if (hook := getattr(plugin, "on_journal", None))]

    def hide(text: str) -> str:
        context = JournalContext(turn_id, text)
        try:
            for hook in hooks:
                hook(context)
        except BaseException:  # noqa: BLE001 - fail closed: a text that a hook did not process is not stored
            return HOOK_FAILED
        return context.text

    return hide if hooks else None


def with_secrets_hidden(hide: Hide | None = None) -> Hide | None:
    """Return a function that hides the known secrets too; None if there is nothing to hide."""
    without_secrets = secret_hider()
    if hide is None or without_secrets is None:
        return hide or without_secrets
    return lambda text: hide(without_secrets(text))

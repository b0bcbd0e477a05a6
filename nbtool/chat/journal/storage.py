"""Where history is kept: in the file, or in memory."""

from __future__ import annotations

from nbtool import settings
from nbtool.policy import site_policy


def is_in_memory() -> bool:
    """Whether history is kept in memory: by the administrator's policy, else by `NBTOOL_JOURNAL=off`."""
    storage = site_policy().journal_storage
    return storage == "memory" if storage else settings.env("NBTOOL_JOURNAL") == "off"

"""What a person allowed of a folder that may be a downloaded project's, kept in nbtool's own data folder.

A consent is an empty file, named by a hash of what was allowed, so that it ends when that changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from nbtool.errors import SettingsError
from nbtool.settings import data_dir, display_path


@dataclass(frozen=True, slots=True)
class Consent:
    """The consents of one kind: the name of their folder, and what allows as much where one cannot be written."""

    folder: str
    instead: str

    def is_given(self, parts: Iterable[str]) -> bool:
        """Whether exactly this was allowed."""
        try:
            return (data_dir() / self.folder / _digest(parts)).exists()
        except (SettingsError, OSError):
            return False

    def give(self, parts: Iterable[str]) -> None:
        """Keep that the person allowed this.

        Raises:
            SettingsError: it cannot be kept.
        """
        folder = data_dir() / self.folder
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            (folder / _digest(parts)).touch(mode=0o600)
        except OSError as error:
            raise SettingsError(
                f"{display_path(folder)} cannot be written ({error.strerror or error}).", fix=self.instead
            ) from None

    def revoke(self, parts: Iterable[str]) -> None:
        """Take back what was allowed."""
        (data_dir() / self.folder / _digest(parts)).unlink(missing_ok=True)


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()

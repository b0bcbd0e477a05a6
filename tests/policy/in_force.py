"""A policy that is in force in the process of the tests, as long as a test needs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nbtool.policy.site import SitePolicy, read_own_policy, site_policy


@contextmanager
def policy_in_force(folder: Path, text: str, *, is_named: bool = True) -> Iterator[Path]:
    """Apply a policy, which a process reads once, and give its file: one that is named, or that of the system."""
    path = folder / "policy.toml"
    path.write_text(text)
    policy = SitePolicy.read(str(path)) if is_named else SitePolicy.read(system=path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SitePolicy, "read", lambda *_: policy)
        _read_again()
        yield path
    _read_again()


def _read_again() -> None:
    read_own_policy.cache_clear()
    site_policy.cache_clear()

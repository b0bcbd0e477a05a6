"""The built files of the page: scripts and styles."""

from __future__ import annotations

from pathlib import Path

STATIC = Path(__file__).parent / "static"


def read_asset(name: str) -> str:
    """Return a built file of the page as text: given a path, anywidget keeps every widget alive.

    Raises:
        ImportError: it is not built.
    """
    path = STATIC / name
    if not path.is_file():
        msg = f"The front-end files of nbtool are not built: {path} is missing. Run `npm ci && node build.mjs` in js/."
        raise ImportError(msg)
    return path.read_text(encoding="utf-8")

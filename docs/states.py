"""Draw every state of a turn, light and dark, in docs/pictures/states: what the view looks like, to be looked at.

    make pictures PICTURES=states

They are kept with the sources, so that a change of the view shows in its pictures too.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import FloatRect, ViewportSize, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser.bare import THEMES, open_bare  # noqa: E402 - the tests are no package that is installed
from tests.browser.chromium import find_chromium  # noqa: E402 - the same
from tests.browser.conftest import QUIET_CHROMIUM  # noqa: E402 - the same
from tests.browser.states import show, states  # noqa: E402 - the same

PICTURES = ROOT / "docs" / "pictures" / "states"
SIZE = ViewportSize(width=760, height=1400)
COLOURS = 128
"""Of a picture: text on paper needs no more, and each costs bytes."""

MOST_BYTES = 60_000
MARGIN = 10
"""Pixels that are left below a turn."""


def main() -> None:
    """Draw all of them."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for old in PICTURES.glob("*.png"):
        old.unlink()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as profile:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=find_chromium(), viewport=SIZE, args=QUIET_CHROMIUM, reduced_motion="reduce"
        )
        for theme in THEMES:
            page, _ = open_bare(context, theme=theme)
            for name, state in states().items():
                show(page, state)
                bottom = page.evaluate("() => document.querySelector('main > div').getBoundingClientRect().bottom")
                shown: FloatRect = {"x": 0, "y": 0, "width": SIZE["width"], "height": int(bottom) + MARGIN}
                keep(f"{name}-{theme}", page.screenshot(clip=shown))
            page.close()


def keep(name: str, picture: bytes) -> None:
    """Write a picture with few colours."""
    path = PICTURES / f"{name}.png"
    Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS).save(path, optimize=True)
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"{path.name} has {size:,} bytes; {MOST_BYTES:,} at most. Show less in it.")


if __name__ == "__main__":
    main()

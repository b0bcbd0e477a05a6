"""Make the pictures of the README, in docs/pictures: a turn that waits and one that is finished, and one in motion.

    make pictures PICTURES=readme

A real JupyterLab in a real Chromium, the practice model, the data of the notebooks; nothing is drawn afterwards but the
ring around the mouse.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PIL import Image
from playwright.sync_api import BrowserContext, ViewportSize, expect, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser.chromium import find_chromium  # noqa: E402 - the tests are no package that is installed
from tests.browser.conftest import QUIET_CHROMIUM  # noqa: E402 - the same
from tests.browser.lab import Lab, Notebook  # noqa: E402 - the same
from tests.browser.server import Server  # noqa: E402 - the same

PICTURES = ROOT / "docs" / "pictures"
SIZE = ViewportSize(width=860, height=1000)
SCALE = 2
"""Pixels of a picture for one of the page: most screens have two by now."""

MARGIN = 8
"""Pixels that are left around the cells."""

FRAME_SECONDS = 0.12
"""How often a frame is taken; a frame like the one before only makes that one stay longer."""

COLOURS = 64
"""Of the moving picture: text on paper needs no more, and each costs bytes."""

MOST_BYTES = 1_500_000

CELLS = (
    """%load_ext nbtool
import pandas as pd
from nbtool import tool

penguins = pd.read_csv("data/penguins.csv")""",
    '''@tool
def heaviest(df: pd.DataFrame, n: int = 3) -> pd.DataFrame:
    """The heaviest penguins of a frame."""
    return df.nlargest(n, "body_mass_g")[["species", "island", "sex", "body_mass_g"]]''',
    "%%chat -m practice:default\nWhich 3 of $`penguins` are the &`heaviest`?",
)
TOOL, ASK = 1, 2

Frame = tuple[Image.Image, float]
"""A picture and the seconds that it stands."""

RING = """([x, y]) => {
  const ring = document.body.appendChild(document.createElement("div"));
  ring.style.cssText = `position:fixed;left:${x - 14}px;top:${y - 14}px;width:24px;height:24px;border-radius:50%;
    border:3px solid #d9480f;background:#d9480f22;z-index:99999;pointer-events:none`;
  window.ring = ring;
}"""


def opened(lab: Lab) -> Notebook:
    """Open the notebook with nothing around its cells, and run what comes before the question."""
    lab.server.set("codemirror-extension/plugin", defaultConfig={"lineNumbers": False})
    notebook = lab.open_cells(*CELLS, kernel="python3", name="penguins.ipynb")
    notebook.page.evaluate("() => window.jupyterapp.commands.execute('application:toggle-left-area')")
    for cell in range(ASK):
        notebook.run_cell(cell)
    notebook.cell(TOOL).evaluate("cell => cell.scrollIntoView({block: 'start'})")
    return notebook


def shot(notebook: Notebook) -> Image.Image:
    """Take a picture from the tool's cell down to the end of what stands under the question."""
    page = notebook.page
    first, last = notebook.cell(TOOL).bounding_box(), notebook.cell(ASK).bounding_box()
    assert first
    assert last
    top, bottom = first["y"] - MARGIN, min(last["y"] + last["height"] + MARGIN, SIZE["height"])
    clip = {"x": first["x"], "y": top, "width": first["width"], "height": bottom - top}
    return Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")  # type: ignore[arg-type]  # its own dict


def still(lab: Lab, theme: str) -> None:
    """Take the two pictures that stand still, in a theme."""
    lab.set_theme(theme)  # type: ignore[arg-type]  # one of its two words
    notebook = opened(lab)
    notebook.start_cell(ASK)
    approve = notebook.output(ASK).get_by_role("button", name="Approve")
    expect(approve).to_be_enabled(timeout=30_000)
    shot(notebook).save(PICTURES / f"waiting-{theme}.png", optimize=True)
    approve.click()
    notebook.wait_ended(ASK)
    shot(notebook).save(PICTURES / f"finished-{theme}.png", optimize=True)
    notebook.close()
    lab.server.shut_down_kernels()


def moving(lab: Lab) -> None:
    """Take a question, an approval and the answer as they happen."""
    lab.set_theme("light")
    notebook = opened(lab)
    frames: list[Frame] = []
    notebook.start_cell(ASK)
    approve = notebook.output(ASK).get_by_role("button", name="Approve")
    watch(notebook, frames, until=lambda: approve.count() > 0 and approve.is_enabled())
    watch(notebook, frames, seconds=1.2)
    box = approve.bounding_box()
    assert box
    notebook.page.evaluate(RING, [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])
    watch(notebook, frames, seconds=0.6)
    approve.click()
    notebook.page.evaluate("() => window.ring.remove()")
    watch(notebook, frames, until=lambda: not notebook.is_running(ASK))
    watch(notebook, frames, seconds=0.5)
    write(frames, PICTURES / "chat.gif")


def watch(
    notebook: Notebook, frames: list[Frame], *, until: Callable[[], bool] | None = None, seconds: float = 60.0
) -> None:
    """Take frames until something holds, or for a time; each with the seconds that it stands."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not (until and until()):
        began = time.monotonic()
        frame = shot(notebook)
        notebook.page.wait_for_timeout(max(0.0, FRAME_SECONDS - (time.monotonic() - began)) * 1000)
        stood = time.monotonic() - began
        if frames and frames[-1][0].size == frame.size and frames[-1][0].tobytes() == frame.tobytes():
            frames[-1] = (frame, frames[-1][1] + stood)
        else:
            frames.append((frame, stood))


def write(frames: list[Frame], path: Path) -> None:
    """Write frames of one width as a moving picture: on paper of the largest height, in one palette."""
    height = max(frame.height for frame, _ in frames)
    papers = [Image.new("RGB", (frame.width, height), frame.getpixel((1, 1))) for frame, _ in frames]
    for paper, (frame, _) in zip(papers, frames, strict=True):
        paper.paste(frame, (0, 0))
    full = max(range(len(frames)), key=lambda at: frames[at][0].height)
    both = Image.new("RGB", (papers[0].width, 2 * height))  # the colours of the card, and those of the answer
    both.paste(papers[full], (0, 0))
    both.paste(papers[-1], (0, height))
    palette = both.quantize(COLOURS)
    flat = [paper.quantize(palette=palette, dither=Image.Dither.NONE) for paper in papers]
    stood = [min(round(seconds * 1000), 1500) for _, seconds in frames]
    stood[-1] = 4000  # the answer is to be read before it begins anew
    flat[0].save(path, save_all=True, append_images=flat[1:], duration=stood, loop=0, optimize=True, disposal=1)
    size = path.stat().st_size
    print(f"{path.name}: {len(flat)} frames, {sum(stood) / 1000:.0f} s, {size:,} bytes")  # noqa: T201 - what was made
    if size > MOST_BYTES:
        sys.exit(f"{path.name} is larger than {MOST_BYTES:,} bytes: take fewer frames, or fewer colours.")


def main() -> None:
    """Make all of them."""
    PICTURES.mkdir(exist_ok=True)
    takes: dict[str, Callable[[Lab], object]] = {
        "light": partial(still, theme="light"),
        "dark": partial(still, theme="dark"),
        "moving": moving,
    }
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        profile: BrowserContext = playwright.chromium.launch_persistent_context(
            Path(folder) / "profile",
            executable_path=find_chromium(),
            args=QUIET_CHROMIUM,
            viewport=SIZE,
            device_scale_factor=SCALE,
        )
        try:
            for name, take in takes.items():
                server = Server(Path(folder) / name)  # each with its own history: no chat of another take is mentioned
                server.start()
                shutil.copytree(ROOT / "notebooks" / "data", server.root / "data", dirs_exist_ok=True)
                take(Lab(profile, server))
                server.stop()
        finally:
            profile.close()


if __name__ == "__main__":
    main()

"""Skills on the disk, as their authors write them."""

from __future__ import annotations

from pathlib import Path

PLOTTING = """\
---
name: plotting
description: >-
  Draw plots in the style of the lab.
  Use it for every figure.
---
Read [colours](reference/colours.md).
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def write_plotting(folder: Path) -> Path:
    """Write a skill with a file of its own below a folder, and return its folder."""
    skill = folder / "plotting"
    write(skill / "SKILL.md", PLOTTING)
    write(skill / "reference" / "colours.md", "Blue is #003366.")
    return skill

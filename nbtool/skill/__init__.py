"""A skill about nbtool, for agents that write notebooks from outside: see `__main__`."""

from __future__ import annotations

from pathlib import Path

SKILL = Path(__file__).parent / "nbtool" / "SKILL.md"
"""The skill, a folder named `nbtool` with this file."""

"""Print the skill about nbtool, or write it into a folder of skills.

python -m nbtool.skill [~/.claude/skills | .agents/skills]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from nbtool.skill import SKILL


def write_skill(folder: Path) -> Path:
    """Write the skill into a folder of skills, and return its file.

    Raises:
        FileExistsError: there is another text of this name, such as one that was changed.
        OSError: it cannot be written.
    """
    text = SKILL.read_text(encoding="utf-8")
    target = folder.expanduser() / SKILL.parent.name / SKILL.name
    if target.exists() and target.read_text(encoding="utf-8", errors="replace") != text:
        raise FileExistsError(f"{target} is another text. Remove it, then run this again.")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return target


def main() -> int:
    """Run the program, and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m nbtool.skill", description="Print the skill about nbtool, or write it into a folder of skills."
    )
    parser.add_argument("folder", nargs="?", type=Path, help="such as ~/.claude/skills or .agents/skills")
    folder = parser.parse_args().folder
    if folder is None:
        print(SKILL.read_text(encoding="utf-8"), end="")  # noqa: T201 - the output of the program
        return 0
    try:
        print(write_skill(folder))  # noqa: T201 - the same
    except OSError as error:
        print(error, file=sys.stderr)  # noqa: T201 - the same
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

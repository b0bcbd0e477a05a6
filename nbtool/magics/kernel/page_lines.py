"""Lines that a page does not break within words, and questions that a person answers by one line of input."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from nbtool.magics.kernel.cell_messages import has_front_end

LINE_WIDTH = 96
"""Characters of a line of text; a page breaks longer ones within words."""

QUESTION_WIDTH = 72
"""The same of a question, which is also read in a narrow page, beside the field for its answer."""

_COMMAND = re.compile(r"`[^`\n]+`")
_GLUE = "\x00"


def wrap_for_page(shell: Any, text: str, *, width: int = LINE_WIDTH) -> str:
    """Return sentences in lines that a page does not break; a command in backticks stays on one line.

    A terminal breaks long lines itself, and a log has them as they are.
    """
    if getattr(shell, "kernel", None) is None or not has_front_end(shell):
        return text
    glued = _COMMAND.sub(lambda match: match[0].replace(" ", _GLUE), text)
    lines = (
        textwrap.wrap(line, width, break_on_hyphens=False, break_long_words=False) or [""] for line in glued.split("\n")
    )
    return "\n".join(item for wrapped in lines for item in wrapped).replace(_GLUE, " ")


def is_agreed(shell: Any, question: str) -> bool:
    """Ask with one line of input; only a plain yes is consent."""
    try:
        answer = input(f"{wrap_for_page(shell, question, width=QUESTION_WIDTH)}\n[y = yes, anything else = no] ")
    except EOFError:
        return False
    return answer.strip().lower() in ("y", "yes")

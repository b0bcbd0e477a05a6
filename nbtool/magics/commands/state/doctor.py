"""What this front end and kernel can do: `doctor`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from nbtool.magics.commands.context import CommandContext
from nbtool.magics.commands.state.doctor_checks import Finding, check_front_end, check_installation, describe_versions

WIDTH = 92
"""Characters of a line: JupyterLab breaks longer ones within words, beside its file browser."""

INDENT = 5
FOOTER = "? is what could not be tried. docs/compatibility.md has what is known about each front end."
ANSWER_WORDS = {True: "yes", False: "no", None: "?"}


def doctor(context: CommandContext, _: list[str]) -> str:
    """Try what this front end and kernel can do.

    With a line of advice for each: whether a page is connected, which ways a click takes while a cell runs, input,
    parking, the notebook's cells, formulas, diagrams, threads, journal and keyring. Nothing is sent to a model.
    """
    sections = {"Front end": list(check_front_end(context.kernel.shell)), "Installation": list(check_installation())}
    subject_width = max(len(finding.subject) for found in sections.values() for finding in found)
    lines = [textwrap.fill(line, WIDTH) for line in describe_versions()]
    for title, found in sections.items():
        lines += ["", title, *(line for finding in found for line in _lines(finding, subject_width))]
    return "\n".join([*lines, "", FOOTER])


def _lines(finding: Finding, subject_width: int) -> Iterator[str]:
    """Return what was found, and below it the advice."""
    head = f"{ANSWER_WORDS[finding.is_possible]:<{INDENT}}{finding.subject:<{subject_width}}  "
    yield textwrap.fill(finding.answer, WIDTH, initial_indent=head, subsequent_indent=" " * len(head))
    indent = " " * INDENT
    yield textwrap.fill(finding.advice, WIDTH, initial_indent=indent, subsequent_indent=indent)

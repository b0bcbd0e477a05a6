"""Cells of VS Code: what they are recognized by, and what a person can set there."""

from __future__ import annotations

CELL_PREFIX = "vscode-"
"""What the ids of cells begin with in VS Code: they are addresses of its own schemes."""

WIDGET_SETTING = (
    "VS Code loads no widgets from an existing Jupyter server until its setting `jupyter.widgetScriptSources` is "
    '`["jsdelivr.com", "unpkg.com"]`.'
)

INPUT_PLACE = "The line of input is at the top of the window."


def is_editor_cell(cell_id: str) -> bool:
    """Return whether a cell is shown by VS Code, or an editor that is made of it."""
    return cell_id.startswith(CELL_PREFIX)

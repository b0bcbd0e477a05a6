"""Export a branch as a notebook: each prompt as a cell, its saved output, and its calls as plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtool.blocks.render.mimebundle import turn_mimebundle
from nbtool.blocks.sanitize import escape_invisible
from nbtool.chat.export.call_code import ExportContext
from nbtool.chat.export.python import export_python
from nbtool.chat.export.visibility import shareable_turn
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage

LOAD = "%load_ext nbtool"


def as_notebook(turns: Sequence[Turn], context: ExportContext, plugins: Sequence[object] = ()) -> str:
    """Return turns as a notebook of format 4, without timestamps and with stable cell ids.

    Raises:
        BadUsage: nbformat is not installed.
    """
    try:
        import nbformat  # noqa: PLC0415 - optional dependency, only needed here
    except ImportError:
        fix = "`%pip install nbformat`, or export `md` instead."
        raise BadUsage("Writing notebooks needs the package nbformat.", fix=fix) from None
    untyped: Any = nbformat  # nbformat has no type hints
    new = untyped.v4
    code = export_python(turns, context)
    cells = [new.new_code_cell(LOAD, id="load"), new.new_code_cell(code.cells[0].source, id="before")]
    for turn in turns:
        shareable = shareable_turn(turn, plugins)
        transcript = shareable.transcript()
        bundle = turn_mimebundle(transcript.document(), transcript.media)
        output = new.new_output("display_data", bundle, metadata={})
        prompt = f"%%chat\n{escape_invisible(shareable.prompt.text)}"
        cells.append(new.new_code_cell(prompt, id=f"{turn.turn_id}-prompt"[:64], outputs=[output]))
        cells += [
            new.new_code_cell(cell.source, id=f"{turn.turn_id}-code-{number}"[:64], metadata=_tags(cell.by_model))
            for number, cell in enumerate(one for one in code.cells if one.turn_id == turn.turn_id)
        ]
    notebook = new.new_notebook(cells=cells, metadata=_METADATA)
    untyped.validate(notebook)
    return f"{untyped.writes(notebook)}\n"


_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3", "file_extension": ".py"},
}


def _tags(by_model: bool) -> dict[str, Any]:
    return {"tags": ["written-by-model"]} if by_model else {}

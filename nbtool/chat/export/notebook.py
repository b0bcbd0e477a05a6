"""Export a branch as a notebook: each prompt as a cell, its saved output, and its calls as plain Python."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Any

from nbtool.blocks.protocol import Document
from nbtool.blocks.render.mimebundle import turn_mimebundle
from nbtool.blocks.sanitize import escape_invisible
from nbtool.chat.export.call_code import ExportContext
from nbtool.chat.export.figures import Figures, unsaved_media
from nbtool.chat.export.python import export_python
from nbtool.chat.export.title import Origin, title_blocks
from nbtool.chat.export.visibility import shareable_turn
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.mime import media_bundle

LOAD = "%load_ext nbtool"


def as_notebook(
    turns: Sequence[Turn],
    context: ExportContext,
    plugins: Sequence[object] = (),
    figures: Figures | None = None,
    origin: Origin | None = None,
) -> str:
    """Return turns as a notebook of format 4, with a title and stable cell ids.

    `figures` counts the images and sounds that are missing in it; below each turn a line names them.

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
    code, missing, origin = export_python(turns, context), figures or Figures(), origin or Origin()
    title = "\n\n".join(filter(None, title_blocks(turns, origin)))
    cells = [new.new_markdown_cell(title, id="title"), new.new_code_cell(LOAD, id="load")]
    cells.append(new.new_code_cell(code.cells[0].source, id="before"))
    for turn in turns:
        shareable = shareable_turn(turn, plugins)
        transcript = origin.transcript(shareable)
        bundle = turn_mimebundle(transcript.document(), transcript.media)
        forms = (bundle, *_figures(shareable, bundle), *_missing_figures(shareable, transcript.document(), missing))
        outputs = [new.new_output("display_data", data, metadata={}) for data in forms]
        prompt = f"%%chat\n{escape_invisible(shareable.prompt.text)}"
        cells.append(new.new_code_cell(prompt, id=f"{turn.turn_id}-prompt"[:64], outputs=outputs))
        cells += [
            new.new_code_cell(cell.source, id=f"{turn.turn_id}-code-{number}"[:64], metadata=_tags(cell.by_model))
            for number, cell in enumerate(item for item in code.cells if item.turn_id == turn.turn_id)
        ]
    notebook = new.new_notebook(cells=cells, metadata=_METADATA)
    untyped.validate(notebook)
    return f"{untyped.writes(notebook)}\n"


def _figures(turn: Turn, bundle: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Return the images and sounds of a turn that its own output does not contain, each once, as a cell shows them."""
    every = {media.data: media for media in (*turn.transcript().media.values(), *turn.media) if media.data}
    for data, media in every.items():
        shown = media_bundle(media.mime, data, None, media.name or "")
        if len(shown) > 1 and b64encode(data).decode() not in bundle["text/html"]:
            yield shown


def _missing_figures(turn: Turn, document: Document, figures: Figures) -> Iterator[dict[str, str]]:
    """Return a line for the images and sounds of each call that only their own kernel had."""
    unsaved = unsaved_media(turn)
    for block in document["blocks"]:
        if block["kind"] == "call":
            for line in figures.write_unsaved(unsaved.get(block["id"], 0) - len(block.get("media", ()))):
                yield {"text/markdown": line, "text/plain": line.replace("\\", "")}


_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3", "file_extension": ".py"},
}


def _tags(by_model: bool) -> dict[str, Any]:
    return {"tags": ["written-by-model"]} if by_model else {}

"""The targets of arguments: as sent to a page, cleaned and bounded, and as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import cast

from nbtool.blocks.protocol import ResolvedReferenceShape, ResolvedShape
from nbtool.events import ResolvedArgument
from nbtool.text import clean_text


def resolved_shapes(
    resolved: Mapping[str, ResolvedArgument], keep: Callable[[str], str] = clean_text
) -> dict[str, ResolvedShape]:
    """Return the targets of arguments as plain data, applying `keep` to each text."""
    return {name: _shape(argument, keep) for name, argument in resolved.items()}


def resolved_text(shape: ResolvedShape) -> str:
    """Return the target of an argument as one text."""
    references = "; ".join(f"{item['name']}: {item['text']}" for item in shape["references"])
    return references if shape["is_reference"] else f"{shape['text']} ({references})" if references else shape["text"]


def only_reference(shape: ResolvedShape | None) -> ResolvedReferenceShape | None:
    """Return the reference if an argument is only a reference."""
    return shape["references"][0] if shape and shape["is_reference"] and shape["references"] else None


def _shape(argument: ResolvedArgument, keep: Callable[[str], str]) -> ResolvedShape:
    references = [
        cast("ResolvedReferenceShape", {name: keep(text) for name, text in asdict(reference).items()})
        for reference in argument.references
    ]
    return {"text": keep(argument.text), "references": references, "is_reference": argument.is_reference}

"""Write references as people do: `df` for `"$VAR_REF{{df}}"`."""

from __future__ import annotations

import re

_REFERENCE = re.compile(
    r"""(?<!\\)"\$VAR_REF\{\{([\w\-/.]{1,128}(?:\[(?:-?\d+|'[\w .-]{1,64}')\])*(?::\d+){0,2})\}\}\""""
)
"""A string of JSON that is nothing but a reference; as in js/src/text/format.ts."""


def name_references(json_text: str) -> str:
    """Return JSON with the bare name in place of each string that is only a reference."""
    return _REFERENCE.sub(r"\1", json_text)

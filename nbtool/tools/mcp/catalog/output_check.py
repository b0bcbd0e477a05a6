"""Check a result against the schema that its server announced; the call has run, so that nothing is refused."""

from __future__ import annotations

from typing import Any

from nbtool.json_schema import UnfitSchema, normalize
from nbtool.text import shorten
from nbtool.tools.schema.json_schema import drop_keyword
from nbtool.tools.values.sanitize import single_line

MAX_PROBLEM = 300
"""Maximum number of characters of what is wrong with a result."""


def mismatch(data: Any, schema: dict[str, Any]) -> str:
    """Return why structured content is not what a schema announces, in one line; empty if it is, or nobody can tell.

    Patterns are not checked, since one can take for ever, nor what refers to other documents.
    """
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # noqa: PLC0415 - loaded with the first server
    from jsonschema.exceptions import best_match  # type: ignore[import-untyped]  # noqa: PLC0415 - the same

    if data is None:
        return "it has no structured content"
    try:
        checked = normalize(drop_keyword(drop_keyword(schema, "pattern"), "patternProperties"), renames=False).schema
        error = best_match(Draft202012Validator(checked).iter_errors(data))
    except (UnfitSchema, RecursionError):
        return ""
    if error is None:
        return ""
    where = "".join(f"[{step!r}]" for step in error.absolute_path)
    return shorten(single_line(f"{where}: {error.message}".removeprefix(": ")), MAX_PROBLEM)

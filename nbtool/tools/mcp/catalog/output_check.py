"""Check a result against the schema that its server announced; the call has run, so that nothing is refused."""

from __future__ import annotations

from typing import Any

from nbtool.text import shorten
from nbtool.tools.schema.json_schema import drop_keyword
from nbtool.tools.values.sanitize import single_line

MAX_PROBLEM = 300
"""Maximum number of characters of what is wrong with a result."""


def mismatch(data: Any, schema: dict[str, Any]) -> str:
    """Return why structured content is not what a schema announces, in one line; empty if it is, or nobody can tell.

    Patterns are not checked: one can take for ever.
    """
    from jsonschema import SchemaError  # type: ignore[import-untyped]  # noqa: PLC0415 - loaded with the first server
    from jsonschema.exceptions import best_match  # type: ignore[import-untyped]  # noqa: PLC0415 - the same
    from jsonschema.validators import validator_for  # type: ignore[import-untyped]  # noqa: PLC0415 - the same
    from referencing import Registry  # noqa: PLC0415 - the same
    from referencing.exceptions import Unresolvable  # noqa: PLC0415 - the same

    if data is None:
        return "it has no structured content"
    checked = drop_keyword(drop_keyword(schema, "pattern"), "patternProperties")
    try:
        kind = validator_for(checked)
        kind.check_schema(checked)
        error = best_match(kind(checked, registry=Registry()).iter_errors(data))
    except (SchemaError, Unresolvable, RecursionError):
        return ""
    if error is None:
        return ""
    where = "".join(f"[{step!r}]" for step in error.absolute_path)
    return shorten(single_line(f"{where}: {error.message}".removeprefix(": ")), MAX_PROBLEM)

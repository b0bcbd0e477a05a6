"""The fields of the page's messages: ids, texts and edited arguments, with the limits within which they are valid."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from nbtool.ids import ID_PATTERN

ADDITION_LIMIT = 20_000
"""Characters of what is added to a running turn that are accepted."""

REASON_LIMIT = 4_000
"""Characters of a reason that are accepted."""

TEXT_LIMIT = 1_000_000
"""Characters of an edited result, or of edited arguments, that are accepted."""

QUERY_LIMIT = 200
"""Characters of a search that are accepted."""

MAX_BRANCH_NAME = 60
"""Characters of a name for a branch that are accepted; the page's field takes no more."""

PATH_LIMIT = 4_096
"""Characters of the path of a notebook that are accepted."""

MAX_ROUND = 10_000
"""The highest round number that is accepted."""


def _parse_object(value: Any) -> dict[str, Any]:
    """Parse a JSON object, or the text of one: numbers of a page lose precision for large integers."""
    text = value if isinstance(value, str) else _dump(value)
    if len(text) > TEXT_LIMIT:
        raise ValueError("too long")
    try:
        data = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(data, dict):
        raise ValueError("not an object")
    return data


def _dump(value: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, RecursionError):
        raise ValueError("not JSON") from None


def _refuse_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
TurnId = Annotated[str, Field(pattern=rf"^{ID_PATTERN}$")]
OptionalId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{0,64}$")]
MediaKey = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Digest = Annotated[str, Field(pattern=r"^[A-Za-z0-9:_+/=-]{1,200}$")]
Reason = Annotated[str, Field(max_length=REASON_LIMIT)]
EditedArguments = Annotated[str | dict[str, Any], AfterValidator(_parse_object)]

NotebookPath = Annotated[str, Field(max_length=PATH_LIMIT)]
SessionId = Annotated[str, Field(max_length=QUERY_LIMIT)]
"""What Jupyter's messages name a client of the kernel."""

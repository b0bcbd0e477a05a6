"""What a policy file may contain: its tables, checked strictly, since a misspelled rule would bind nobody."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from nbtool.errors import BadUsage
from nbtool.policy.host_pattern import HostPattern
from nbtool.text import shorten

MAX_SHOWN = 200
"""Maximum characters of a problem that quotes the file."""

ROOT_KEY = "the file"


def _parse_host(value: Any) -> HostPattern:
    if isinstance(value, HostPattern):
        return value
    if not isinstance(value, str):
        raise ValueError("expected an address as text")
    try:
        return HostPattern.parse(value)
    except BadUsage as error:
        raise ValueError(str(error)) from None


Host = Annotated[HostPattern, BeforeValidator(_parse_host)]
Text = Annotated[str, Field(min_length=1, max_length=1_000)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)


class HostRules(_Table):
    """`[hosts]`: where anything may be sent. With this table, a list that is missing is empty."""

    models: list[Host] = []
    mcp: list[Host] = []
    mcp_commands: list[Text] = []
    agents: list[Text] = []
    pages: list[Host] = []
    proxies: list[Host] = []


class ValueRules(_Table):
    """`[values]`: whether values of variables and results may be sent, or only their names, types and shapes."""

    may_leave: bool = True


class ApprovalRules(_Table):
    """`[approval]`: which tools never run, which always ask, and whether anything but a person may approve."""

    never: list[Text] = []
    always_ask: list[Text] = []
    automatic: bool = True


Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class PriceRule(_Table):
    """The price of a model in US dollars per million tokens; without the others, input costs the same everywhere."""

    input: Dollars
    output: Dollars
    cached: Dollars | None = None
    cache_write: Dollars | None = None
    input_audio: Dollars | None = None
    output_audio: Dollars | None = None


class BudgetRules(_Table):
    """`[budget]`: the most that one kernel may spend, and prices by `HOST/MODEL`."""

    usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    tokens: int | None = Field(default=None, gt=0)
    prices: dict[Annotated[str, Field(pattern=r"^[^/\s]+/\S+$", max_length=500)], PriceRule] = {}


class ServeRules(_Table):
    """`[serve]`: whether a notebook may serve its tools to other programs."""

    allowed: bool = True


class JournalRules(_Table):
    """`[journal]`: where history is kept, and for how many days."""

    storage: Literal["disk", "memory"] | None = None
    days: float | None = Field(default=None, gt=0, allow_inf_nan=False)


def _parse_file(value: Any) -> Any:
    if isinstance(value, str) and not (Path(value).is_absolute() or value.startswith("~/")):
        raise ValueError("expected a whole path, or one that begins with ~/")
    return value


class AuditRules(_Table):
    """`[audit]`: the file that gets a line for each decision about a call, of every chat."""

    file: Annotated[Text | None, BeforeValidator(_parse_file)] = None


class PolicyRules(_Table):
    """The rules of one file; a table that is missing limits nothing."""

    hosts: HostRules | None = None
    values: ValueRules = ValueRules()
    approval: ApprovalRules = ApprovalRules()
    budget: BudgetRules = BudgetRules()
    serve: ServeRules = ServeRules()
    journal: JournalRules = JournalRules()
    audit: AuditRules = AuditRules()


def parse_rules(data: dict[str, Any]) -> PolicyRules:
    """Return the rules of a file's content.

    Raises:
        BadUsage: a table, a key or a value is invalid.
    """
    try:
        return PolicyRules.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(step) for step in first["loc"]) or ROOT_KEY
        problem = _describe_unknown(first["loc"]) if first["type"] == "extra_forbidden" else first["msg"]
        raise BadUsage(f"{place}: {shorten(problem, MAX_SHOWN)}.".replace("..", ".")) from None


def _describe_unknown(place: Sequence[int | str]) -> str:
    """Describe a key that does not exist, with those that its table has."""
    table: type[_Table] = PolicyRules
    for step in place[:-1]:
        if field := table.model_fields.get(str(step)):
            table = next(_find_tables(field.annotation), table)
    return f"there is no such setting, only {', '.join(table.model_fields)}"


def _find_tables(annotation: Any) -> Iterator[type[_Table]]:
    """Find the tables in the type of a field, such as `HostRules | None`."""
    if isinstance(annotation, type) and issubclass(annotation, _Table):
        yield annotation
    for part in get_args(annotation):
        yield from _find_tables(part)

"""The parameters of a tool as they are offered to a model, and the way back from what a model wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nbtool.json_schema import UnfitSchema, normalize_parameters
from nbtool.json_schema.names import restore_names


@dataclass(frozen=True, slots=True)
class Offer:
    """A schema that every model's server takes; `problem` says why there is none, as the end of a sentence.

    `names` has the parameters' own names by those that are offered, where they differ.
    """

    schema: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""

    def restore(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a model's arguments under the parameters' own names."""
        restored: Mapping[str, Any] = restore_names(dict(arguments), self.names) if self.names else arguments
        return restored


def make_offer(schema: Mapping[str, Any]) -> Offer:
    """Return what is offered of parameters with a schema."""
    try:
        normal = normalize_parameters(schema)
    except UnfitSchema as unfit:
        return Offer(problem=str(unfit))
    return Offer(normal.schema, normal.names)

"""What arrives at a Python function with typed parameters of the calls that a public suite holds to be right.

    python -m benchmarks.typed_functions FOLDER [--write]

FOLDER has the files of the Berkeley Function Calling Leaderboard, as in `benchmarks.tool_search`. Each function of a
question is made into a Python function: `integer` is `int`, an enum `Literal[…]`, an object with properties a
`TypedDict`, a parameter that is not required has its default. A double of a model makes each right call, the first of
the accepted values for each argument, and the function keeps what it received.
"""

from __future__ import annotations

import inspect
import keyword
import os
import platform
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

from jsonschema import Draft202012Validator

from benchmarks.environments import ROOT
from benchmarks.tool_search import SETS as SEARCHED
from benchmarks.tool_search import read_rows
from nbtool import Chat, __version__, tool
from nbtool.testing import ScriptedWire, call

SETS = (*SEARCHED, "parallel_multiple", "live_parallel", "live_parallel_multiple")
PAGE = ROOT / "docs" / "typed-functions.md"
BEGIN, END = "<!-- table: python -m benchmarks.typed_functions -->", "<!-- end of table -->"

TYPES = {"string": str, "integer": int, "float": float, "number": float, "boolean": bool}

Schema = Mapping[str, Any]

SUITE_DATE = "2026-03-23"
"""The date of the commit that the figures are of."""

REASONS = {
    r"is not expected": "a name that the function, or the record, does not have",
    r"is missing": "a required argument is missing",
    r"expected '.*got (true|false|\d+)\.": "a boolean or a number, where texts are enumerated",
    r"expected '": "a text that is not among those enumerated",
    r"expected a valid": "a value of another type",
}
"""The kinds of refusals, by what is in their texts."""

JSON_TYPES = {"dict": "object", "float": "number", "tuple": "array"}
"""The types of the suite that JSON Schema names otherwise."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one call.

    Args:
        changes: what changed on the way, such as `int to float`.
        refusal: what the model is told.
        is_forbidden: the suite's own schema forbids the call too.
    """

    question: str
    changes: tuple[str, ...] = ()
    refusal: str = ""
    is_forbidden: bool = False


def annotation_of(schema: Schema, name: str) -> Any:
    """Return the Python type that an author would write for a schema of the suite."""
    kind, choices = schema.get("type", "any"), schema.get("enum")
    if choices and not any(isinstance(choice, float) for choice in choices):
        return Literal[tuple(choices)] if kind != "array" else list[Literal[tuple(choices)]]  # type: ignore[misc,valid-type]
    if kind in ("array", "tuple"):
        item = annotation_of(schema["items"], name) if schema.get("items") else Any
        return list[item] if kind == "array" else tuple[item, ...]  # type: ignore[valid-type]
    if kind == "dict":
        return _record(schema, name) if schema.get("properties") else dict[str, Any]
    return TYPES.get(kind, Any)


def _record(schema: Schema, name: str) -> Any:
    required = schema.get("required", ())
    types = {key: annotation_of(part, key) for key, part in schema["properties"].items()}
    parts = {key: part if key in required else NotRequired[part] for key, part in types.items()}
    return TypedDict(name, parts)  # type: ignore[operator]


def make_function(spec: Schema, received: list[dict[str, Any]]) -> Callable[..., str]:
    """Return a Python function with typed parameters that keeps what it receives; raises ValueError without one."""
    schema = spec["parameters"]
    required = schema.get("required", ())
    parameters = []
    for name, part in schema["properties"].items():
        if keyword.iskeyword(name) or not name.isidentifier():
            raise ValueError(f"the name of a parameter is none in Python: {name}")
        annotation, default = annotation_of(part, name), inspect.Parameter.empty
        if name not in required:
            default = part.get("default")
            annotation = annotation if default is not None else annotation | None
        parameters.append(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        )

    def run(**arguments: Any) -> str:
        received.append(arguments)
        return "Done."

    run.__name__ = run.__qualname__ = spec["name"].replace(".", "_")
    run.__doc__ = spec["description"]
    run.__signature__ = inspect.Signature(parameters, return_annotation=str)  # type: ignore[attr-defined]  # of any function
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def json_schema_of(schema: Schema) -> dict[str, Any]:
    """Return a schema of the suite as JSON Schema, in which an object has no other keys than its properties."""
    kind = schema.get("type", "any")
    written = {key: schema[key] for key in ("enum", "required") if key in schema}
    if kind != "any":
        written["type"] = JSON_TYPES.get(kind, kind)
    if schema.get("items"):
        written["items"] = json_schema_of(schema["items"])
    if kind == "array" and "enum" in written:
        written["items"] = {"enum": written.pop("enum")}
    if schema.get("properties"):
        written["properties"] = {name: json_schema_of(part) for name, part in schema["properties"].items()}
        written["additionalProperties"] = False
    return written


def right_arguments(accepted: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return the first accepted value of each argument; `""` is one that may be left out."""
    return {name: _right_value(values[0]) for name, values in accepted.items() if values and values[0] != ""}


def _right_value(value: Any) -> Any:
    """Return a value, and of an object, each of whose values is a list of accepted ones, the first of each."""
    if isinstance(value, list):
        return [_right_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    chosen = {key: part[0] if isinstance(part, list) and part else part for key, part in value.items()}
    return {key: _right_value(part) for key, part in chosen.items() if part != ""}


def changes_of(sent: Any, received: Any, path: str = "") -> Iterator[str]:
    """Yield each difference between what was sent and what was received."""
    if isinstance(sent, dict) and isinstance(received, dict):
        if sent.keys() != received.keys():
            yield f"other keys: {sorted(sent.keys() ^ received.keys())}"
        for key in sent.keys() & received.keys():
            yield from changes_of(sent[key], received[key], f"{path}.{key}")
    elif isinstance(sent, list) and type(received) is list and len(sent) == len(received):
        for item, other in zip(sent, received, strict=True):
            yield from changes_of(item, other, path)
    elif type(sent) is not type(received):
        yield f"{type(sent).__name__} to {type(received).__name__}"
    elif sent != received:
        yield "another value"


def try_call(question: str, specs: list[Schema], name: str, arguments: dict[str, Any]) -> Outcome:
    """Make a call of one of the functions of a question."""
    received: list[dict[str, Any]] = []
    spec = next(one for one in specs if one["name"] == name)
    try:
        function = make_function(spec, received)
    except ValueError as error:
        return Outcome(question, refusal=str(error))
    wire = ScriptedWire([call(function.__name__, **arguments), "Done."])
    turn = Chat(wire=wire, tools=[tool(function, run="auto")]).send(question)
    if not received:
        forbidden = not Draft202012Validator(json_schema_of(spec["parameters"])).is_valid(arguments)
        return Outcome(question, refusal=turn.calls[0].shown, is_forbidden=forbidden)
    given = {key: value for key, value in received[0].items() if key in arguments}
    return Outcome(question, tuple(sorted(set(changes_of(arguments, given)))))


def try_set(folder: Path, name: str) -> Iterator[Outcome]:
    """Make all right calls of a set."""
    answers = {row["id"]: row["ground_truth"] for row in read_rows(folder / "possible_answer" / f"BFCL_v4_{name}.json")}
    for row in read_rows(folder / f"BFCL_v4_{name}.json"):
        for right in answers[row["id"]]:
            ((function, accepted),) = right.items()
            yield try_call(row["id"], row["function"], function, right_arguments(accepted))


def reason_of(outcome: Outcome) -> str:
    """Return why a call was refused, in the words of a row of the page."""
    for pattern, reason in REASONS.items():
        if re.search(pattern, outcome.refusal):
            return reason
    return outcome.refusal


def table_of(tried: Mapping[str, list[Outcome]]) -> str:
    """Return the table of the sets, that of the refusals and the line with the versions."""
    rows = [_cells(name, outcomes) for name, outcomes in tried.items()]
    rows.append(_cells("**all**", [outcome for outcomes in tried.values() for outcome in outcomes]))
    refused = [outcome for outcomes in tried.values() for outcome in outcomes if outcome.refusal]
    reasons = Counter(map(reason_of, refused)).most_common()
    return "\n".join(
        (
            "| set | right calls | delivered unchanged | changed | refused | of these, its own schema forbids it too |",
            "| --- | --: | --: | --- | --: | --: |",
            *rows,
            "",
            "| refused | calls | for example |",
            "| --- | --: | --- |",
            *(f"| {reason} | {count} | {_example(reason, refused)} |" for reason, count in reasons),
            "",
            f"nbtool {__version__}, CPython {platform.python_version()}; the suite of {SUITE_DATE}.",
        )
    )


def _cells(name: str, outcomes: list[Outcome]) -> str:
    unchanged = sum(not outcome.changes and not outcome.refusal for outcome in outcomes)
    changes = Counter(change for outcome in outcomes for change in outcome.changes)
    changed = ", ".join(f"{change}: {count}" for change, count in sorted(changes.items())) or "-"
    refused = [outcome for outcome in outcomes if outcome.refusal]
    share = f"{unchanged:,} ({unchanged / len(outcomes):.1%})"
    forbidden = sum(outcome.is_forbidden for outcome in refused)
    return f"| {name} | {len(outcomes):,} | {share} | {changed} | {len(refused)} | {forbidden} |"


def _example(reason: str, refused: list[Outcome]) -> str:
    first = min((outcome for outcome in refused if reason_of(outcome) == reason), key=lambda one: len(one.refusal))
    return f"`{first.question}`: {first.refusal.split(' Parameters:')[0]}".replace("|", "\\|")


def main(arguments: list[str]) -> None:
    """Make all calls, and print or write what became of them."""
    os.environ.update(NBTOOL_HOME=tempfile.mkdtemp(), NBTOOL_JOURNAL="off")
    table = table_of({name: list(try_set(Path(arguments[0]), name)) for name in SETS})
    print(table)  # noqa: T201 - the result
    if "--write" in arguments:
        before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        PAGE.write_text("\n\n".join((before + BEGIN, table, END + rest.split(END)[1])), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

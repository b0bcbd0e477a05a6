"""Where the arguments of a call come from: the words of the prompt, as the tool's schema asks for them.

A value is looked for after the tool's name, then before it, then anywhere in the prompt. Nothing is invented:
a required parameter for which nothing stands there is reported as missing, an optional one is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from nbtool.practice.code import find_code, without_marks
from nbtool.practice.request import MENTION, REFERENCE, Done, Offer, reference_to

NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)?(?![\w-])")
NUMBER_WORDS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
WORDED = re.compile(rf"\b(?:{'|'.join(NUMBER_WORDS)})\b", re.IGNORECASE)
QUOTED = re.compile(r"\"([^\"\n]+)\"|“([^“”\n]+)”|(?<!\w)'([^'\n]+)'(?!\w)|(?<![$&`])`([^`\n]+)`|\b(\d{4}-\d\d-\d\d)\b")
CAPITALISED = re.compile(r"(?<![\w.])[A-ZÀ-Þ]\w*(?:[.&-]\w+)*(?: [A-ZÀ-Þ][\wÀ-ÿ]*[a-zß-ÿ]\w*)*")
JOINED = re.compile(r"\s*+(?:,|(?:,\s*+)?(?:and|or)(?: how many| the| of)?|&|vs\.?|versus)\s*+", re.IGNORECASE)
TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
ELSEWHERE = 2
CODE = {("run_python", "code"): "text/x-python"}
"""Parameters that take code, with its media type."""
MAX_EACH = 4
"""Calls that one tool gets in a round when several values are named for it."""


@dataclass(frozen=True, slots=True)
class Found:
    """A value and where it stands in the prompt."""

    start: int
    end: int
    value: Any


@dataclass(slots=True)
class Scene:
    """The prompt around one mention of a tool; `after` and `before` are the text that belongs to the mention.

    `plain` is the prompt with every mention of a tool or variable blanked out, at the same places. `own` are the
    places whose values this call has got, `taken` those that any call has.
    """

    prompt: str
    plain: str
    after: range
    before: range
    known: tuple[str, ...] = ()
    earlier: tuple[Done, ...] = ()
    taken: set[int] = field(default_factory=set)
    own: set[int] = field(default_factory=set)

    def zone(self, found: Found) -> int:
        """Say how near a value stands: 0 after the tool's name, 1 before it, 2 elsewhere."""
        return 0 if found.start in self.after else 1 if found.start in self.before else ELSEWHERE

    def rank(self, found: Found) -> tuple[bool, int, int]:
        """Order values: those that nobody has first, then by nearness and place."""
        return found.start in self.taken, self.zone(found), found.start


def fill(offer: Offer, scene: Scene) -> tuple[list[dict[str, Any]], str]:
    """Fill a tool's parameters: gives the arguments of each call, and the parameter that nothing was found for.

    A tool that requires one text or choice gets a call for each of several values that are named for it.
    """
    filled: list[dict[str, Any]] = [{}]
    required = offer.parameters.get("required") or []
    for name, schema in (offer.parameters.get("properties") or {}).items():
        most = MAX_EACH if required == [name] else int(name in required)
        spec = settle(schema, offer.parameters)
        if media_type := CODE.get((offer.name, name)):
            spec["contentMediaType"] = media_type
        values = _find(name, spec, scene, most)
        if not values and name in required:
            return [], name
        filled = [{**arguments, name: value} for arguments in filled for value in values] or filled
    return filled, ""


def settle(schema: Mapping[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    """Follow `$ref`, and take the first branch of a union that is not null."""
    target = (root.get("$defs") or {}).get(str(schema.get("$ref", "")).rpartition("/")[2], {})
    branches = [one for one in schema.get("anyOf") or [] if one.get("type") != "null"]
    inner = settle(branches[0], root) if branches else target
    return {**inner, **{key: value for key, value in schema.items() if key not in ("$ref", "anyOf")}}


def _find(name: str, spec: Mapping[str, Any], scene: Scene, most: int) -> list[Any]:
    """Give the values for one parameter, best first: at most so many, and none or one where it is not required (0)."""
    if (value := _named(name, spec, scene)) is not None:
        return [value]
    candidates = _code(scene) if "contentMediaType" in spec else _candidates(name, spec, scene)
    found = sorted((one for one in candidates if one.start not in scene.own), key=scene.rank)
    if most and scene.earlier and not any(scene.zone(one) == 0 for one in found):
        return [_from_earlier(spec, scene.earlier[-1])]
    if not most:
        found = [one for one in found if scene.zone(one) < ELSEWHERE and one.start not in scene.taken]
    if not found:
        return []
    run, is_list = _run(found, scene), spec.get("type") == "array"
    is_text = "enum" in spec or (spec.get("type") == "string" and not is_reference(name, spec, scene.known))
    used = run if is_list else run[: max(most, 1) if is_text else 1]
    scene.own.update(one.start for one in used)
    scene.taken.update(scene.own)
    values = [one.value for one in used]
    return [values] if is_list else values


def is_reference(name: str, spec: Mapping[str, Any], known: tuple[str, ...]) -> bool:
    """Say whether a parameter takes an object by reference: its schema says so, or it is named like a variable."""
    said = json.dumps(spec).lower()
    return name in known or ("enum" not in spec and ("$var_ref" in said or "reference" in said or "type" not in spec))


def _candidates(name: str, spec: Mapping[str, Any], scene: Scene) -> Iterator[Found]:
    kind, text = spec.get("type"), scene.plain
    if is_reference(name, spec, scene.known):
        yield from _references(name, scene)
    elif "enum" in spec:
        for choice in spec["enum"]:
            for match in re.finditer(rf"(?<!\w){re.escape(str(choice))}(?!\w)", text, re.IGNORECASE):
                yield Found(*match.span(), choice)
    elif kind in ("integer", "number"):
        yield from _numbers(text, whole=kind == "integer")
    elif kind == "array":
        yield from _candidates(name, spec.get("items") or {"type": "string"}, scene)
    elif kind == "string":
        yield from _texts(scene)


def _references(name: str, scene: Scene) -> Iterator[Found]:
    for match in REFERENCE.finditer(scene.prompt):
        yield Found(*match.span(), match[0])  # with its keys or its slice
    for match in MENTION.finditer(scene.prompt):
        yield Found(*match.span(), reference_to(match[1]))
    for known in scene.known:
        for match in re.finditer(rf"(?<![\w`]){re.escape(known)}(?!\w)", scene.plain):
            yield Found(*match.span(), reference_to(known))
    if name in scene.known or len(scene.known) == 1:
        yield Found(len(scene.prompt), len(scene.prompt), reference_to(name if name in scene.known else scene.known[0]))


def _code(scene: Scene) -> Iterator[Found]:
    for start, end, code in find_code(scene.prompt, scene.known):
        yield Found(start, end, code)


def _numbers(text: str, *, whole: bool) -> Iterator[Found]:
    for match in NUMBER.finditer(text):
        if not (whole and "." in match[0]):
            yield Found(*match.span(), float(match[0]) if "." in match[0] else int(match[0]))
    for match in WORDED.finditer(text):
        yield Found(*match.span(), NUMBER_WORDS[match[0].lower()])


def _texts(scene: Scene) -> Iterator[Found]:
    """Find quoted texts and dates; where there are none, capitalised words that do not merely begin a sentence."""
    text = scene.plain
    quoted = [
        Found(*match.span(), without_marks(scene.prompt[slice(*match.span(match.lastindex or 0))]))
        for match in QUOTED.finditer(text)
    ]
    yield from quoted
    for match in () if quoted else CAPITALISED.finditer(text):
        start, said = match.start(), match[0]
        first, _, rest = said.partition(" ")
        if first == "I" or (_begins_sentence(text, start) and not (len(first) > 1 and first.isupper())):
            start, said = start + len(first) + 1, rest
        if said:
            yield Found(start, match.end(), said)


def _begins_sentence(text: str, start: int) -> bool:
    while start > 0 and text[start - 1] in " \t\"'(*-":
        start -= 1
    return start == 0 or text[start - 1] in ".!?:\n"


def _run(found: list[Found], scene: Scene) -> list[Found]:
    """Give the first one and those that the prompt joins to it."""
    run = [found[0]]
    for one in sorted(found, key=lambda other: other.start):
        if one.start >= run[-1].end and JOINED.fullmatch(scene.plain, run[-1].end, one.start):
            run.append(one)
    return run


def _named(name: str, spec: Mapping[str, Any], scene: Scene) -> Any:
    """Find `name=value`, `name: value` or `name is value`; a flag may be named alone, or with "no" before it."""
    words = re.escape(name).replace("_", r"[_\s-]")
    value = r"(?:=|:|\bis\b)\s*(\"[^\"\n]+\"|'[^'\n]+'|-?[\w.]*\w)"
    if match := re.search(rf"(?<![\w`]){words}\s*{value}", scene.plain, re.IGNORECASE):
        return _coerce(match[1].strip("\"'"), spec)
    flag = re.search(rf"(\b(?:not|no|without)\s+)?\b{words}\b", scene.plain, re.IGNORECASE)
    return flag[1] is None if flag and spec.get("type") == "boolean" else None


def _coerce(word: str, spec: Mapping[str, Any]) -> Any:
    """Read a word as the schema's type; None where it is not one."""
    kind = spec.get("type")
    if "enum" in spec:
        return next((choice for choice in spec["enum"] if str(choice).lower() == word.lower()), None)
    if kind in ("integer", "number"):
        return next((one.value for one in _numbers(word, whole=kind == "integer")), None)
    return TRUTH.get(word.lower()) if kind == "boolean" else word if kind == "string" else None


def _from_earlier(spec: Mapping[str, Any], done: Done) -> Any:
    """Pass an earlier result on: by reference where it names one, else its value."""
    value = _coerce(done.shown, spec)
    return done.reference or (done.shown if value is None else value)

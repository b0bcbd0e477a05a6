"""Every regular expression of the package, found in its modules, and the pieces of text that each is about."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]  # the standard library's own parser has no other name
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import nbtool
from nbtool.wire.framing.provider_errors import MAX_CODE, MAX_MESSAGE
from nbtool.wire.prompted.forms.literal_calls import MAX_START_CHARS
from nbtool.wire.prompted.model_formats import MAX_END_CHARS
from nbtool.wire.prompted.own_fence import MAX_DECORATION
from nbtool.wire.providers.model_data import MAX_NAME

SAMPLES = {codes.CATEGORY_DIGIT: "1", codes.CATEGORY_SPACE: " ", codes.CATEGORY_WORD: "a"}


SOURCES = {path: path.read_text(encoding="utf-8") for path in Path(nbtool.__file__).parent.rglob("*.py")}

MATCHED = {
    "nbtool.practice.arguments.LIST_SEPARATOR": "used with `fullmatch` alone; another module has a text of this name",
    "nbtool.wire.prompted.model_formats._PARAMETER": "handed to `_read_tagged`, which matches at one place at a time",
    "nbtool.wire.prompted.model_formats._PAIR": "handed to `_read_tagged`, which matches at one place after another",
}
"""Patterns that are never searched with, though their names stand alone somewhere."""

BOUNDED = {
    "nbtool.wire.prompted.forms.literal_calls._REPLY_START": MAX_START_CHARS,
    "nbtool.wire.prompted.model_formats._END_TOKENS": MAX_END_CHARS,
    "nbtool.practice.plan.FAILURE_TEXT": 80,
    "nbtool.wire.endpoints.refused_fields._REFUSED_THINKING": MAX_CODE + MAX_MESSAGE + 100,
    "nbtool.wire.prompted.own_fence._DECORATION": MAX_DECORATION,
    "nbtool.wire.providers.model_id._SNAPSHOT": MAX_NAME,
}
"""Patterns that are used on so many characters alone."""

SEARCHING = ("search", "finditer", "findall", "sub", "subn", "split")


def patterns() -> dict[str, re.Pattern[Any]]:
    """Return the patterns that modules of the package hold, by module and name."""
    found: dict[str, re.Pattern[Any]] = {}
    for info in pkgutil.walk_packages(nbtool.__path__, "nbtool."):
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern) and value not in found.values():
                found[f"{info.name}.{name}"] = value
    return found


def words_of(pattern: re.Pattern[Any]) -> list[str]:
    """Return the pieces that a pattern names: its literals, one letter of each class, and a text that it may match."""
    words: list[str] = []
    example = _collect(_parsed(pattern), words)
    words += [example, example[:-1]]
    return [word for word in dict.fromkeys(words) if word]


def example_of(pattern: re.Pattern[Any]) -> str:
    """Return a text that a pattern may match."""
    return _collect(_parsed(pattern), [])


def _parsed(pattern: re.Pattern[Any]) -> Any:
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    return parser.parse(source, pattern.flags & ~re.UNICODE & ~re.DEBUG)


def is_searched(name: str) -> bool:
    """Whether a source searches with a pattern of this name anywhere in a text, and not at one place alone."""
    module, _, short = name.rpartition(".")
    own = Path(str(importlib.import_module(module).__file__))
    source = SOURCES[own] if short.startswith("_") else "\n".join(SOURCES.values())
    called = re.search(rf"\b{re.escape(short)}\.({'|'.join(SEARCHING)})\b", source)
    handed_on = re.search(rf"(?<![\w.]){re.escape(short)}(?![\w.]| =|: )", source)
    return bool(called or (handed_on and name not in MATCHED))


def use(pattern: re.Pattern[Any], text: str, *, search: bool) -> None:
    """Use a pattern as the code does: find all matches, or try the whole text."""
    given: Any = text if isinstance(pattern.pattern, str) else text.encode()
    if search:
        for _ in pattern.finditer(given):
            pass
    pattern.match(given)
    pattern.fullmatch(given)


def _collect(tree: Any, words: list[str]) -> str:
    """Collect the words of a part of a pattern; gives a text that it matches, as far as that is easily told."""
    example, run = "", ""
    for code, value in tree:
        if code is codes.LITERAL:
            run += chr(value)
            example += chr(value)
            continue
        if run:
            words.append(run)
        run = ""
        example += _part(code, value, words)
    if run:
        words.append(run)
    return example


def _part(code: Any, value: Any, words: list[str]) -> str:
    if code is codes.IN:
        letters = [_letter(one) for one in value if one[0] is not codes.NEGATE]
        words += letters[:4]
        return "a" if value[0][0] is codes.NEGATE else next(iter(letters), "")
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        low, _, inner = value
        return _collect(inner, words) * max(1, min(low, 40))
    if code is codes.BRANCH:
        return next(iter([_collect(branch, words) for branch in value[1]]), "")
    if code is codes.SUBPATTERN:
        return _collect(value[3], words)
    if code is codes.ATOMIC_GROUP:
        return _collect(value, words)
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        _collect(value[1], words)
        return ""
    return "a" if code in (codes.ANY, codes.NOT_LITERAL) else ""


def _letter(one: tuple[Any, Any]) -> str:
    code, value = one
    if code is codes.LITERAL:
        return chr(value)
    return chr(value[0]) if code is codes.RANGE else SAMPLES.get(value, "-")

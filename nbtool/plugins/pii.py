"""What counts as private: the types that come with nbtool, names, and patterns of one's own.

The patterns would rather mask too much than too little, and each takes time in proportion to the text.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from nbtool.errors import BadUsage
from nbtool.plugins.normalize import normalize

MAX_TYPE = 24
"""Characters of a type's name."""

_TYPE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")
_ENDINGS = (
    "com|org|net|edu|gov|mil|info|biz|dev|app|io|ai|eu|uk|de|fr|es|nl|ch|se|dk|fi|pl|pt|cz|ru|ua|cn|jp|kr|au|nz|ca|br"
)
"""Ends of addresses that are looked for where one is spelt out in words; most words of two letters are words."""

_DATE = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}")


@dataclass(frozen=True, slots=True)
class PiiType:
    """A type of private text: a pattern, and what a match must pass besides."""

    name: str
    pattern: re.Pattern[str]
    check: Callable[[str], bool] = bool


def _is_phone(text: str) -> bool:
    return 7 <= sum(map(str.isdigit, text)) <= 15 and not _DATE.fullmatch(text)


def _is_card(text: str) -> bool:
    """Check the Luhn digit (ISO/IEC 7812-1)."""
    digits = [int(digit) for digit in reversed(text) if digit.isdigit()]
    return sum(digits[::2] + [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]) % 10 == 0


def _is_iban(text: str) -> bool:
    """Take what is written in groups of capitals; check what is written otherwise (ISO 7064, modulo 97)."""
    compact = re.sub(r"[ .-]", "", text)
    if " " in text and text.isupper():
        return True
    return compact.isascii() and int("".join(str(int(letter, 36)) for letter in compact[4:] + compact[:4])) % 97 == 1


def _is_ip(text: str) -> bool:
    try:
        return bool(ipaddress.ip_address(text))
    except ValueError:
        return False


def _pii_type(name: str, pattern: str, check: Callable[[str], bool] = bool) -> PiiType:
    return PiiType(name, re.compile(pattern), check)


PII_TYPES = {
    "email": _pii_type(
        "EMAIL",
        r"(?<![\w.+%-])(?:[\w.+%-]++ ?@ ?(?:[\w-]++\.)+[^\W\d_]{2,24}"
        r"|[\w.+%-]++ {1,2}(?i:at) {1,2}[\w-]++(?:(?: {1,2}(?i:dot) {1,2}|\.)[\w-]++)*"
        rf" {{1,2}}(?i:dot) {{1,2}}(?i:{_ENDINGS})(?!\w))",
    ),
    "phone": _pii_type(
        "PHONE", r"(?<![\w.+-])(?:(?:\+|0|\(0)\d[\d ()./-]{4,18}\d|\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4})(?!\w)", _is_phone
    ),
    "card": _pii_type(
        "CARD",
        r"(?<![\w.])(?:\d{13,19}|\d{4}(?:[ ./_-]{1,2}\d{4}){3}|3\d{3}[ ./_-]{1,2}\d{6}[ ./_-]{1,2}\d{4,5})(?!\w)",
        _is_card,
    ),
    "iban": _pii_type(
        "IBAN",
        r"\b(?:[A-Za-z]{2}\d{2}[A-Za-z0-9]{11,30}"
        r"|[A-Za-z]{2}\d{2}(?:[ .-]{1,2}[A-Za-z0-9]{4}){2,7}(?:[ .-]{1,2}[A-Za-z0-9]{1,3})?)\b",
        _is_iban,
    ),
    "ip": _pii_type("IP", r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f:]{6,39})(?![\w:])", _is_ip),
    "api_key": _pii_type(
        "API_KEY",
        r"\b(?:sk|pk|rk|gsk|xai|csk|pplx|hf|nvapi|gh[opsu]|github_pat|glpat|xox[abprs])[-_][\w-]{10,}+"
        r"|\bAIza[\w-]{20,}+|\bAKIA[A-Z0-9]{12,}+|\beyJ[\w-]{10,}+\.[\w-]++(?:\.[\w-]++)?"
        r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\w\s+/=]*+(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?",
    ),
}
"""The types that come with nbtool, by the names under which `Privacy` takes them."""


def select_types(built_in: Iterable[str], names: Iterable[str], patterns: Mapping[str, str]) -> list[PiiType]:
    """Give the kinds that are asked for: ours by name, names of people and things, and patterns of one's own.

    Raises:
        BadUsage: there is no such type, its name cannot stand in a mask, or a pattern is wrong.
    """
    chosen = []
    for name in built_in:
        if name not in PII_TYPES:
            raise BadUsage(f"There is no private type {name!r}.", fix=f"Known are {', '.join(PII_TYPES)}.")
        chosen.append(PII_TYPES[name])
    names_pattern = "|".join(_name_pattern(name) for name in sorted(names, key=len, reverse=True) if name.strip())
    custom = [("NAME", rf"(?i:(?<![^\W_])(?:{names_pattern})(?![^\W_]))")] if names_pattern else []
    return [*chosen, *(_custom_type(name, pattern) for name, pattern in [*custom, *patterns.items()])]


def _name_pattern(name: str) -> str:
    """Write the pattern of a name: as all text is spelt, its words parted by anything that parts words."""
    return r"[\s._-]{1,3}".join(re.escape(word) for word in normalize(name).text.split())


def _custom_type(name: str, pattern: str) -> PiiType:
    if len(name) > MAX_TYPE or not _TYPE.fullmatch(name.upper()):
        raise BadUsage(f"{name!r} cannot stand in a mask.", fix=f"Use up to {MAX_TYPE} letters, digits and single `_`.")
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise BadUsage(f"The pattern of {name!r} is no regular expression: {error}.") from None
    if compiled.match(""):
        raise BadUsage(f"The pattern of {name!r} matches nothing at all, so it would match everywhere: {pattern!r}.")
    return PiiType(name.upper(), compiled)

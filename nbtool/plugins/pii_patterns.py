"""Types of personal data (PII): built-in types, names, and custom patterns.

The patterns prefer false positives to false negatives, and each takes linear time.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from nbtool.errors import BadUsage
from nbtool.plugins.text_normalization import normalize

MAX_TYPE = 24
"""Maximum length of a type's name, in characters."""

_TYPE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")
_ENDINGS = (
    "com|org|net|edu|gov|mil|info|biz|dev|app|io|ai|eu|uk|de|fr|es|nl|ch|se|dk|fi|pl|pt|cz|ru|ua|cn|jp|kr|au|nz|ca|br"
)
"""Top-level domains in addresses spelled out in words; most two-letter ones are also ordinary words."""

_DATE = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}")


@dataclass(frozen=True, slots=True)
class PiiType:
    """A type of private text: a pattern, and a check that a match must pass."""

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
    """Accept an IBAN written in groups of capitals; check any other by its checksum (ISO 7064, modulo 97)."""
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
"""The built-in types, by the names that `Privacy` accepts."""


def select_types(built_in: Iterable[str], names: Iterable[str], patterns: Mapping[str, str]) -> list[PiiType]:
    """Return the selected types: built-in types by name, names of people and things, and custom patterns.

    Raises:
        BadUsage: the type is unknown, its name is invalid in a mask, or a pattern is invalid.
    """
    chosen = []
    for name in built_in:
        if name not in PII_TYPES:
            raise BadUsage(f"Unknown private type {name!r}.", fix=f"Available: {', '.join(PII_TYPES)}.")
        chosen.append(PII_TYPES[name])
    names_pattern = "|".join(_name_pattern(name) for name in sorted(names, key=len, reverse=True) if name.strip())
    custom = [("NAME", rf"(?i:(?<![^\W_])(?:{names_pattern})(?![^\W_]))")] if names_pattern else []
    return [*chosen, *(_custom_type(name, pattern) for name, pattern in [*custom, *patterns.items()])]


def _name_pattern(name: str) -> str:
    """Return the pattern of a name: normalized, its words separated by spaces, dots, underscores or dashes."""
    return r"[\s._-]{1,3}".join(re.escape(word) for word in normalize(name).text.split())


def _custom_type(name: str, pattern: str) -> PiiType:
    if len(name) > MAX_TYPE or not _TYPE.fullmatch(name.upper()):
        raise BadUsage(f"Invalid type name {name!r}.", fix=f"Use up to {MAX_TYPE} letters, digits and single `_`.")
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise BadUsage(f"The pattern of {name!r} is not a regular expression: {error}.") from None
    if compiled.match(""):
        raise BadUsage(f"The pattern of {name!r} matches the empty string, so it would match everywhere: {pattern!r}.")
    return PiiType(name.upper(), compiled)

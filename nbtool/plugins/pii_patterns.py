"""Types of personal data (PII): built-in types, names, and custom patterns.

The patterns prefer false positives to false negatives, and each takes linear time.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from nbtool.errors import BadUsage
from nbtool.plugins.text_normalization import normalize
from nbtool.wire.framing.key_forms import KEY_FORMS

MAX_TYPE = 24
"""Maximum length of a type's name, in characters."""

_TYPE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")
_ENDINGS = (
    "com|org|net|edu|gov|mil|info|biz|dev|app|io|ai|eu|uk|de|fr|es|nl|ch|se|dk|fi|pl|pt|cz|ru|ua|cn|jp|kr|au|nz|ca|br"
)
"""Top-level domains in addresses spelled out in words; most two-letter ones are also ordinary words."""

MIN_IBAN = 12
"""Characters of the shortest text in groups that is taken for an IBAN; real ones have 15 to 34."""

_GROUP = re.compile(r"[^\W_]+")
_IBAN_DIGITS = {ord(letter): str(int(letter, 36)) for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_IN_GROUP = r"[A-Za-z0-9](?:\n?[A-Za-z0-9])"
_BETWEEN = r"[ \n._-]{1,2}"
_FOUR, _SIX = r"\d(?:\n?\d){3}", r"\d(?:\n?\d){5}"
_BETWEEN_DIGITS = r"[ \n./_-]{1,2}"

_DATE = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}")


@dataclass(frozen=True, slots=True)
class PiiType:
    """A type of private text: a pattern, and how many characters of a match are private (0: none).

    Of a pattern with `overlaps`, a match that is not private may contain the beginning of one that is.
    """

    name: str
    pattern: re.Pattern[str]
    size: Callable[[str], int] = len
    overlaps: bool = False

    def spans(self, text: str, begin: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield the private spans between two positions of a normalized text."""
        position = begin
        while match := self.pattern.search(text, position, stop):
            start, end = match.span()
            if size := self.size(match[0]):
                yield start, start + size
            position = start + 1 if (self.overlaps and not size) or start == end else end


def _is_phone(text: str) -> bool:
    return 7 <= sum(map(str.isdigit, text)) <= 15 and not _DATE.fullmatch(text) and text.count("\n") <= 1


def _is_card(text: str) -> bool:
    """Check the Luhn digit (ISO/IEC 7812-1); in two lines only of a number as payment cards have, not of a column."""
    if "\n" in text and (text.count("\n") > 1 or text[0] not in "3456"):
        return False
    digits = [int(digit) for digit in reversed(text) if digit.isdigit()]
    return sum(digits[::2] + [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]) % 10 == 0


def _iban_size(text: str) -> int:
    """Return the length of the longest beginning, of whole groups, that is an IBAN by its checksum (ISO 7064, mod 97).

    Without one, capitals in groups on one line count as one with a slip.
    """
    letters, size = "", 0
    for group in _GROUP.finditer(text):
        letters += group[0]
        if len(letters) < MIN_IBAN:
            continue
        if not letters.isascii():
            break
        rotated = letters[4:] + letters[:4]  # the country and the check digits, which the checksum takes last
        if int(rotated.upper().translate(_IBAN_DIGITS)) % 97 == 1:
            size = group.end()
    if size:
        return size
    line = text.partition("\n")[0].rstrip(" .-")
    return len(line) if " " in line and line.isupper() and len(line.replace(" ", "")) >= MIN_IBAN else 0


def _is_ip(text: str) -> bool:
    try:
        return bool(ipaddress.ip_address(text))
    except ValueError:
        return False


def _pii_type(name: str, pattern: str, check: Callable[[str], bool] = bool) -> PiiType:
    return PiiType(name, re.compile(pattern), lambda text: len(text) if check(text) else 0)


PII_TYPES = {
    "email": _pii_type(
        "EMAIL",
        r"(?<![\w.+%-])(?:[\w.+%-]++ ?@[ \n]?(?:[\w-]++\.)+[^\W\d_]{2,24}"
        r"|[\w.+%-]++ {1,2}(?i:at) {1,2}[\w-]++(?:(?: {1,2}(?i:dot) {1,2}|\.)[\w-]++)*"
        rf" {{1,2}}(?i:dot) {{1,2}}(?i:{_ENDINGS})(?!\w))",
    ),
    "phone": _pii_type(
        "PHONE",
        r"(?<![\w.+-])(?:\+\d[\d \n()./-]{4,18}\d|(?:0|\(0)\d[\d ()./-]{4,18}\d"
        r"|(?:1[ .-])?\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4})(?!\w)",
        _is_phone,
    ),
    "card": _pii_type(
        "CARD",
        rf"(?<![\w.])(?:\d{{13,19}}|{_FOUR}(?:{_BETWEEN_DIGITS}{_FOUR}){{3}}"
        rf"|(?=3){_FOUR}{_BETWEEN_DIGITS}{_SIX}{_BETWEEN_DIGITS}{_FOUR}\d?)(?!\w)",
        _is_card,
    ),
    "iban": PiiType(
        "IBAN",
        re.compile(
            rf"\b[A-Za-z]{{2}}\n?\d\n?\d(?:(?:\n?[A-Za-z0-9]){{11,30}}"
            rf"|(?:{_BETWEEN}{_IN_GROUP}{{3}}){{2,7}}(?:{_BETWEEN}{_IN_GROUP}{{0,2}})?)\b"
        ),
        _iban_size,
        overlaps=True,
    ),
    "ip": _pii_type(
        "IP",
        r"(?<![\w.:])(?:[0-9A-Fa-f:]{2,30}:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f:]{6,39})(?![\w:])"
        r"|(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)",
        _is_ip,
    ),
    "api_key": _pii_type("API_KEY", KEY_FORMS),
}
"""The built-in types, by the names that `Privacy` accepts."""


def select_types(
    built_in: Iterable[str], names: Iterable[str], patterns: Mapping[str, str | re.Pattern[str]]
) -> list[PiiType]:
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


def _custom_type(name: str, pattern: str | re.Pattern[str]) -> PiiType:
    if len(name) > MAX_TYPE or not _TYPE.fullmatch(name.upper()):
        raise BadUsage(f"Invalid type name {name!r}.", fix=f"Use up to {MAX_TYPE} letters, digits and single `_`.")
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise BadUsage(f"The pattern of {name!r} is not a regular expression: {error}.") from None
    if compiled.match(""):
        raise BadUsage(f"The pattern of {name!r} matches the empty string, so it would match everywhere: {pattern!r}.")
    return PiiType(name.upper(), compiled)

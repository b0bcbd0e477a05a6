"""Confusable letters: a Cyrillic letter in a Latin word, and letters shaped like Latin ones.

Words of a single script are unchanged, and so are usual mixtures of scripts. See
https://www.unicode.org/reports/tr39/#Mixed_Script_Detection. The page does the same with the same letters, which are
written to `js/src/text/confusables.json`.
"""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"\w[\w\u0300-\u036f]*")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")

FOREIGN_SCRIPTS = ("Cyrillic", "Armenian", "Cherokee", "Coptic", "Lisu")
"""Scripts whose letters do not belong in a Latin word."""

GREEK_LETTERS = "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϺοϲϳ"  # noqa: RUF001 - they are here because they look alike
"""Greek letters that look identical to Latin ones; others are common in names."""

CYRILLIC_TWINS = "аеорсухіјѕԁһѵкАВЕКМНОРСТУХІЈЅԌԚԜ"
"""Cyrillic letters that look like Latin ones; a word may consist only of these."""

STYLED_LETTERS = "\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff"
"""Ranges of Latin letters and digits in another width or style, as in a character class."""

_NAME_PREFIXES = tuple(map(str.upper, FOREIGN_SCRIPTS))
_TWINS = frozenset(CYRILLIC_TWINS)
_STYLED = re.compile(f"[{STYLED_LETTERS}]")


def escape_confusables(text: str) -> str:
    r"""Escape confusable letters: a Cyrillic `\u{0430}` in a Latin word, a fullwidth letter."""
    if not _NOT_ASCII.search(text):
        return text
    words = _WORD.findall(text)
    has_latin = any(map(_has_latin, words))
    is_cyrillic = any(_is_cyrillic(word) for word in words)

    def escape_word(match: re.Match[str]) -> str:
        word = match[0]
        if _has_latin(word) or (has_latin and not is_cyrillic and _TWINS.issuperset(word)):
            return "".join(_escape(letter) if _is_foreign_letter(letter) else letter for letter in word)
        return word

    return _STYLED.sub(lambda found: _escape(found[0]), _WORD.sub(escape_word, text))


def _has_latin(word: str) -> bool:
    return any(letter.isascii() and letter.isalpha() for letter in word) or any(
        _name(letter).startswith(("LATIN", "FULLWIDTH LATIN")) for letter in _NOT_ASCII.findall(word)
    )


def _is_cyrillic(word: str) -> bool:
    """Return whether a word is plausible Cyrillic."""
    letters = _NOT_ASCII.findall(word)
    is_written = any(_name(letter).startswith("CYRILLIC") for letter in letters)
    return is_written and not _has_latin(word) and not _TWINS.issuperset(word)


def _is_foreign_letter(letter: str) -> bool:
    return letter in GREEK_LETTERS or (not letter.isascii() and _name(letter).startswith(_NAME_PREFIXES))


def _name(letter: str) -> str:
    return unicodedata.name(letter, "")


def _escape(letter: str) -> str:
    return f"\\u{{{ord(letter):04x}}}"

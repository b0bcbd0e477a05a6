"""Confusable letters: a Cyrillic letter in a Latin word, and letters shaped like Latin ones.

Words of a single script are unchanged, and so are usual mixtures of scripts. See
https://www.unicode.org/reports/tr39/#Mixed_Script_Detection. The page does the same with the same letters, which are
written to `js/src/text/confusables.json`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_WORD = re.compile(r"\w[\w\u0300-\u036f]*")
_ASCII_LETTER = re.compile(r"[A-Za-z]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")

FOREIGN_SCRIPTS = ("Cyrillic", "Armenian", "Cherokee", "Coptic", "Lisu")
"""Scripts whose letters do not belong in a Latin word."""

GREEK_LETTERS = "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϺοϲϳ"  # noqa: RUF001 - they are here because they look alike
"""Greek letters that look identical to Latin ones; others are common in names."""

CYRILLIC_TWINS = "аеорсухіјѕԁһѵкАВЕКМНОРСТУХІЈЅԌԚԜ"
"""Cyrillic letters that look like Latin ones; a word may consist only of these."""

STYLED_LETTERS = "\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff"
"""Ranges of Latin letters and digits in another width or style, as in a character class."""

CACHED_LETTERS = 4096
"""Letters whose names are cached: a long text repeats few of them, and looking a name up is slow."""

_NAME_PREFIXES = tuple(map(str.upper, FOREIGN_SCRIPTS))
_TWINS = frozenset(CYRILLIC_TWINS)
_STYLED = re.compile(f"[{STYLED_LETTERS}]")


def escape_confusables(text: str) -> str:
    r"""Escape confusable letters: a Cyrillic `\u{0430}` in a Latin word, a fullwidth letter."""
    if not _NOT_ASCII.search(text):
        return text
    words = {word for word in _WORD.findall(text) if not word.isascii()}  # an ASCII word has nothing to escape
    has_latin = bool(_ASCII_LETTER.search(text)) or any(map(_has_latin, words))
    is_cyrillic = any(map(_is_cyrillic, words))

    def escape_word(word: str) -> str:
        if _has_latin(word) or (has_latin and not is_cyrillic and _TWINS.issuperset(word)):
            return "".join(map(_escape_foreign, word))
        return word

    escaped = {word: new for word in words if (new := escape_word(word)) != word}
    if escaped:
        text = _WORD.sub(lambda found: escaped.get(found[0], found[0]), text)
    return _STYLED.sub(lambda found: _escape(found[0]), text)


def _has_latin(word: str) -> bool:
    return bool(_ASCII_LETTER.search(word)) or any(
        _name(letter).startswith(("LATIN", "FULLWIDTH LATIN")) for letter in set(word) if not letter.isascii()
    )


def _is_cyrillic(word: str) -> bool:
    """Return whether a word is plausible Cyrillic."""
    is_written = any(_name(letter).startswith("CYRILLIC") for letter in set(word))
    return is_written and not _has_latin(word) and not _TWINS.issuperset(word)


@lru_cache(CACHED_LETTERS)
def _escape_foreign(letter: str) -> str:
    is_foreign = letter in GREEK_LETTERS or (not letter.isascii() and _name(letter).startswith(_NAME_PREFIXES))
    return _escape(letter) if is_foreign else letter


@lru_cache(CACHED_LETTERS)
def _name(letter: str) -> str:
    return unicodedata.name(letter, "")


@lru_cache(CACHED_LETTERS)
def _escape(letter: str) -> str:
    return f"\\u{{{ord(letter):04x}}}"

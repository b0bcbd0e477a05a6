"""Whether a person typed a text: compared character by character, in whole words.

Nothing that a model writes is made similar before the comparison: another case, a letter that looks alike, an
invisible character or a control character make it another text. Only to *find* addresses and numbers are such
spellings undone, so that disguised ones are found too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

MIN_CHARS = 4
"""Minimum number of characters of a text that can count as typed: a shorter one is in a prompt by chance."""

LONG_NUMBER = 7
"""Digits from which a number has to be typed: a phone number, an account, an id."""

_REFERENCE = "$VAR_REF{{"
"""How a reference begins: what it stands for is not in the arguments."""

_LIST_MARK = re.compile(r"[,;]")
_AROUND = ".,;:!?\"'`()[]{}<>\u2018\u2019\u201c\u201d\u00ab\u00bb\u2026"
"""What may surround a word of a prompt, and is no part of it."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?")
_DOTTED_NAME = re.compile(r"[^\W_][_-]*\.[^\W\d_]{2}")
"""The dot of such a name: from the last letter or digit before it, so that a search takes linear time."""
_IP_ADDRESS = re.compile(
    r"(?<!\d)\d+(?:\.\d+){3}(?!\d)|[0-9a-fA-F]::|::[0-9a-fA-F]|(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]"
)
_NUMBER_WORD = re.compile(r"[\W_]*+\d[\d\W_]*+")


class TypedWords:
    """The words of what a person typed."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._lines = [words for text in texts for words in _word_lists(text)]
        self._words = {form for line in self._lines for form in _single_words(line)}

    def has(self, text: str) -> bool:
        """Whether a text was typed as it is, as one or several whole words in sequence."""
        parts = text.split(" ")
        if len(text) < MIN_CHARS or not all(parts):
            return False
        return text in self._words if len(parts) == 1 else any(_is_in(parts, line) for line in self._lines)


def _word_lists(text: str) -> Iterator[list[str]]:
    """Yield the words of a text, and those between its commas if it has any."""
    yield text.split()
    if _LIST_MARK.search(text):
        yield list(_split_lists(text))


def _split_lists(text: str) -> Iterator[str]:
    """Yield the words of a text, and an empty one between those that a comma separates."""
    for word in text.split():
        first, *others = _LIST_MARK.split(word)
        yield first
        for other in others:
            yield ""
            yield other


def _single_words(words: list[str]) -> Iterator[str]:
    """Yield each word that is no part of a longer number, with and without what surrounds it."""
    numbers = [False, *map(_are_digits, words), False]
    for word, before, is_number, after in zip(words, numbers, numbers[1:], numbers[2:], strict=False):
        if word and not (is_number and (before or after)):
            yield from (word, word.lstrip(_AROUND), word.rstrip(_AROUND), word.strip(_AROUND))


def _is_in(parts: list[str], words: list[str]) -> bool:
    """Whether several words are in a sequence, the outer two without what surrounds them."""
    if len(words) < len(parts):
        return False
    first, *inner, last = parts
    for start in _places(inner, words[1:-1]):
        head, tail = words[start], words[start + len(parts) - 1]
        is_found = first in (head, head.lstrip(_AROUND)) and last in (tail, tail.rstrip(_AROUND))
        if is_found and not _is_part_of_number(words, start, start + len(parts)):
            return True
    return False


def _places(parts: list[str], words: list[str]) -> Iterator[int]:
    """Yield where these words begin in others; in linear time, by the method of Knuth, Morris and Pratt."""
    if not parts:
        yield from range(len(words) + 1)
        return
    lengths = [0]  # of the longest proper beginning of the parts that ends at each of them
    for at in range(1, len(parts)):
        lengths.append(_matched(parts, lengths, lengths[-1], parts[at]))
    matched = 0
    for at, word in enumerate(words):
        matched = _matched(parts, lengths, matched, word)
        if matched == len(parts):
            yield at + 1 - matched
            matched = lengths[-1]


def _matched(parts: list[str], lengths: list[int], matched: int, word: str) -> int:
    """Return how many parts the words match that end with this one, if so many matched before it."""
    while matched and parts[matched] != word:
        matched = lengths[matched - 1]
    return matched + 1 if parts[matched] == word else 0


def _is_part_of_number(words: list[str], start: int, end: int) -> bool:
    """Whether the digits before or after these words continue them: a number may be grouped by spaces."""
    has_more_before = start > 0 and _are_digits(words[start - 1], words[start])
    return has_more_before or (end < len(words) and _are_digits(words[end - 1], words[end]))


def _are_digits(*words: str) -> bool:
    return all(map(_NUMBER_WORD.fullmatch, words))


def texts_in(value: Any) -> Iterator[str]:
    """Yield every text and number of an argument as text, keys too; nothing for what is empty."""
    match value:
        case None | "":
            return
        case str():
            yield value
        case Mapping():
            for key, item in value.items():
                yield from texts_in(key)
                yield from texts_in(item)
        case list() | tuple():
            for item in value:
                yield from texts_in(item)
        case float() if value.is_integer():
            yield str(int(value))
        case _:
            yield str(value)


def find_addresses(text: str) -> Iterator[str]:
    """Yield the words of a text that hold an address, a long number or a reference, as they are written.

    Addresses are those with `@` or `://`, of the Internet protocol, and names with a dot, so file names too: which of
    them are hosts changes every week. A date is no long number.
    """
    words = text.split()
    for word in words:
        if _is_address(_plain(word).strip(_AROUND)):
            yield word.strip(_AROUND)
    yield from _numbers_of_several_words(words)


def _is_address(plain: str) -> bool:
    if _REFERENCE in plain or "@" in plain or "://" in plain or _DOTTED_NAME.search(plain) or _IP_ADDRESS.search(plain):
        return True
    return not _DATE.fullmatch(plain) and _count_digits(plain) >= LONG_NUMBER


def _numbers_of_several_words(words: list[str]) -> Iterator[str]:
    """Yield long numbers whose digits are grouped by spaces."""
    group: list[str] = []
    for word in (*words, ""):
        if _NUMBER_WORD.fullmatch(_plain(word)):
            group.append(word)
            continue
        plain = _plain(" ".join(group)).strip(_AROUND)
        if len(group) > 1 and not _DATE.fullmatch(plain) and _count_digits(plain) >= LONG_NUMBER:
            yield " ".join(group).strip(_AROUND)
        group = []


def _count_digits(text: str) -> int:
    return sum(character.isdecimal() for character in text)


def _plain(text: str) -> str:
    """Return a text in its compatibility form, without invisible characters."""
    folded = unicodedata.normalize("NFKC", text).replace("\u3002", ".")  # a dot in names of hosts
    return "".join(character for character in folded if unicodedata.category(character) not in ("Cf", "Mn", "Cc"))

"""Masks for private values: `__MASK_<TYPE>_<n>__`.

All matches in a text are masked in one pass and restored in one pass, so no pattern is applied to a mask and masks do
not nest. Overlapping matches become one mask, named after the first. Patterns are applied to the normalized text (see
`normalize`), but the mask replaces the original text, so that restoring returns the original characters. A piece in
base64 or hexadecimal is masked as a whole if its decoded text contains anything private.
"""

from __future__ import annotations

import json
import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from threading import Lock
from typing import Any

from nbtool.messages import Citation, Link, Media, Part, ProviderCall, Refusal, Text, Thinking, ToolCall, ToolResult
from nbtool.plugins.markup_readings import markup_readings
from nbtool.plugins.pii_patterns import MAX_TYPE, PiiType
from nbtool.plugins.text_normalization import NormalizedText, encoded_texts, normalize
from nbtool.text import map_media_text, map_text

MAX_MASKS = 1_000
"""Maximum number of masked values; beyond it the least recently used one is evicted."""

MAX_DEPTH = 2
"""Maximum depth of nested encodings that are searched."""

MAX_MASK_CHARS = MAX_TYPE + 24
"""Length of the longest mask, in characters."""

MASK = re.compile(rf"__MASK_([A-Z0-9_]{{1,{MAX_TYPE}}}?)_(\d{{1,9}})__")
PARTIAL_MASK = re.compile(rf"_(?:_(?:M(?:A(?:S(?:K(?:_[A-Z0-9_]{{0,{MAX_TYPE + 12}}})?)?)?)?)?)?\Z")
"""The end of a text that may be the beginning of a mask."""


class Masks:
    """Maps values to masks and back, the same value to the same mask; `evicted` counts evicted values."""

    def __init__(self, kinds: Iterable[PiiType], *, max_masks: int = MAX_MASKS) -> None:
        self.max_masks = max_masks
        self._kinds = tuple(kinds)
        self._masks: OrderedDict[str, str] = OrderedDict()
        self._values: dict[str, str] = {}
        self._numbers: Counter[str] = Counter()
        self._lock = Lock()  # a text is masked before truncation on the thread of its tool
        self.evicted = 0

    def fork(self) -> Masks:
        """Return an empty set of masks for the same types."""
        return Masks(self._kinds)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the types only: another process has masks of its own."""
        return Masks, (self._kinds,)

    def mask(self, text: str) -> str:
        """Replace everything private by masks."""
        pieces, position = [], 0
        for start, end, name in self._merged_matches(text):
            pieces += [text[position:start], self._mask_of(text[start:end], name)]
            position = end
        return "".join([*pieces, text[position:]]) if pieces else text

    def erase(self, text: str) -> str:
        """Replace everything private by `[type]`, irreversibly."""
        pieces, position = [], 0
        for start, end, name in self._merged_matches(text):
            pieces += [text[position:start], f"[{name.lower()}]"]
            position = end
        return "".join([*pieces, text[position:]]) if pieces else text

    def restore(self, text: str, write: Callable[[str], str] = str) -> str:
        """Restore the values, each formatted by `write`; an unknown mask is unchanged."""
        if "__MASK_" not in text:
            return text
        return MASK.sub(lambda found: write(self._values[found[0]]) if found[0] in self._values else found[0], text)

    def mask_all(self, value: Any, *, numbers: bool = False) -> Any:
        """Mask every string in JSON data, keys too, and, with `numbers`, numbers that match a pattern."""
        number = self._mask_number if numbers else None
        return map_text(value, self.mask, keys=lambda key: self.mask(str(key)), number=number)

    def _mask_number(self, value: float) -> float | str:
        masked = self.mask(str(value))
        return value if masked == str(value) else masked

    def _merged_matches(self, text: str) -> list[tuple[int, int, str]]:
        """Return the spans to mask, in order, with overlapping ones merged."""
        matches = sorted((start, -end, name) for start, end, name in self._matches(text, MAX_DEPTH))
        merged: list[tuple[int, int, str]] = []
        for start, minus_end, name in matches:
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], -minus_end), merged[-1][2])
            else:
                merged.append((start, -minus_end, name))
        return merged

    def _matches(self, text: str, depth: int) -> Iterator[tuple[int, int, str]]:
        spelling = normalize(text)
        for begin, stop in self._between_masks(spelling.text):
            yield from self._matches_of(spelling, begin, stop)
        for begin, stop in self._between_masks(text):
            for at, reading in markup_readings(text[begin:stop]):
                for start, end, name in self._matches_of(reading, 0, len(reading.text)):
                    yield begin + at + start, begin + at + end, name
        for begin, stop in self._between_masks(text) if depth else ():
            for start, end, decoded in encoded_texts(text, begin, stop):
                if match := next(self._matches(decoded, depth - 1), None):
                    yield start, end, match[2]

    def _matches_of(self, reading: NormalizedText, begin: int, stop: int) -> Iterator[tuple[int, int, str]]:
        """Yield the matches between two positions of a reading, with their positions in the text that is read."""
        for kind in self._kinds:
            for start, end in kind.spans(reading.text, begin, stop):
                yield *reading.span(start, end), kind.name

    def _between_masks(self, text: str) -> Iterator[tuple[int, int]]:
        position = 0
        for match in MASK.finditer(text) if "__MASK_" in text else ():
            if match[0] in self._values:
                yield position, match.start()
                position = match.end()
        yield position, len(text)

    def _mask_of(self, value: str, name: str) -> str:
        with self._lock:
            return self._get_or_create(value, name)

    def _get_or_create(self, value: str, name: str) -> str:
        if value not in self._masks:
            self._numbers[name] += 1
            self._masks[value] = f"__MASK_{name}_{self._numbers[name]}__"
            self._values[self._masks[value]] = value
            if len(self._masks) > self.max_masks:
                _, oldest = self._masks.popitem(last=False)
                del self._values[oldest]
                self.evicted += 1
        self._masks.move_to_end(value)
        return self._masks[value]


def mask_part(part: Part, masks: Masks) -> Part:
    """Mask all text in a part, attached texts too; images, sounds and binary files are unchanged."""
    match part:
        case Text() | Thinking() | Refusal():
            return replace(part, text=masks.mask(part.text))
        case ToolCall():
            return replace(part, arguments=_mask_arguments(part.arguments, masks))
        case ToolResult():
            return replace(
                part, text=masks.mask(part.text), media=tuple(_mask_media(media, masks) for media in part.media)
            )
        case Media():
            return _mask_media(part, masks)
        case ProviderCall():
            links = tuple(_mask_link(link, masks) for link in part.links)
            return replace(part, text=masks.mask(part.text), output=masks.mask(part.output), links=links)
        case Citation():
            return replace(part, link=_mask_link(part.link, masks), text=masks.mask(part.text))


def _mask_link(link: Link, masks: Masks) -> Link:
    return Link(masks.mask(link.url), masks.mask(link.title))


def _mask_media(media: Media, masks: Masks) -> Media:
    data = media.data and map_media_text(media.data, media.mime, masks.mask)
    return replace(media, data=data, url=media.url and masks.mask(media.url), name=masks.mask(media.name))


def _mask_arguments(arguments: str, masks: Masks) -> str:
    """Mask the decoded values of the JSON, not its escaped text."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return masks.mask(arguments)
    masked = masks.mask_all(value, numbers=True)
    return arguments if masked == value else json.dumps(masked, ensure_ascii=False)

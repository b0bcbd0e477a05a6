"""A text file a topic, `snapshots/<topic>.txt`: what was done, and below it what a person or a model reads then."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from syrupy.extensions.amber import AmberSnapshotExtension
from syrupy.extensions.amber.serializer import AmberDataSerializer
from syrupy.location import PyTestLocation
from syrupy.types import SnapshotIndex

CHANGING = (
    (r"\x1b\[[0-9;]*m", ""),
    (r"/tmp/pytest-of-[^/\s]+/pytest-\d+/(?:popen-gw\d+/)?[^/\s'\"`]+", "TMP"),
    (r"\b(chat|turn|approval|call|map)_[0-9a-f]{8,32}\b", r"\1_ID"),
    (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?( ?UTC|Z|[+-]\d\d:?\d\d)?", "DATE"),
    (r"\b((?:127\.0\.0\.1|localhost|[\w.-]+\.(?:test|example)):)\d{4,5}\b", r"\1PORT"),
    (r"\bpage-[0-9a-f]{12}\b", "page-ID"),
    (r"(\.py, line )\d+", r"\1N"),
    (r"(?<![\d,])\d{2,3} bytes(?=; values| of \d)", "N bytes"),
    (r"\d{4}-\d\d-\d\d", "DATE"),
    (r"\b\d+(\.\d+)? (ms|s)\b(?= ago|,|;| ·| \(| after|$)", "TIME"),
    (r" \(\+ \d+(\.\d+)? (ms|s) waiting for you\)", ""),
    (r"\b\d\d,\d{3}\b(?= bytes|\.| of)", "N"),
    (r"\b\d,\d{3}(?= bytes of it are free)", "N"),
)
"""What is different each time, and what stands in its place."""


def normalize(text: str) -> str:
    """Replace ids, times, ports and temporary folders, and blanks at the ends of lines."""
    for pattern, name in CHANGING:
        text = re.sub(pattern, name, text, flags=re.MULTILINE)
    text = re.sub(r"\(choose from [^)]*\)", lambda choices: choices[0].replace("'", ""), text)  # without, from 3.12 on
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


class PlainText(AmberDataSerializer):
    """A test's texts, each under what was done, without quotes or types."""

    VERSION = "1"

    @classmethod
    def serialize(cls, data: dict[str, str], **_: Any) -> str:
        """Return the texts in the order in which they were made."""
        return "\n".join(f"> {title}\n{normalize(text)}" for title, text in data.items())


class TopicFile(AmberSnapshotExtension):
    """One file for the tests of one file, named like it."""

    snapshot_dirname = "snapshots"
    file_extension = "txt"
    serializer_class = PlainText

    @classmethod
    def get_file_basename(cls, *, test_location: PyTestLocation, index: SnapshotIndex) -> str:
        """Return the topic, without `test_` and `_words`."""
        return super().get_file_basename(test_location=test_location, index=index).removeprefix("test_")

    @classmethod
    def matches_test_location(cls, *, test_location: PyTestLocation, snapshot_location: str) -> bool:
        """Return whether the file is that of the topic of this test."""
        return Path(snapshot_location).stem == test_location.basename.removeprefix("test_")

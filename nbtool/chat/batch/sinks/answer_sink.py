"""Where the answers of a streamed map go: an SQLite file that is continued, a Parquet or Arrow file, or a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from nbtool.annotation_kinds import is_async
from nbtool.argument_check import describe_value
from nbtool.chat.batch.prompts import PromptItem
from nbtool.chat.batch.sinks.columnar_export import FORMATS, check_writer, export_answers
from nbtool.chat.batch.sinks.file_lock import check_place
from nbtool.chat.batch.sinks.sqlite_sink import SqliteSink
from nbtool.chat.batch.write_failure import explained_failure
from nbtool.errors import BadUsage

if TYPE_CHECKING:
    import os

    from nbtool.chat.batch.answers import Answer

OTHER_FORMATS = frozenset({".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".txt", ".xlsx"})
"""File name extensions of formats that no sink writes."""


@runtime_checkable
class AnswerSink(Protocol):
    """Receives the answers of a streamed map, in any order; an object with these methods can be one of yours."""

    def open(self, inputs: str) -> None:
        """Prepare for answers; `inputs` identifies the model, the tools and the other settings of the map.

        Raises:
            nbtool.errors.BadUsage: it has answers of a map with other inputs.
        """

    def unanswered(self, items: Sequence[PromptItem]) -> Sequence[PromptItem]:
        """Return the prompts that have no answer yet, failed ones included.

        Raises:
            nbtool.errors.BadUsage: a row has the answer to another prompt.
        """

    def write(self, answers: Sequence[Answer]) -> None:
        """Store answers; when this returns, they survive the end of the process."""

    def close(self) -> None:
        """Release the file."""


class FunctionSink:
    """Passes answers to a function, a list at a time; those that the journal has from earlier maps too."""

    def __init__(self, function: Callable[[Sequence[Answer]], object]) -> None:
        self._function = function

    def open(self, inputs: str) -> None:
        """Do nothing: a function has no former answers."""

    def unanswered(self, items: Sequence[PromptItem]) -> Sequence[PromptItem]:
        """Return all prompts."""
        return items

    def write(self, answers: Sequence[Answer]) -> None:
        """Call the function; what it raises ends the map."""
        self._function(answers)

    def close(self) -> None:
        """Do nothing."""


class ColumnarSink(SqliteSink):
    """Stores answers as `SqliteSink` does, in a file beside, and writes a Parquet or Arrow file when the map ends.

    Such a file cannot be read before its end is written, so that it cannot be continued after a process was killed;
    `answers.parquet.sqlite` can, and is what a map with the same file continues. The other is replaced whole.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = Path(path).expanduser()
        super().__init__(f"{self._file}.sqlite")
        self._is_open = False

    def open(self, inputs: str) -> None:
        """Open or create the file beside.

        Raises:
            nbtool.errors.BadUsage: pyarrow is missing, there is such a file that no map is known to have written, or
                as `SqliteSink.open`.
        """
        check_writer(self._file)
        check_place(self._file)
        if self._file.exists() and not self.path.exists():
            raise BadUsage(
                f"{self._file.name} is there without {self.path.name}, from which a map that wrote it continues.",
                fix="Choose another file, or delete this one if it is not needed.",
            )
        super().open(inputs)
        self._is_open = True

    def close(self) -> None:
        """Write the file, also of a map that ended early; idempotent.

        Raises:
            nbtool.errors.AnswersNotWritten: the disk is full, or broken; the answers are in the file beside.
        """
        is_open, self._is_open = self._is_open, False
        try:
            if is_open:
                goes_on = f"The answers are in {self.path.name}; map again to write the file"
                with explained_failure(self._file.name, goes_on):
                    export_answers(self.rows(), self._file)
        finally:
            super().close()


def as_sink(sink: object) -> AnswerSink:
    """Return a sink: itself, a file for a path, or a function that receives lists of answers.

    Raises:
        BadUsage: it is something else.
    """
    if isinstance(sink, str | Path):
        if (suffix := Path(sink).suffix.lower()) in OTHER_FORMATS:
            raise BadUsage(f"A map does not write {suffix} files.", fix="Use `.sqlite`, `.parquet` or `.arrow`.")
        return ColumnarSink(sink) if suffix in FORMATS else SqliteSink(sink)
    if isinstance(sink, AnswerSink) and not isinstance(sink, type):
        return sink
    if callable(sink) and not isinstance(sink, type) and not is_async(sink):
        return FunctionSink(sink)
    shown = describe_value(sink)
    raise BadUsage(
        f"{shown[:1].upper()}{shown[1:]} cannot receive answers.",
        fix="Pass the path of an SQLite, .parquet or .arrow file, or a sync function.",
    )

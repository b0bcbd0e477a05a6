"""The traceback of a failed tool for the person: only frames of the user's own code, without folders."""

from __future__ import annotations

import linecache
import os
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType

from nbtool.text import count_of, shorten

MAX_FRAMES = 30
"""Maximum number of frames shown per exception: the first and the last ones."""

MAX_CAUSES = 3
"""Maximum number of causes of the tool's exception."""

MAX_SOURCE = 200
"""Maximum number of characters of a source line."""

_LIBRARIES = (sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
FOREIGN = tuple(f"{Path(folder).resolve()}{os.sep}" for folder in (*_LIBRARIES, str(Path(__file__).parents[2])))
"""Folders whose code is not the user's own."""

FileName = Callable[[str], str]
_names: list[FileName] = []


def name_files_by(name: FileName) -> None:
    """Set a function that returns the display name of a frame's file, such as a notebook cell; empty if unknown."""
    _names[:] = [name]


def own_traceback(error: BaseException, text: str) -> str:
    """Return where the user's own code raised an error, and its causes; empty if none of that code ran.

    The last line is `text`, the error as the model receives it. The messages of the causes are omitted: nobody has
    approved them.
    """
    chain: list[BaseException] = []
    last: BaseException | None = error
    while last is not None and len(chain) <= MAX_CAUSES and last not in chain:
        chain.append(last)
        last = last.__cause__ or (None if last.__suppress_context__ else last.__context__)
    last_lines = [text, *(type(link).__name__ for link in chain[1:])]
    links = reversed(list(zip(chain, last_lines, strict=True)))
    parts = [part for link, last_line in links if (part := "\n".join(_lines(link, last_line)))]
    return "\n\nwhich led to\n\n".join(parts)


def last_own_line(error: BaseException) -> str:
    """Return the file or cell and the line of the user's own code that last ran before an error; empty if none did."""
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__) if _is_own(frame.f_code)]
    return f"{_file_name(frames[-1][0].co_filename)}, line {frames[-1][1]}" if frames else ""


def _lines(error: BaseException, last_line: str) -> Iterator[str]:
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    own_frames = [(code, line) for code, line in frames if _is_own(code)]
    if not own_frames:
        return
    yield "Traceback (most recent call last):"
    left_out = len(own_frames) - MAX_FRAMES
    for index, (code, line) in enumerate(own_frames):
        if left_out > 0 and MAX_FRAMES // 2 <= index < MAX_FRAMES // 2 + left_out:
            if index == MAX_FRAMES // 2:
                yield f"  … {count_of(left_out, 'more frame')}"
            continue
        yield f"  {_file_name(code.co_filename)}, line {line}, in {code.co_name}"
        source = linecache.getline(code.co_filename, line).strip()
        if source:
            yield f"    {shorten(source, MAX_SOURCE)}"
    if frames[-1][0] is not own_frames[-1][0]:
        yield "  … in a library"
    yield last_line


def _is_own(code: CodeType) -> bool:
    name = code.co_filename
    return not name.startswith("<frozen") and not str(Path(name).absolute()).startswith(FOREIGN)


def _file_name(path: str) -> str:
    """Return a file's name without its folder."""
    for name in _names:
        try:
            if cell_name := name(path):
                return cell_name
        except Exception:  # noqa: BLE001 - a failing name function must not hide the error
            continue
    return Path(path).name

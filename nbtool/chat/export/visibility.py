"""The part of a turn that is exported: what was sent to the model, without what a user or plugin withheld.

From its texts it is removed where files are on this machine: the home folder, and the folders of a traceback.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache

from nbtool.chat.conversation import restore
from nbtool.chat.journal import redactor_for, with_secrets_hidden
from nbtool.chat.turn import Turn
from nbtool.event_filter import filter_events
from nbtool.events import Event, Notice

_FRAME = re.compile(
    r"""(?m)^([ \t]*File ["']?)((?:~|[A-Za-z]:)?[/\\](?:[^"'<>|:\n/\\]+[/\\])*)"""
    r"""(?=[^"'<>|:\n/\\]+["']?(?:, line |:)\d)"""
)
"""A line of a traceback, as Python or IPython writes it: what precedes the folders of its file, and those."""


def without_local_paths(text: str) -> str:
    """Return a text with `~` in place of the home folder, and with the names only of the files of a traceback."""
    home = os.path.expanduser("~").rstrip("/\\")  # noqa: PTH111 - it never raises
    shortened = _home_pattern(home).sub("~", text) if len(home) > 1 else text
    return _FRAME.sub(r"\1", shortened) if "File " in shortened else shortened


@lru_cache(maxsize=4)
def _home_pattern(home: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w/\\.-]){re.escape(home)}(?![\w-])")


def shareable_turn(turn: Turn, plugins: Sequence[object] = ()) -> Turn:
    """Return a turn for a document to be read: without withheld and private content, and without paths of this machine.

    It has the images and tables that a person was shown.
    """
    return restore.restore_turn(shareable_events(turn, plugins, with_views=True))


def shareable_events(turn: Turn, plugins: Sequence[object] = (), *, with_views: bool = False) -> list[Event]:
    """Return a turn's events without withheld content, and with private values redacted as in the journal.

    The content of result approvals is removed, and the output of calls whose result was withheld or edited; so are
    reasons that only the person read, data that only the model's provider can read, and known secrets. Images and
    tables of results that a person was shown are in the events only `with_views`, and never those of a result that
    needed an approval: of it only what was sent to the model is there.
    """
    log = [event for event in turn.log if not _says_imported(event)]
    hide = with_secrets_hidden(redactor_for(plugins, turn.turn_id))
    if with_views:
        private = hide or str
        return filter_events(log, "document", lambda text: without_local_paths(private(text)))
    return filter_events(log, "export", hide)


def is_imported(turn: Turn) -> bool:
    """Whether a turn came from a file."""
    return any(map(_says_imported, turn.log))


def imported_notice() -> Notice:
    """Return the first notice of a turn that was read from a file."""
    return Notice("This turn was imported from a file: nobody here saw it happen.", "warning", "imported")


def _says_imported(event: Event) -> bool:
    return isinstance(event, Notice) and event.topic == "imported"

"""Recordings: `record`, `replay`."""

from __future__ import annotations

from nbtool.chat.recording.file import Recording
from nbtool.chat.recording.recorder import ReplayMode
from nbtool.errors import BadRecording, BadUsage
from nbtool.magics.command_context import Command, Here


def record(here: Here, words: list[str]) -> str:
    """Reuse the turns recorded in a file where nothing that matters changed, and add new ones: `record FILE`, `off`.

    It holds for every conversation of this kernel. Without a file, it says what holds.
    """
    return _use(here, words, "record", writes=True)


def replay(here: Here, words: list[str]) -> str:
    """Reuse the turns recorded in a file, and never write it: `replay FILE`, `off`."""
    return _use(here, words, "replay", writes=False)


def told(here: Here) -> str:
    """Say which recording is used, and how."""
    said: ReplayMode | None = here.kernel.settings.replay  # type: ignore[assignment]  # the trait takes these words alone
    chosen = here.chat.recordings.setting(said)
    file = here.kernel.recording
    if file is None:
        return f"No recording is set; replay is {chosen.value} ({chosen.source})."
    try:
        count = len(file.turns())
    except BadRecording as error:
        return str(error)
    turns = f"{count} turn{'' if count == 1 else 's'}"
    if not file.writes and not file.path.exists():
        turns = "the file is gone"
    adds = "new ones are added" if file.writes else "nothing is added"
    return f"{file.path.name}: {turns}, {adds}; replay is {chosen.value} ({chosen.source})."


COMMANDS: dict[str, Command] = {"record": record, "replay": replay}


def _use(here: Here, words: list[str], name: str, *, writes: bool) -> str:
    match words:
        case []:
            return told(here)
        case ["off"]:
            here.kernel.recording = None
        case [path]:
            file = Recording(path, writes=writes)
            if not writes and not file.path.exists():
                raise BadUsage(f"{path} does not exist.", fix=f"Check the path; `%chat record {path}` begins it.")
            file.turns()  # raises for what is no recording, before anything is changed
            here.kernel.recording = file
        case _:
            raise BadUsage(f"%chat {name} takes one file.", fix="Put quotes around a name with spaces.")
    for chat in here.kernel.chats.values():
        chat.recordings.file = here.kernel.recording
    return told(here)

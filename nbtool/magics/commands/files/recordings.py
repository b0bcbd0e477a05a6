"""Recordings: `record`."""

from __future__ import annotations

from nbtool.chat.recording.environment import FILE
from nbtool.chat.recording.file import Recording
from nbtool.chat.recording.recorder import ReplayMode
from nbtool.errors import BadRecording, BadUsage
from nbtool.magics.commands.context import CommandContext
from nbtool.text import count_of

ONLY = "--only"
"""Replays a file without adding to it."""


def record(context: CommandContext, args: list[str]) -> str:
    """Replay turns from a file, and add new ones: `record FILE`.

    Turns are replayed where nothing relevant changed; `record off` ends it. With `--only` none is added.

    Applies to the `%%chat` cells of this kernel, not to a `Chat` of Python. Without a file, show the current recording.
    """
    words = [arg for arg in args if arg != ONLY]
    if ONLY in args and words in ([], ["off"]):
        raise BadUsage(f"{ONLY} needs a file to replay.", fix=f"`%chat record FILE {ONLY}`")
    return _use(context, words, "record", writes=ONLY not in args)


def describe_recording(context: CommandContext) -> str:
    """Describe the current recording and the replay mode."""
    mode: ReplayMode | None = context.kernel.settings.replay  # type: ignore[assignment]  # the trait accepts only these values
    chosen = context.chat.recorder.mode_for(mode)
    file = context.chat.recorder.file
    if file is None:
        return f"No recording is active; replay is {chosen.value} ({chosen.source})."
    try:
        count = len(file.turns())
    except BadRecording as error:
        return str(error)
    turns = count_of(count, "turn")
    if not file.writes and not file.path.exists():
        turns = "the file is missing"
    adds = "new turns are added" if file.writes else "nothing is added"
    named = f" ({FILE})" if context.chat.recorder.is_from_environment else ""
    return f"{file.path.name}{named}: {turns}, {adds}; replay is {chosen.value} ({chosen.source})."


def _use(context: CommandContext, args: list[str], name: str, *, writes: bool) -> str:
    match args:
        case []:
            return describe_recording(context)
        case ["off"]:
            context.kernel.recording = None
        case [path]:
            file = Recording(path, writes=writes)
            if not writes and not file.path.exists():
                raise BadUsage(f"{path} does not exist.", fix=f"Check the path; `%chat record {path}` creates it.")
            file.turns()  # raises if the file is not a recording, before any change
            context.kernel.recording = file
        case _:
            raise BadUsage(f"%chat {name} takes one file.", fix="Put quotes around a name with spaces.")
    for chat in context.kernel.chats.values():
        chat.recorder.file = context.kernel.recording
    return describe_recording(context)

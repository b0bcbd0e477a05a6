"""The recording of a chat: whether a turn is told again from it, or added to it, and why not."""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from pydantic import SecretStr

from nbtool.chat import restore
from nbtool.chat.model import Model
from nbtool.chat.recording.cache_key import (
    ANY,
    REFERENCE,
    Key,
    Scene,
    changed_by,
    history_word,
    key_of,
    mentioned,
    reads_of,
    result_parts,
    why_unknown,
    word,
)
from nbtool.chat.recording.file import KeptCall, RecordedTurn, Recording
from nbtool.chat.recording.key_part import Part, labelled
from nbtool.chat.recording.redaction import Veil
from nbtool.chat.recording.replay import Replay
from nbtool.chat.recording.serialize import events_of, take
from nbtool.chat.turn import Turn
from nbtool.errors import BadRecording, BadUsage, NbtoolError, NotRecorded
from nbtool.events import Delta, Emit, Event, MessageAppended, Notice, TurnStarted
from nbtool.messages import Media, Message
from nbtool.settings import Setting, env, resolve_setting
from nbtool.tools.calls.run import ToolRuntime
from nbtool.wire.base import Endpoint, Prompt

ReplayMode = Literal["auto", "only", "off"]
"""Whether recorded turns are told again: where nothing changed; always, or the turn fails; never."""

NOWHERE = "There is no recording to replay from."
NAME_A_FILE = "Name one with `%chat replay FILE`, or ask the model with `--replay off`."
MADE_UP = "A turn that goes on from the middle of another is not recorded."
RECORD = "Record it anew: `%chat record FILE`, then `--replay auto`."


@dataclass(slots=True)
class Unasked:
    """Stands where the model would be when only recordings may answer: nothing can leave through it."""

    model: str
    why: str = NOWHERE
    fix: str = NAME_A_FILE
    host: str = ""
    dialect: str = "recording"

    def refuse(self, why: str) -> None:
        """Say why no recording answers."""
        if why:
            self.why, self.fix = why, RECORD

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta, None]:  # noqa: ARG002 - the shape of an endpoint
        """Ask nobody.

        Raises:
            NotRecorded: always.
        """
        raise NotRecorded(self.why, fix=self.fix)
        yield  # type: ignore[unreachable]  # what makes this a generator


class Recordings:
    """What a chat has recorded, and how it is used.

    `mode` is what the chat says of replaying, None where it says nothing: then `NBTOOL_REPLAY` does, and without it a
    recording that is set is used. `makers` are the turns, by the words of their keys, that made the results of these
    names; `state` is what tools change when they run, so that it does not count as what they read.
    """

    def __init__(self) -> None:
        self.file: Recording | None = None
        self.mode: ReplayMode | None = None
        self.makers: dict[str, str] = {}
        self.state: set[Part] = set()

    def use(self, path: str | os.PathLike[str] | None, *, writes: bool) -> None:
        """Replay from this file, and add to it where it `writes`; None: from none.

        Raises:
            BadRecording: the file is there and is no recording.
        """
        file = None if path is None else Recording(path, writes=writes)
        if file:
            file.turns()
        self.file = file

    def setting(self, said: ReplayMode | None = None) -> Setting[ReplayMode]:
        """Give the mode of a turn and who chose it.

        Raises:
            BadUsage: it is none of the three.
        """
        default: ReplayMode = "auto" if self.file else "off"
        chosen = resolve_setting(
            [("as you said", said), ("this chat", self.mode), ("NBTOOL_REPLAY", env("NBTOOL_REPLAY"))],
            default,
        )
        if chosen.value not in get_args(ReplayMode):
            raise BadUsage(f"Replay is auto, only or off, not {chosen.value!r} ({chosen.source}).")
        return Setting(chosen.value, chosen.source)  # type: ignore[arg-type]  # one of the three, as was just seen

    def model_name(self, model: Model, said: ReplayMode | None) -> str:
        """Give the name of the model that is asked; where only recordings may answer, none is looked for."""
        is_found = model.model_id is None and not _is_own(model)
        return ANY if is_found and self.setting(said).value == "only" else model.name

    def endpoint(self, model: Model, said: ReplayMode | None, can_retry: Callable[[], bool] | None = None) -> Endpoint:
        """Give what answers: the model, or, where only recordings may answer, nobody.

        Raises:
            nbtool.errors.ModelError: there is no such model, or no key for it.
        """
        if self.setting(said).value == "only":
            return Unasked(self.model_name(model, said))
        return model.endpoint(can_retry)

    def begin(self, scene: Scene, said: ReplayMode | None, endpoint: Endpoint) -> Take:
        """Begin with a turn: nothing is looked at yet."""
        return Take(self, self.setting(said).value, scene, endpoint)


@dataclass(slots=True)
class Take:
    """One turn's way through the recordings: look at its objects, look for it, tell it again or keep it."""

    recordings: Recordings
    mode: ReplayMode
    scene: Scene
    endpoint: Endpoint
    found: RecordedTurn | None = None
    why: str = ""
    _key: Key | None = None
    _veil: Veil = field(default_factory=Veil)
    _events: Sequence[Event] = ()
    _calls: Mapping[str, KeptCall] = field(default_factory=dict)

    @property
    def date(self) -> str:
        """When the turn that is told again was recorded; empty where none is."""
        return self.found.recorded if self.found else ""

    async def look_at_objects(self) -> None:
        """Fingerprint what the turn is made of; before the turn has its place, since it may take a while."""
        if self.recordings.file and (self.mode != "off" or self.recordings.file.writes):
            try:
                self._key = await asyncio.to_thread(key_of, self.scene)
            except Exception as error:  # noqa: BLE001 - what cannot be looked at is asked anew; it never stops a turn
                self.why = f"What this turn is made of cannot be compared ({type(error).__name__})."

    async def look_up(
        self, turn: Turn, history: Sequence[Message], *, version: int = 1, is_made_up: bool = False
    ) -> None:
        """Look for the turn in the recording, now that it has its place.

        `version` counts reruns, which are asked anew unless only recordings may answer. A turn that is `made_up` of
        another one's rounds is neither recorded nor replayed.
        """
        if is_made_up:
            self._key, self.why = None, MADE_UP
        if self._key and self.recordings.file:
            key = self._key = self._completed(self._key, history, version)
            if self.mode == "only" or (self.mode == "auto" and version == 1):
                await asyncio.to_thread(self._search, self.recordings.file, key)
        if self.found:
            turn.model = self.found.model
        elif isinstance(self.endpoint, Unasked):
            self.endpoint.refuse(self.why)

    def _completed(self, key: Key, history: Sequence[Message], version: int) -> Key:
        self._veil = Veil(self.scene.plugins, [self.scene.model.api_key, *_keys_of(self.endpoint)])
        self._veil.meet(history)
        told = {Part("history"): history_word(history, self._veil.hide)}
        self._veil.meet([self.scene.prompt])
        return replace(key, parts={**key.parts, **told, **({Part("version"): str(version)} if version > 1 else {})})

    def _search(self, file: Recording, key: Key) -> None:
        """Find the turn, or say why there is none."""
        if key.unknown:
            self.why = f"This turn is not replayed and not recorded: {why_unknown(key.unknown)}."
            return
        try:
            nearest = min(self._said_before(file, key), key=lambda found: len(found[0]), default=None)
            if nearest is None:
                is_there = file.writes or file.path.exists()
                why = f"This prompt is not in {file.path.name}." if is_there else f"There is no file {file.path}."
                self.why = why if self.mode == "only" else ""
            elif nearest[0]:
                self.why = f"Not the turn of {nearest[1].recorded}: {'; '.join(nearest[0])}."
            else:
                self._accept(nearest[1])
        except BadRecording as error:
            self.why = str(error)

    def _said_before(self, file: Recording, key: Key) -> Iterator[tuple[list[str], RecordedTurn]]:
        """Give the recorded turns with this prompt, each with what is different now."""
        any_model = self.mode == "only" and key.parts[Part("model")] == ANY
        for turn in file.turns():
            if turn.key.get(Part("prompt")) == key.parts[Part("prompt")]:
                yield key.changes(turn.key, self.scene.variables, any_model=any_model), turn

    def _accept(self, turn: RecordedTurn) -> None:
        self._events, self._calls = events_of(turn, self._veil)
        restore.turn([TurnStarted("", "", self.scene.prompt, 0.0), *self._events])  # what cannot be told is not begun
        if taken := self._taken_names(turn):
            self.why = f"The turn of {turn.recorded} kept a result as `{taken[0]}`, which is another one here."
        else:
            self.found = turn

    def _taken_names(self, turn: RecordedTurn) -> list[str]:
        """Give the names of its results under which this kernel has something else."""
        maker = word(labelled(turn.key))
        others = {entry.name for entry in self.scene.variables.list_entries() if entry.kind != "rule"}
        return [
            name for name in names_kept(self._events) if name in others and self.recordings.makers.get(name) != maker
        ]

    async def tell(self, turn: Turn, started: TurnStarted, context: Sequence[Message], bench: ToolRuntime) -> None:
        """Tell the turn that was found."""
        replay = Replay(turn, self.date, self._events, self._calls, context, bench, bench.emit)
        await replay.run(started)
        if self.found:
            self._claim(self.found.key, names_kept(self._events))

    async def say_why(self, emit: Emit) -> None:
        """Say why a turn is asked anew, or will not be kept."""
        if self.mode == "auto" and self.why and self._key:
            await emit(Notice(self.why))
        elif self._key and self._key.unknown and self.recordings.file and self.recordings.file.writes:
            await emit(Notice(f"This turn is not recorded: {why_unknown(self._key.unknown)}."))

    async def keep(self, turn: Turn) -> None:
        """Add a finished turn to the recording; what cannot be kept is said in one line."""
        file, key = self.recordings.file, self._key
        if file is None or not file.writes or key is None or key.unknown or self.found or turn.status != "completed":
            return
        try:
            await asyncio.to_thread(self._keep, turn, file, key)
        except NbtoolError as error:
            warnings.warn(f"Not recorded: {error}", stacklevel=2)
        except Exception as error:  # noqa: BLE001 - the turn has ended well, and a recording must not change that
            warnings.warn(f"Not recorded: {type(error).__name__}: {error}", stacklevel=2)

    def _keep(self, turn: Turn, file: Recording, key: Key) -> None:
        variables, own = self.scene.variables, set(names_kept(turn.log))
        used = {name for call in turn.calls for name in REFERENCE.findall(call.edited or call.arguments)}
        if bad := {Part("object", name): key.maybe[name] for name in used if name in key.maybe}:
            raise BadRecording(f"{why_unknown(bad)}.")
        results = {entry.name for entry in variables.list_entries() if entry.kind == "result"}
        earlier = ((used | mentioned(turn.prompt)) & results) - own
        more, bad = result_parts(sorted(earlier), variables)
        if bad:
            raise BadRecording(f"{why_unknown(bad)}.")
        self.recordings.state |= changed_by(key.parts, reads_of(self.scene.tools))
        parts = {part: held for part, held in key.parts.items() if part not in self.recordings.state} | more
        file.add(take(turn, parts, variables, self._veil))
        self._claim(parts, own)

    def _claim(self, key: Mapping[Part, str], names: Sequence[str] | set[str]) -> None:
        self.recordings.makers |= dict.fromkeys(names, word(labelled(key)))


def _is_own(model: Model) -> bool:
    return model.wire is not None and not isinstance(model.wire, str)


def _keys_of(endpoint: object) -> list[SecretStr | None]:
    """Give the key that an endpoint signs with, so that it is found wherever it might stand."""
    return [getattr(one, "key", None) for one in (endpoint, getattr(endpoint, "native", None))]


def names_kept(log: Sequence[Event]) -> list[str]:
    """Give the variables in which a turn kept results and media."""
    names = [event.reference for event in log if event.kind == "call_finished" and event.reference]
    for event in log:
        if isinstance(event, MessageAppended) and event.message.role == "assistant":
            names += [part.name for part in event.message.parts if isinstance(part, Media) and part.name]
    return names

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
    ANY_MODEL,
    REFERENCE,
    CacheKey,
    TurnInputs,
    changed_reads,
    explain_uncomparable,
    global_reads,
    hash_json,
    history_digest,
    make_key,
    mentioned_variables,
    result_digests,
)
from nbtool.chat.recording.file import RecordedCall, RecordedTurn, Recording
from nbtool.chat.recording.key_part import Part, labelled
from nbtool.chat.recording.redaction import Redactor
from nbtool.chat.recording.replay import Replay
from nbtool.chat.recording.serialize import deserialize_events, serialize_turn
from nbtool.chat.turn import Turn
from nbtool.errors import BadRecording, BadUsage, NbtoolError, NotRecorded
from nbtool.events import Delta, Emit, Event, MessageAppended, Notice, TurnStarted
from nbtool.messages import Media, Message
from nbtool.settings import Setting, env, resolve_setting
from nbtool.tools.calls.run import ToolRuntime
from nbtool.wire.base import Endpoint, Prompt

ReplayMode = Literal["auto", "only", "off"]
"""Whether recorded turns are told again: where nothing changed; always, or the turn fails; never."""

NO_RECORDING = "There is no recording to replay from."
NAME_A_FILE = "Name one with `%chat replay FILE`, or ask the model with `--replay off`."
NOT_RECORDABLE = "A turn that goes on from the middle of another is not recorded."
RECORD_HINT = "Record it anew: `%chat record FILE`, then `--replay auto`."


@dataclass(slots=True)
class ReplayOnlyEndpoint:
    """Stands where the model would be when only recordings may answer: nothing can leave through it."""

    model: str
    reason: str = NO_RECORDING
    fix: str = NAME_A_FILE
    host: str = ""
    dialect: str = "recording"

    def set_reason(self, reason: str) -> None:
        """Say why no recording answers."""
        if reason:
            self.reason, self.fix = reason, RECORD_HINT

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta, None]:  # noqa: ARG002 - the shape of an endpoint
        """Ask nobody.

        Raises:
            NotRecorded: always.
        """
        raise NotRecorded(self.reason, fix=self.fix)
        yield  # type: ignore[unreachable]  # what makes this a generator


class Recorder:
    """What a chat has recorded, and how it is used.

    `mode` is what the chat says of replaying, None where it says nothing: then `NBTOOL_REPLAY` does, and without it a
    recording that is set is used. `makers` are the turns, by the words of their keys, that made the results of these
    names; `state` is what tools change when they run, so that it does not count as what they read.
    """

    def __init__(self) -> None:
        self.file: Recording | None = None
        self.mode: ReplayMode | None = None
        self.producers: dict[str, str] = {}
        self.mutable_state: set[Part] = set()

    def open(self, path: str | os.PathLike[str] | None, *, writes: bool) -> None:
        """Replay from this file, and add to it where it `writes`; None: from none.

        Raises:
            BadRecording: the file is there and is no recording.
        """
        file = None if path is None else Recording(path, writes=writes)
        if file:
            file.turns()
        self.file = file

    def mode_for(self, mode: ReplayMode | None = None) -> Setting[ReplayMode]:
        """Give the mode of a turn and who chose it.

        Raises:
            BadUsage: it is none of the three.
        """
        default: ReplayMode = "auto" if self.file else "off"
        chosen = resolve_setting(
            [("set by you", mode), ("this chat", self.mode), ("NBTOOL_REPLAY", env("NBTOOL_REPLAY"))],
            default,
        )
        if chosen.value not in get_args(ReplayMode):
            raise BadUsage(f"Replay is auto, only or off, not {chosen.value!r} ({chosen.source}).")
        return Setting(chosen.value, chosen.source)  # type: ignore[arg-type]  # one of the three, as was just seen

    def model_name(self, model: Model, mode: ReplayMode | None) -> str:
        """Give the name of the model that is asked; where only recordings may answer, none is looked for."""
        is_found = model.model_id is None and not _is_own(model)
        return ANY_MODEL if is_found and self.mode_for(mode).value == "only" else model.name

    def endpoint(self, model: Model, mode: ReplayMode | None, can_retry: Callable[[], bool] | None = None) -> Endpoint:
        """Give what answers: the model, or, where only recordings may answer, nobody.

        Raises:
            nbtool.errors.ModelError: there is no such model, or no key for it.
        """
        if self.mode_for(mode).value == "only":
            return ReplayOnlyEndpoint(self.model_name(model, mode))
        return model.endpoint(can_retry)

    def start(self, inputs: TurnInputs, mode: ReplayMode | None, endpoint: Endpoint) -> TurnRecorder:
        """Begin with a turn: nothing is looked at yet."""
        return TurnRecorder(self, self.mode_for(mode).value, inputs, endpoint)


@dataclass(slots=True)
class TurnRecorder:
    """One turn's way through the recordings: look at its objects, look for it, tell it again or keep it."""

    recorder: Recorder
    mode: ReplayMode
    inputs: TurnInputs
    endpoint: Endpoint
    match: RecordedTurn | None = None
    reason: str = ""
    _key: CacheKey | None = None
    _redactor: Redactor = field(default_factory=Redactor)
    _events: Sequence[Event] = ()
    _calls: Mapping[str, RecordedCall] = field(default_factory=dict)

    @property
    def date(self) -> str:
        """When the turn that is told again was recorded; empty where none is."""
        return self.match.recorded if self.match else ""

    async def hash_objects(self) -> None:
        """Fingerprint what the turn is made of; before the turn has its place, since it may take a while."""
        if self.recorder.file and (self.mode != "off" or self.recorder.file.writes):
            try:
                self._key = await asyncio.to_thread(make_key, self.inputs)
            except Exception as error:  # noqa: BLE001 - what cannot be looked at is asked anew; it never stops a turn
                self.reason = f"What this turn is made of cannot be compared ({type(error).__name__})."

    async def find(self, turn: Turn, history: Sequence[Message], *, version: int = 1, is_partial: bool = False) -> None:
        """Look for the turn in the recording, now that it has its place.

        `version` counts reruns, which are asked anew unless only recordings may answer. A turn that is `made_up` of
        another one's rounds is neither recorded nor replayed.
        """
        if is_partial:
            self._key, self.reason = None, NOT_RECORDABLE
        if self._key and self.recorder.file:
            key = self._key = self._complete_key(self._key, history, version)
            if self.mode == "only" or (self.mode == "auto" and version == 1):
                await asyncio.to_thread(self._search, self.recorder.file, key)
        if self.match:
            turn.model = self.match.model
        elif isinstance(self.endpoint, ReplayOnlyEndpoint):
            self.endpoint.set_reason(self.reason)

    def _complete_key(self, key: CacheKey, history: Sequence[Message], version: int) -> CacheKey:
        self._redactor = Redactor(self.inputs.plugins, [self.inputs.model.api_key, *_keys_of(self.endpoint)])
        self._redactor.register(history)
        extra = {Part("history"): history_digest(history, self._redactor.hide)}
        self._redactor.register([self.inputs.prompt])
        return replace(key, parts={**key.parts, **extra, **({Part("version"): str(version)} if version > 1 else {})})

    def _search(self, file: Recording, key: CacheKey) -> None:
        """Find the turn, or say why there is none."""
        if key.uncomparable:
            self.reason = f"This turn is not replayed and not recorded: {explain_uncomparable(key.uncomparable)}."
            return
        try:
            nearest = min(self._same_prompt(file, key), key=lambda found: len(found[0]), default=None)
            if nearest is None:
                is_there = file.writes or file.path.exists()
                reason = f"This prompt is not in {file.path.name}." if is_there else f"There is no file {file.path}."
                self.reason = reason if self.mode == "only" else ""
            elif nearest[0]:
                self.reason = f"Not the turn of {nearest[1].recorded}: {'; '.join(nearest[0])}."
            else:
                self._accept(nearest[1])
        except BadRecording as error:
            self.reason = str(error)

    def _same_prompt(self, file: Recording, key: CacheKey) -> Iterator[tuple[list[str], RecordedTurn]]:
        """Give the recorded turns with this prompt, each with what is different now."""
        any_model = self.mode == "only" and key.parts[Part("model")] == ANY_MODEL
        for turn in file.turns():
            if turn.key.get(Part("prompt")) == key.parts[Part("prompt")]:
                yield key.diff(turn.key, self.inputs.variables, any_model=any_model), turn

    def _accept(self, turn: RecordedTurn) -> None:
        self._events, self._calls = deserialize_events(turn, self._redactor)
        restore.restore_turn(
            [TurnStarted("", "", self.inputs.prompt, 0.0), *self._events]
        )  # what cannot be told is not begun
        if conflicts := self._conflicting_names(turn):
            self.reason = f"The turn of {turn.recorded} kept a result as `{conflicts[0]}`, which is another one here."
        else:
            self.match = turn

    def _conflicting_names(self, turn: RecordedTurn) -> list[str]:
        """Give the names of its results under which this kernel has something else."""
        maker = hash_json(labelled(turn.key))
        others = {entry.name for entry in self.inputs.variables.list_entries() if entry.kind != "rule"}
        return [
            name for name in stored_names(self._events) if name in others and self.recorder.producers.get(name) != maker
        ]

    async def replay(self, turn: Turn, started: TurnStarted, context: Sequence[Message], runtime: ToolRuntime) -> None:
        """Tell the turn that was found."""
        replay = Replay(turn, self.date, self._events, self._calls, context, runtime, runtime.emit)
        await replay.run(started)
        if self.match:
            self._claim(self.match.key, stored_names(self._events))

    async def notify_miss(self, emit: Emit) -> None:
        """Say why a turn is asked anew, or will not be kept."""
        if self.mode == "auto" and self.reason and self._key:
            await emit(Notice(self.reason))
        elif self._key and self._key.uncomparable and self.recorder.file and self.recorder.file.writes:
            await emit(Notice(f"This turn is not recorded: {explain_uncomparable(self._key.uncomparable)}."))

    async def store(self, turn: Turn) -> None:
        """Add a finished turn to the recording; what cannot be kept is said in one line."""
        file, key = self.recorder.file, self._key
        if (
            file is None
            or not file.writes
            or key is None
            or key.uncomparable
            or self.match
            or turn.status != "completed"
        ):
            return
        try:
            await asyncio.to_thread(self._store, turn, file, key)
        except NbtoolError as error:
            warnings.warn(f"Not recorded: {error}", stacklevel=2)
        except Exception as error:  # noqa: BLE001 - the turn has ended well, and a recording must not change that
            warnings.warn(f"Not recorded: {type(error).__name__}: {error}", stacklevel=2)

    def _store(self, turn: Turn, file: Recording, key: CacheKey) -> None:
        variables, own = self.inputs.variables, set(stored_names(turn.log))
        used = {name for call in turn.calls for name in REFERENCE.findall(call.edited or call.arguments)}
        if uncomparable := {Part("object", name): key.conditional[name] for name in used if name in key.conditional}:
            raise BadRecording(f"{explain_uncomparable(uncomparable)}.")
        results = {entry.name for entry in variables.list_entries() if entry.kind == "result"}
        earlier = ((used | mentioned_variables(turn.prompt)) & results) - own
        more, uncomparable = result_digests(sorted(earlier), variables)
        if uncomparable:
            raise BadRecording(f"{explain_uncomparable(uncomparable)}.")
        self.recorder.mutable_state |= changed_reads(key.parts, global_reads(self.inputs.tools))
        parts = {part: digest for part, digest in key.parts.items() if part not in self.recorder.mutable_state} | more
        file.add(serialize_turn(turn, parts, variables, self._redactor))
        self._claim(parts, own)

    def _claim(self, key: Mapping[Part, str], names: Sequence[str] | set[str]) -> None:
        self.recorder.producers |= dict.fromkeys(names, hash_json(labelled(key)))


def _is_own(model: Model) -> bool:
    return model.wire is not None and not isinstance(model.wire, str)


def _keys_of(endpoint: object) -> list[SecretStr | None]:
    """Give the key that an endpoint signs with, so that it is found wherever it might stand."""
    return [getattr(one, "key", None) for one in (endpoint, getattr(endpoint, "native", None))]


def stored_names(log: Sequence[Event]) -> list[str]:
    """Give the variables in which a turn kept results and media."""
    names = [event.reference for event in log if event.kind == "call_finished" and event.reference]
    for event in log:
        if isinstance(event, MessageAppended) and event.message.role == "assistant":
            names += [part.name for part in event.message.parts if isinstance(part, Media) and part.name]
    return names

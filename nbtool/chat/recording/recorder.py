"""The recording of a chat: whether a turn is replayed from it or added to it, and why not."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, get_args

from nbtool.chat.conversation import restore
from nbtool.chat.model import Model
from nbtool.chat.recording.cache_key import (
    ANY_MODEL,
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
from nbtool.chat.recording.environment import MODE, environment_recording, report_unrecorded
from nbtool.chat.recording.file import RecordedCall, RecordedTurn, Recording
from nbtool.chat.recording.kept_answers import KeptAnswers
from nbtool.chat.recording.key_part import Part, labelled
from nbtool.chat.recording.prompt_difference import describe_difference, find_changed
from nbtool.chat.recording.redaction import Redactor
from nbtool.chat.recording.replay import KEPT_FROM, REPLAYED_FROM, Replay
from nbtool.chat.recording.replay_only import RECORD_HINT, ReplayOnlyEndpoint
from nbtool.chat.recording.serialize import deserialize_events, serialize_turn
from nbtool.chat.turn import Turn
from nbtool.errors import BadRecording, BadUsage, MissingKey, NbtoolError, UnknownModel
from nbtool.events import Emit, Event, Notice, ReplyFinished, TurnStarted
from nbtool.messages import Media, Message
from nbtool.settings import Setting, env, resolve_setting
from nbtool.text import clean_text
from nbtool.threads.loop import report_warning
from nbtool.tools.calls.runtime import ToolRuntime
from nbtool.tools.variables.references import referenced_names
from nbtool.wire.base import Endpoint, Retries
from nbtool.wire.framing.known_secrets import secrets_of

ReplayMode = Literal["auto", "only", "off"]
"""Whether recorded turns are replayed: if their inputs are unchanged; always, or the turn fails; never."""

NOT_RECORDABLE = "A turn that continues a part of another one is not recorded."
NOT_KEPT = "No answer to this prompt is kept."
KEEP_HINT = "Send it to the model, which keeps the answer: `--set replay=off`, or NBTOOL_REPLAY=off."
ENVIRONMENT_HINT = "Record it: `pytest --nbtool-record` in a test with `nbtool_replay`, else NBTOOL_REPLAY=auto."


class Recorder:
    """The recording of a chat and its replay mode.

    `file` is the one that was opened, else the one that the environment names.
    `mode` is the mode of the chat, None if not set: then `NBTOOL_REPLAY` applies, and without it an open recording is
    replayed. `answers` are those that are kept on Run All, for turns that ask for it and have no recording.
    `executed` are the cells that ran in this kernel and the keys of kept answers that it has met, for all its chats.
    `producers` maps names of results to the digests of the keys of the turns that produced them; `mutable_state` are
    globals that tools change when they run, which are excluded from the keys.
    """

    def __init__(self) -> None:
        self._file: Recording | None = None
        self.mode: ReplayMode | None = None
        self._answers: KeptAnswers | None = None
        self.executed: set[str] = set()
        self.producers: dict[str, str] = {}
        self.mutable_state: set[Part] = set()

    @property
    def file(self) -> Recording | None:
        """The recording in use; None if there is none."""
        return self._file or environment_recording()

    @file.setter
    def file(self, file: Recording | None) -> None:
        self._file = file

    @property
    def answers(self) -> KeptAnswers:
        """The kept answers of the folder that the kernel is in."""
        folder = os.path.realpath(os.curdir)
        if self._answers is None or self._answers.folder != folder:
            self._answers = KeptAnswers(folder)
        self._answers.used = self.executed
        return self._answers

    def note_execution(self, cell_id: str) -> bool:
        """Note that a cell is executed; return whether it is for the first time, also if it has no id."""
        is_first = cell_id not in self.executed
        self.executed |= {cell_id} if cell_id else set()
        return is_first

    @property
    def is_from_environment(self) -> bool:
        """Whether the recording in use is the one that the environment names."""
        return self._file is None and self.file is not None

    def open(self, path: str | os.PathLike[str] | None, *, writes: bool) -> None:
        """Replay from this file, and add turns to it if `writes`; None closes the recording.

        Raises:
            BadRecording: the file exists and is not a recording.
        """
        file = None if path is None else Recording(path, writes=writes)
        if file:
            file.turns()
        self.file = file

    def mode_for(self, mode: ReplayMode | None = None, *, keeps_answers: bool = False) -> Setting[ReplayMode]:
        """Return the mode of a turn and its source.

        Raises:
            BadUsage: it is not a valid mode.
        """
        default: ReplayMode = "auto" if self.file or keeps_answers else "off"
        chosen = resolve_setting(
            [("set by you", mode), ("this chat", self.mode), (MODE, env(MODE))],
            default,
        )
        if chosen.value not in get_args(ReplayMode):
            raise BadUsage(f"Unknown replay mode {chosen.value!r} ({chosen.source}): expected auto, only or off.")
        return Setting(chosen.value, chosen.source)  # type: ignore[arg-type]  # checked above

    def model_name(self, model: Model, mode: ReplayMode | None) -> str:
        """Return the name of the model; in replay-only mode no model is discovered."""
        is_found = model.model_id is None and not _is_own(model)
        return ANY_MODEL if is_found and self.mode_for(mode).value == "only" else model.name

    def endpoint(self, model: Model, mode: ReplayMode | None, retries: Retries | None = None) -> Endpoint:
        """Return the endpoint of the model, or one that never sends, for turns that are replayed.

        That is so in replay-only mode, and for a model without a key or a provider of which the recording has turns.

        Raises:
            nbtool.errors.ModelError: the model is unknown, or has no API key.
        """
        replay = self.mode_for(mode).value
        if replay == "only":
            return ReplayOnlyEndpoint(self.model_name(model, mode))
        try:
            return model.endpoint(retries)
        except (MissingKey, UnknownModel) as error:
            if replay == "off" or model.model_id is None or not self._has_turns_of(model.model_id):
                raise
            return ReplayOnlyEndpoint(model.model_id, error=error)

    def _has_turns_of(self, model_id: str) -> bool:
        return self.file is not None and any(turn.key.get(Part("model")) == model_id for turn in self.file.turns())

    def start(
        self, inputs: TurnInputs, mode: ReplayMode | None, endpoint: Endpoint, *, keeps_answers: bool = False
    ) -> TurnRecorder:
        """Return the recorder of a turn, without looking anything up yet."""
        file = self.file or (self.answers if keeps_answers else None)
        return TurnRecorder(self, file, self.mode_for(mode, keeps_answers=keeps_answers).value, inputs, endpoint)


@dataclass(slots=True)
class TurnRecorder:
    """The steps of one turn: hash its objects, look it up, replay it or store it."""

    recorder: Recorder
    file: Recording | KeptAnswers | None
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
        """The date of the recorded turn that is replayed; empty if there is none."""
        return self.match.recorded if self.match else ""

    async def hash_objects(self) -> None:
        """Hash the inputs of the turn; before it is added to the tree, because it can be slow."""
        if self.file and (self.mode != "off" or self.file.writes):
            try:
                self._key = await asyncio.to_thread(make_key, self.inputs)
            except Exception as error:  # noqa: BLE001 - user objects may raise anything: the turn is sent to the model instead
                self.reason = f"The inputs of this turn cannot be compared ({type(error).__name__})."

    @property
    def model(self) -> str:
        """The model of the recorded turn that is replayed; empty if there is none."""
        return self.match.model if self.match else ""

    async def find(
        self,
        history: Sequence[Message],
        compared: Callable[[], Sequence[Message]],
        *,
        version: int = 1,
        is_partial: bool = False,
        cell_id: str = "",
    ) -> None:
        """Look up the turn in the recording.

        `compared` returns the history in the form whose digest is part of the key: unlike the form that is sent, it
        does not depend on the sizes of messages. `version` counts reruns, which are sent to the model except in
        replay-only mode, and so is a cell that is executed again while answers are kept. A turn that `is_partial`, with
        rounds of another one, is neither recorded nor replayed.
        """
        is_first = self.recorder.note_execution(cell_id) or not isinstance(self.file, KeptAnswers)
        if is_partial:
            self._key, self.reason = None, NOT_RECORDABLE
        if self._key and self.file:
            self._redactor = Redactor(self.inputs.plugins, partial(secrets_of, self.endpoint))
            self._redactor.register(history)
            key = self._key = self._complete_key(self._key, compared(), version)
            if self.mode == "only" or (self.mode == "auto" and version == 1 and is_first):
                await asyncio.to_thread(self._search, self.file, key, has_cell=bool(cell_id))
        if not self.match and isinstance(self.endpoint, ReplayOnlyEndpoint):
            fix = ENVIRONMENT_HINT if self.recorder.is_from_environment else RECORD_HINT
            fix = KEEP_HINT if isinstance(self.file, KeptAnswers) else fix
            self.endpoint.set_reason(self.reason, self.inputs.prompt.text, fix)

    def _complete_key(self, key: CacheKey, history: Sequence[Message], version: int) -> CacheKey:
        self._redactor.register(history)
        extra = {Part("history"): history_digest(history, self._redactor.hide)}
        self._redactor.register([self.inputs.prompt])
        return replace(key, parts={**key.parts, **extra, **({Part("version"): str(version)} if version > 1 else {})})

    def _search(self, file: Recording | KeptAnswers, key: CacheKey, *, has_cell: bool) -> None:
        """Find the turn, or set the reason why there is none."""
        if key.uncomparable:
            self.reason = f"This turn is not replayed and not {file.stored}: {explain_uncomparable(key.uncomparable)}."
            return
        try:
            found = self._same_prompt(file, key)
            if isinstance(file, KeptAnswers) and self.mode == "auto":
                found = (pair for pair in found if (has_cell and not pair[0]) or not file.has_met(pair[1]))
            nearest = min(found, key=lambda candidate: len(candidate[0]), default=None)
            if nearest is None:
                self.reason = self._explain_new_prompt(file, key)
            elif nearest[0]:
                self.reason = f"Not the turn of {nearest[1].recorded} in the {file.place}: {'; '.join(nearest[0])}."
            else:
                self._accept(nearest[1])
        except BadRecording as error:
            self.reason = str(error)

    def _explain_new_prompt(self, file: Recording | KeptAnswers, key: CacheKey) -> str:
        """Return that a prompt is not recorded, with what changed if it was; empty if the model may just be asked."""
        if isinstance(file, KeptAnswers):
            return NOT_KEPT if self.mode == "only" else ""
        if self.mode == "only" and not (file.writes or file.path.exists()):
            return f"The file {file.path} does not exist."
        changed = self._changed_prompt(file, key)
        unknown = f"This prompt is not in {file.path.name}." if self.mode == "only" else ""
        return " ".join(filter(None, (unknown, changed)))

    def _changed_prompt(self, file: Recording, key: CacheKey) -> str:
        """Return what differs from the recorded turn whose prompt is most like this one; empty if none is like it.

        In auto mode only one that comes at this point of a conversation, and that this kernel has not met: else each
        new prompt that resembles an earlier one would be taken for a change of it.
        """
        prompt = clean_text(self._redactor.hide(self.inputs.prompt.text))
        turn = find_changed(
            (item for item in file.turns() if self.mode == "only" or _is_former(item, file, key)), prompt
        )
        if turn is None:
            return ""
        same = replace(key, parts={**key.parts, Part("prompt"): turn.key.get(Part("prompt"), "")})
        others = same.diff(turn.key, self.inputs.variables, any_model=self._matches_any_model(key))
        differences = [describe_difference(turn.prompt, prompt), *others]
        return f"Not the turn of {turn.recorded} in the {file.place}: {'; '.join(differences)}."

    def _matches_any_model(self, key: CacheKey) -> bool:
        return self.mode == "only" and key.parts[Part("model")] == ANY_MODEL

    def _same_prompt(self, file: Recording | KeptAnswers, key: CacheKey) -> Iterator[tuple[list[str], RecordedTurn]]:
        """Yield the recorded turns with this prompt, each with the list of its differences."""
        any_model = self._matches_any_model(key)
        for turn in file.turns_of(key.parts[Part("prompt")]):
            yield key.diff(turn.key, self.inputs.variables, any_model=any_model), turn

    def _accept(self, turn: RecordedTurn) -> None:
        self._events, self._calls = deserialize_events(turn, self._redactor)
        # raises if the events cannot be replayed
        restore.restore_turn([TurnStarted("", "", self.inputs.prompt, 0.0), *self._events])
        if conflicts := self._conflicting_names(turn):
            self.reason = (
                f"The turn of {turn.recorded} stored a result as `{conflicts[0]}`, which is another object here."
            )
        else:
            self.match = turn

    def _conflicting_names(self, turn: RecordedTurn) -> list[str]:
        """Return the names of its results that this kernel uses for other objects."""
        maker = hash_json(labelled(turn.key))
        others = {entry.name for entry in self.inputs.variables.list_entries() if entry.kind != "rule"}
        return [
            name for name in stored_names(self._events) if name in others and self.recorder.producers.get(name) != maker
        ]

    async def replay(self, turn: Turn, context: Sequence[Message], runtime: ToolRuntime) -> None:
        """Replay the turn that was found."""
        text = KEPT_FROM if isinstance(self.file, KeptAnswers) else REPLAYED_FROM
        is_only = self.mode == "only"
        replay = Replay(turn, self.date, text, self._events, self._calls, context, runtime, runtime.emit, is_only)
        await replay.run()
        if self.match:
            self._claim(self.match.key, stored_names(self._events))

    async def notify_miss(self, emit: Emit) -> None:
        """Emit a notice why the turn is not replayed, or will not be recorded."""
        if self.mode == "auto" and self.reason and self._key:
            await emit(Notice(self.reason))
        elif self._key and self._key.uncomparable and self.file and self.file.writes:
            await emit(Notice(f"This turn is not {self.file.stored}: {explain_uncomparable(self._key.uncomparable)}."))

    async def store(self, turn: Turn) -> None:
        """Add a finished turn to the recording; warn if it cannot be recorded."""
        file, key = self.file, self._key
        if file is None or not file.writes or self.match or isinstance(self.endpoint, ReplayOnlyEndpoint):
            return
        problem = ""
        if turn.status != "completed":
            reason = f"The turn did not complete ({turn.error or turn.status})."
        elif key is None or key.uncomparable:
            reason = self.reason or explain_uncomparable(key.uncomparable if key else {})
        else:
            reason = problem = await self._problem_of_storing(turn, file, key)
        if reason and isinstance(file, Recording):
            report_unrecorded(turn.prompt.text, reason)
        if problem:
            report_warning(f"Not {file.stored}: {problem}")

    async def _problem_of_storing(self, turn: Turn, file: Recording | KeptAnswers, key: CacheKey) -> str:
        """Store a turn; return why it could not be, because that must not fail a completed turn."""
        try:
            await asyncio.to_thread(self._store, turn, file, key)
        except NbtoolError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - the objects of the user may raise anything
            return f"{type(error).__name__}: {error}"
        return ""

    def _store(self, turn: Turn, file: Recording | KeptAnswers, key: CacheKey) -> None:
        variables, own = self.inputs.variables, set(stored_names(turn.log))
        used = {name for call in turn.calls for name in referenced_names(call.edited or call.arguments)}
        if uncomparable := {Part("object", name): key.conditional[name] for name in used if name in key.conditional}:
            raise BadRecording(f"{explain_uncomparable(uncomparable)}.")
        results = {entry.name for entry in variables.list_entries() if entry.kind == "result"}
        earlier = ((used | mentioned_variables(turn.prompt)) & results) - own
        more, uncomparable = result_digests(sorted(earlier), variables)
        if uncomparable:
            raise BadRecording(f"{explain_uncomparable(uncomparable)}.")
        self.recorder.mutable_state |= changed_reads(key.parts, global_reads(self.inputs.tools))
        parts = {part: digest for part, digest in key.parts.items() if part not in self.recorder.mutable_state} | more
        recorded = serialize_turn(turn, parts, variables, self._redactor)
        if isinstance(file, KeptAnswers):
            file.add(recorded, turn.turn_id, self.inputs.plugins)
        else:
            file.add(recorded)
        self._claim(parts, own)

    def _claim(self, key: Mapping[Part, str], names: Sequence[str] | set[str]) -> None:
        digest = hash_json(labelled(key))
        self.recorder.producers |= dict.fromkeys(names, digest)
        if self.file:
            self.file.used.add(digest)


def _is_own(model: Model) -> bool:
    return model.wire is not None and not isinstance(model.wire, str)


def _is_former(turn: RecordedTurn, file: Recording, key: CacheKey) -> bool:
    """Whether a recorded turn has the history of this key, and no turn of this kernel is its replay or its original."""
    has_same_history = turn.key.get(Part("history")) == key.parts[Part("history")]
    return has_same_history and hash_json(labelled(turn.key)) not in file.used


def stored_names(log: Sequence[Event]) -> list[str]:
    """Return the names under which a turn stored results and media."""
    names = [event.reference for event in log if event.kind == "call_finished" and event.reference]
    for event in log:
        if isinstance(event, ReplyFinished):
            names += [part.name for part in event.message.parts if isinstance(part, Media) and part.name]
    return names

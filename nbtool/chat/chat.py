"""Chat: a model, tools, and a conversation with history."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from nbtool.chat.batch import Batch
from nbtool.chat.conversation import TurnRef
from nbtool.chat.prompt_batch import build_batch
from nbtool.chat.rerun.operations import Edit, Insert, Reexecute, Rerun, Resume, TurnOperation
from nbtool.chat.turn import Turn
from nbtool.chat.turn_builder import TurnBuilder, TurnSettings
from nbtool.errors import BadUsage
from nbtool.loop import LoopWatch, background_loop
from nbtool.messages import Message
from nbtool.tools.approval import Approver

STOP_SECONDS = 10.0
"""Seconds that a thread waits for a turn it has cancelled; longer than any part of a turn needs to stop."""

__all__ = ["Chat", "TurnSettings", "wait_for_turn"]


class Chat(TurnBuilder):
    """A conversation with a model that can use your functions and objects.

        chat = Chat("openai:gpt-5-mini", tools=[price], system="Be brief.")
        chat.expose(df=df)
        turn = chat.send("Which ticker in $VAR_REF{{df}} is cheapest?")

    `model` is `provider:model`; None selects one that is available (see `%chat status`). `wire` forces a dialect, or is
    your own endpoint. `approver` decides at the approval gates; without one, a call that needs approval is denied.
    With `check_results` every result needs approval before it is sent to the model, whatever the tool's own policy.
    `notebook` is the namespace in which exposed names are looked up on use.

    Results of calls stay available, by name and in their records, up to `result_bytes` together; those of the running
    turn are never dropped. A request contains the latest `window` turns and the pinned ones; None is no limit.
    With `keeps_notes` the model may write and remove variables of its own (WriteVar, RemoveVars).
    `choose_tools` returns the names of the tools that a turn may use; `call_texts` replaces the text that the model
    receives for an outcome (`denied`, `cancelled`, `error` …).
    """

    def expose(self, *, read: bool = False, **objects: Any) -> None:
        """Expose objects as targets of `$VAR_REF{{name}}`: by reference only, or, with `read`, also their values."""
        for name, value in objects.items():
            self.variables.expose(name, value, readable=read)

    def send(
        self,
        prompt: str | Message,
        *,
        attach: Any = (),
        as_: Any = None,
        options: Mapping[str, Any] | None = None,
        approver: Approver | None = None,
        settings: TurnSettings | None = None,
    ) -> Turn:
        """Send a prompt and wait for the turn; works in a running event loop too.

        With `as_` the answer is parsed as a value of that type, in `Turn.value`.
        Synchronous tools run on the calling thread. An interrupt cancels the turn and is then raised again.

        Raises:
            nbtool.errors.ModelError: the model is unknown, or has no API key. Later errors are in `Turn.error`.
        """
        if background_loop().is_current():
            raise BadUsage(
                "Chat.send was called on nbtool's background loop, where it would block itself.",
                fix="Use `await chat.start(…)` in asynchronous tools and plugins.",
            )
        turn = self.compose(prompt, attach=attach, as_=as_, options=options, settings=settings)
        turn.approver = approver or self.approver
        return wait_for_turn(turn)

    def start(
        self,
        prompt: str | Message,
        *,
        attach: Any = (),
        as_: Any = None,
        options: Mapping[str, Any] | None = None,
        approver: Approver | None = None,
        settings: TurnSettings | None = None,
    ) -> Turn:
        """Send a prompt and return at once: await the turn, or iterate over its events.

        With `as_` the answer is parsed as a value of that type, in `Turn.value`.
        Synchronous tools run in worker threads, unless a calling thread is attached to the turn.

        Raises:
            nbtool.errors.ModelError: the model is unknown, or has no API key. Later errors are in `Turn.error`.
        """
        turn = self.compose(prompt, attach=attach, as_=as_, options=options, settings=settings)
        turn.approver = approver or self.approver
        return turn.start()

    def rerun(
        self,
        turn: TurnRef = None,
        *,
        from_round: int | None = None,
        arguments: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
        results: Mapping[str, str] = MappingProxyType({}),
        **kwargs: Any,
    ) -> Turn:
        """Send a prompt again, as a new version of its turn, and wait; see `Rerun`. Takes the arguments of `send`."""
        return self._run_operation(Rerun(turn, from_round, arguments, results), **kwargs)

    def resume(self, turn: TurnRef = None, **kwargs: Any) -> Turn:
        """Finish the pending calls of an interrupted turn, and wait; see `Resume`. Takes the arguments of `send`."""
        return self._run_operation(Resume(turn), **kwargs)

    def reexecute(
        self,
        turn: TurnRef = None,
        *,
        from_round: int = 1,
        arguments: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
        **kwargs: Any,
    ) -> Turn:
        """Run the tools of a turn again, with approval, and wait; see `Reexecute`. Takes the arguments of `send`."""
        return self._run_operation(Reexecute(turn, from_round, arguments), **kwargs)

    def edit(self, turn: TurnRef, prompt: str | Message, **kwargs: Any) -> Turn:
        """Replace the prompt of a turn, on a new branch, and wait. Takes the arguments of `send`."""
        return self._run_operation(Edit(turn), prompt, **kwargs)

    def insert(self, after: TurnRef, prompt: str | Message, **kwargs: Any) -> Turn:
        """Insert a prompt after a turn of the active branch, and wait. Takes the arguments of `send`."""
        return self._run_operation(Insert(after), prompt, **kwargs)

    def map(self, prompts: Any, rows: Any = None, **kwargs: Any) -> Batch:
        """Send many independent prompts and wait for the last answer; takes the arguments of `start_map`.

            chat.map("Is this review kind? {text}", frame, as_=bool).values  # a Series beside the frame

        Synchronous tools run on the calling thread. An interrupt cancels the remaining prompts, then is raised.
        """
        return build_batch(self, prompts, rows, **kwargs).wait()

    def start_map(self, prompts: Any, rows: Any = None, **kwargs: Any) -> Batch:
        """Send many independent prompts and return at once: iterate over the answers, or await all of them.

        Each is a turn with this chat's settings, tools and exposed variables, without the history of the chat.
        `prompts` are texts, messages or a column; or a template whose `{column}` is filled in from each of the `rows`
        (a frame, or dicts). Answers to the same prompts are reused from the journal. Takes `as_`, `options`, `approver`
        and `settings` as `start` does, and the fields of `MapSettings`.

        Raises:
            nbtool.errors.BadUsage: the prompts, the rows or a setting are invalid.
            nbtool.errors.ModelError: the model is unknown, or has no API key. Later errors are in the answers.
        """
        return build_batch(self, prompts, rows, **kwargs).start()

    def _run_operation(
        self,
        operation: TurnOperation,
        prompt: str | Message = "",
        *,
        settings: TurnSettings | None = None,
        **kwargs: Any,
    ) -> Turn:
        return self.send(prompt, settings=replace(settings or TurnSettings(), operation=operation), **kwargs)

    def record(self, path: str | os.PathLike[str] | None) -> None:
        """Replay turns from a recording where their inputs are unchanged, and record the others; None stops.

        Raises:
            nbtool.errors.BadRecording: the file exists and is not a recording.
        """
        self.recorder.open(path, writes=True)

    def replay(self, path: str | os.PathLike[str] | None) -> None:
        """Replay turns from a recording without writing to it; None stops. Raises: as `record`."""
        self.recorder.open(path, writes=False)


def wait_for_turn(
    turn: Turn, *, on_tick: Callable[[], None] | None = None, on_start: Callable[[], object] | None = None
) -> Turn:
    """Start a turn, unless it is running, and run its synchronous work on this thread until it ends or is parked.

    `on_start` continues a parked turn. An interrupt cancels the turn and is raised again when the turn has ended or
    `STOP_SECONDS` are over, and within a second if something blocks nbtool's background loop.
    """
    try:
        return turn.caller_thread.run_until(turn.until_idle(), on_tick=on_tick, on_start=on_start or turn.start)
    except KeyboardInterrupt:
        turn.cancel()
        turn.start()  # a turn that was not started yet has to end too
        with suppress(TimeoutError):
            turn.caller_thread.run_until(turn.done, on_tick=LoopWatch(), seconds=STOP_SECONDS)
        raise

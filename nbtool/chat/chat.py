"""Chat: a model, tools, and a conversation that remembers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from nbtool.chat.batch import Batch, start_batch
from nbtool.chat.conversation import TurnRef
from nbtool.chat.rerun.operations import Edit, Insert, Reexecute, Rerun, Resume, TurnOperation
from nbtool.chat.turn import Turn
from nbtool.chat.turn_builder import TurnBuilder, TurnSettings
from nbtool.errors import BadUsage
from nbtool.loop import LoopWatch, background_loop
from nbtool.messages import Message
from nbtool.tools.approval import Approver

STOP_SECONDS = 10.0
"""Seconds that a thread waits for a turn which it has stopped; more than any part of a turn takes to end."""

__all__ = ["Chat", "TurnSettings", "wait_for_turn"]


class Chat(TurnBuilder):
    """A conversation with a model that can use your functions and objects.

        chat = Chat("openai:gpt-5-mini", tools=[price], system="Be brief.")
        chat.expose(df=df)
        turn = chat.send("Which ticker in $VAR_REF{{df}} is cheapest?")

    `model` is `provider:model`; None takes what is found (see `%chat status`). `wire` forces a dialect, or is an
    endpoint of your own. `approver` is asked at the gates; without one, a call that needs asking is denied.
    With `check_results` every result is shown to a person before the model reads it, whatever its tool says.
    `notebook` is where exposed names are looked up when they are used.

    Results of calls are kept, by name and in their records, up to `result_bytes` together; the running turn's are never
    dropped. Later turns are told the latest `window` turns and those that are pinned, all of them where it is None.
    With `keeps_notes` set the model may write and remove variables of its own (WriteVar, RemoveVars).
    `choose_tools` gives the names that a turn may use; `call_texts` are what the model is told of an outcome
    (`denied`, `cancelled`, `error` …) in place of our words.
    """

    def expose(self, *, read: bool = False, **objects: Any) -> None:
        """Expose objects as targets of `$VAR_REF{{name}}`: by reference alone, or, with `read`, values too."""
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
        """Say something and wait for the turn; works in a running event loop too.

        With `as_` the answer becomes a value of that type, in `Turn.value`.
        Synchronous tools run on the calling thread. An interrupt cancels the turn and is then raised again.

        Raises:
            nbtool.errors.ModelError: there is no such model, or no key for it. Later errors are in `Turn.error`.
        """
        if background_loop().is_current():
            raise BadUsage(
                "Chat.send was called on nbtool's own loop, where it would wait for itself.",
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
        """Say something and go on at once: await the turn, or iterate over its events.

        With `as_` the answer becomes a value of that type, in `Turn.value`.
        Synchronous tools run in worker threads, unless a thread is lent to the turn.

        Raises:
            nbtool.errors.ModelError: there is no such model, or no key for it. Later errors are in `Turn.error`.
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
        """Say the same again, as a new version of a turn, and wait; see `verbs.Rerun`. Takes what `send` takes."""
        return self._run_operation(Rerun(turn, from_round, arguments, results), **kwargs)

    def resume(self, turn: TurnRef = None, **kwargs: Any) -> Turn:
        """Finish what is pending of a turn that broke off, and wait; see `verbs.Resume`. Takes what `send` takes."""
        return self._run_operation(Resume(turn), **kwargs)

    def reexecute(
        self,
        turn: TurnRef = None,
        *,
        from_round: int = 1,
        arguments: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
        **kwargs: Any,
    ) -> Turn:
        """Run the tools of a turn again, gates and all, and wait; see `verbs.Reexecute`. Takes what `send` takes."""
        return self._run_operation(Reexecute(turn, from_round, arguments), **kwargs)

    def edit(self, turn: TurnRef, prompt: str | Message, **kwargs: Any) -> Turn:
        """Say something else in place of a turn, on a branch of its own, and wait. Takes what `send` takes."""
        return self._run_operation(Edit(turn), prompt, **kwargs)

    def insert(self, after: TurnRef, prompt: str | Message, **kwargs: Any) -> Turn:
        """Say something after a turn of the active line, before what followed it, and wait. Takes what `send` takes."""
        return self._run_operation(Insert(after), prompt, **kwargs)

    def map(self, prompts: Any, rows: Any = None, **kwargs: Any) -> Batch:
        """Ask many prompts, each on its own, and wait for the last answer; takes what `start_map` takes.

            chat.map("Is this review kind? {text}", frame, as_=bool).values  # a Series beside the frame

        Synchronous tools run on the calling thread. An interrupt cancels what is left and is then raised again.
        """
        return start_batch(self, prompts, rows, **kwargs).wait()

    def start_map(self, prompts: Any, rows: Any = None, **kwargs: Any) -> Batch:
        """Ask many prompts, each on its own, and go on at once: iterate over the answers, or await them all.

        Each is a turn with this chat's settings, tools and exposed variables, which is told nothing of what was said
        before. `prompts` are texts, messages or a column; or a template, `{column}` filled in from each of the `rows`
        (a frame, or dicts). What was asked and answered before is taken from the journal. It takes `as_`, `options`,
        `approver` and `settings` as `start` does, and what `MapSettings` lists.

        Raises:
            nbtool.errors.BadUsage: the prompts, the rows or a setting make no sense.
            nbtool.errors.ModelError: there is no such model, or no key for it. Later errors are among the answers.
        """
        return start_batch(self, prompts, rows, **kwargs).start()

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
        """Tell recorded turns of a file again where nothing that matters changed, and add the others; None ends it.

        Raises:
            nbtool.errors.BadRecording: the file is there and is no recording.
        """
        self.recorder.open(path, writes=True)

    def replay(self, path: str | os.PathLike[str] | None) -> None:
        """Tell recorded turns of a file again, and never write it; None ends it. Raises: as `record`."""
        self.recorder.open(path, writes=False)


def wait_for_turn(
    turn: Turn, *, on_tick: Callable[[], None] | None = None, on_start: Callable[[], object] | None = None
) -> Turn:
    """Begin a turn, unless it has begun, and lend this thread to it until it has ended or is parked.

    `go` sets it going again where it was parked. An interrupt cancels the turn and is then raised again, when the turn
    has ended or `STOP_SECONDS` are over, and within a second where something blocks nbtool's own loop.
    """
    try:
        return turn.caller_thread.run_until(turn.until_idle(), on_tick=on_tick, on_start=on_start or turn.start)
    except KeyboardInterrupt:
        turn.cancel()
        turn.start()  # one that had not begun ends as any other
        with suppress(TimeoutError):
            turn.caller_thread.run_until(turn.done, on_tick=LoopWatch(), seconds=STOP_SECONDS)
        raise

"""Call the hooks of the plugins: their order, thread and time limit."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nbtool.chain.hooks import Cleanup, TurnContext
from nbtool.chain.plugin import HOOKS
from nbtool.chain.plugin_check import check_plugins
from nbtool.chain.task_stopping import shield_until_done, stop_all
from nbtool.errors import HookFailed, NbtoolError
from nbtool.threads.loop import is_cancelling
from nbtool.threads.thread_pool import Outcome, run_in_worker


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook of one plugin; `position` is the plugin's index, `on_loop` is where its sync functions run."""

    name: str
    position: int
    plugin: object
    call: Callable[[Any], Any]
    on_loop: bool = False

    @classmethod
    def from_plugin(cls, name: str, position: int, plugin: object, call: Callable[[Any], Any]) -> Hook:
        """Return the hook of a plugin, with its thread."""
        on_loop = getattr(plugin, "runs_on_loop", False) or name == "on_stream_data"
        return cls(name, position, plugin, call, on_loop)

    @property
    def owner(self) -> str:
        """The name of the plugin."""
        return type(self.plugin).__name__

    def cleanup(self, call: Cleanup) -> Hook:
        """Return a clean-up, which this hook returned, as a hook."""
        return replace(self, name="a clean-up", call=lambda _: call())

    async def run(self, context: Any) -> Any:
        """Call the hook and return its result.

        Raises:
            HookFailed: it took too long, or raised something else than an NbtoolError.
        """
        try:
            if self.on_loop and not inspect.isawaitable(answer := self.call(context)):
                return answer  # most hooks: once for each delta
            turn: TurnContext = getattr(context, "turn", context)
            if not self.on_loop:
                is_async = inspect.iscoroutinefunction(self.call)
                answer = self.call(context) if is_async else self._call_in_worker(context, turn)
            return await self._await_with_timeout(answer, self._timeout(turn), turn.limits.hooks.stop)
        except NbtoolError:
            raise
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and is_cancelling():
                raise
            text = f"The plugin {self.owner} failed in {self.name}: {type(error).__name__}: {error}"
            raise HookFailed(text) from error

    def _timeout(self, turn: TurnContext) -> float | None:
        """Return the time limit, which is short while the turn is being stopped."""
        limits = turn.limits.hooks
        seconds: float | None = getattr(self.plugin, "hook_seconds", limits.call)
        if is_cancelling() or turn.cancel.is_set:
            return min(seconds or limits.stop, limits.stop)
        return seconds

    async def _await_with_timeout(self, answer: Awaitable[Any], seconds: float | None, stop_seconds: float) -> Any:
        """Await a result; one that is late, or does not end when it is cancelled, is abandoned."""
        if seconds is None:
            return await answer
        task = asyncio.ensure_future(_outcome(answer))
        try:
            await asyncio.wait({task}, timeout=seconds)
        except asyncio.CancelledError:
            await shield_until_done(stop_all([task], stop_seconds))
            if task.done() and not task.cancelled() and (error := task.result().error):
                raise error from None  # a real error takes precedence over a simultaneous stop
            raise
        await stop_all([task], stop_seconds)
        if not task.done() or task.cancelled():
            raise HookFailed(self.timeout_message(seconds))
        if error := task.result().error:
            raise error
        return task.result().value

    def timeout_message(self, seconds: float) -> str:
        """Return the message for a hook that took longer than `seconds`."""
        return f"The plugin {self.owner} took longer than {seconds:g} s in {self.name} and was stopped."

    async def _call_in_worker(self, context: object, turn: TurnContext) -> Any:
        future = run_in_worker(lambda: self.call(context))
        try:
            outcome = await asyncio.shield(future)
        except asyncio.CancelledError:
            await shield_until_done(_wait_for(future, turn.limits.hooks.minimum))  # it may be about to end
            if not (future.done() and future.result().error):
                if future.done() and inspect.iscoroutine(future.result().value):
                    future.result().value.close()
                raise
            outcome = future.result()
        if outcome.error:
            raise outcome.error
        return await outcome.value if inspect.isawaitable(outcome.value) else outcome.value


class Hooks:
    """The hooks of the plugins of one turn.

    Raises:
        BadUsage: one of the objects is not a plugin.
    """

    def __init__(self, plugins: Sequence[object]) -> None:
        check_plugins(plugins)
        self._hooks: Mapping[str, tuple[Hook, ...]] = {
            name: tuple(
                Hook.from_plugin(name, position, plugin, call)
                for position, plugin in enumerate(plugins)
                if (call := getattr(plugin, name, None))
            )
            for name in HOOKS
        }

    def get(self, name: str) -> tuple[Hook, ...]:
        """Return the hooks with this name, in the order of their plugins."""
        return self._hooks[name]

    async def call_all(self, name: str, context: object) -> None:
        """Call the hook of each plugin in order, until the first error."""
        for hook in self._hooks[name]:
            await hook.run(context)


async def _wait_for(future: asyncio.Future[Outcome], seconds: float) -> None:
    await asyncio.wait({future}, timeout=seconds)


async def _outcome(answer: Awaitable[Any]) -> Outcome:
    """Await a result and capture its error: a SystemExit must not reach the loop."""
    try:
        return Outcome(await answer)
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and is_cancelling():
            raise
        return Outcome(error=error)

"""A tool that runs a script of the model, which calls the chat's other tools as functions.

This is not a sandbox. Imports, underscored names and most builtins are unavailable, but that does not contain a hostile
script: tools return live objects of the notebook, and their methods can do what your code can. Approving a script means
running it. Each of its calls is handled like any other call: approved, counted and recorded.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator

from nbtool.errors import ToolFailed
from nbtool.threads.thread_pool import run_in_worker
from nbtool.tools.approval import Policy
from nbtool.tools.builtin import builtin_tool
from nbtool.tools.calls.runtime import current_call
from nbtool.tools.script.script_compiler import compile_script, validate
from nbtool.tools.script.script_run import SCRIPT_SECONDS, ScriptRun
from nbtool.tools.toolset import Toolset, toolset_factory

NAME = "RunScript"
STOP_SECONDS = 1.0
"""Seconds that a stopped script has to end."""


@toolset_factory
def script_tools() -> Toolset:
    """Return a toolset with the tool that runs scripts.

        chat = Chat(tools=[price, script_tools()])  # in a notebook: %%chat -t price script_tools

    Approval of a script is required each time, whatever the policy, and of every call in it whose tool requires it. It
    runs in its own thread; the synchronous tools that it calls run where they normally do.
    """
    return ScriptTool().toolset()


@dataclass(frozen=True, slots=True)
class ScriptTool:
    """The tool, and the seconds that a script may run and, once stopped, has to end."""

    seconds: float = SCRIPT_SECONDS
    stop_seconds: float = STOP_SECONDS

    def toolset(self) -> Toolset:
        """Return the toolset with this tool."""
        policy = Policy("ask_always", sensitive=True)
        return Toolset("script", [builtin_tool(self.run_script, "nbtool.script", policy, name=NAME)])

    async def run_script(self, script: Annotated[str, AfterValidator(validate)]) -> Any:
        """Run one Python script that calls the other tools as functions; use it where many calls depend on each other.

        Every other tool is a function of its name (with _ for -), with the same arguments, and returns the raw value,
        not the text of it. A call that fails or is not approved raises ToolFailed. There are no imports, no classes and
        no names that begin with _; the plain builtins are there. Pass a variable as "$VAR_REF{{name}}" in an argument
        of a tool. What is printed is the result, with the value of the last expression or of a return.

        Args:
            script: the Python code.
        """
        run = ScriptRun(current_call(), asyncio.get_running_loop(), excluded=NAME, seconds=self.seconds)
        code = compile_script(script)
        work = run_in_worker(lambda: run.execute(code))
        try:
            while not work.done() and run.remaining_seconds > 0:
                await asyncio.wait({work}, timeout=run.remaining_seconds)
            run.stop()
            await asyncio.wait({work}, timeout=self.stop_seconds)
        except asyncio.CancelledError:
            run.stop()
            await asyncio.wait({work})  # the call lasts as long as the script runs, so that a cancelled call reports it
            raise
        if not work.done():
            raise ToolFailed(run.output("The script took too long and cannot be stopped: it is still running."))
        outcome = work.result()
        if outcome.error:
            raise outcome.error
        return outcome.value

"""One script in place of many rounds: the model writes it, and it calls the chat's other tools as functions.

This is no sandbox. Imports, underscored names and most builtins are missing, which keeps a script to its work and not a
hostile one to its place: the raw values that tools give are live objects of the notebook, and their methods can do what
yours can. Whoever approves a script runs it. Each call in it goes the way of any other call: it is asked about, counted
and recorded.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from pydantic import AfterValidator

from nbtool.errors import ToolFailed
from nbtool.thread_pool import run_in_worker
from nbtool.tools.approval import Policy
from nbtool.tools.builtin import builtin_tool
from nbtool.tools.calls.run import current_call
from nbtool.tools.script.compile import compile_script, validate
from nbtool.tools.script.run import ScriptRun
from nbtool.tools.toolset import Toolset, toolset_factory

NAME = "RunScript"
STOP_SECONDS = 1.0
"""Seconds that a script is given to end when it is stopped."""


@toolset_factory
def script_tools() -> Toolset:
    """Give the tool that runs scripts, as a toolset.

        chat = Chat(tools=[price, script_tools()])  # in a notebook: %%chat -t price script_tools

    A script is asked about each time, whatever else is said, and so is every call in it that asks elsewhere. It runs in
    a thread of its own; the synchronous tools that it calls run where they always do.
    """
    policy = Policy("ask_always", sensitive=True)
    return Toolset("script", [builtin_tool(run_script, "nbtool.script", policy, name=NAME)])


async def run_script(script: Annotated[str, AfterValidator(validate)]) -> Any:
    """Run one Python script that calls the other tools as functions; use it where many calls depend on each other.

    Every other tool is a function of its name (with _ for -), with the same arguments, and gives the raw value, not the
    text of it. A call that fails or is not approved raises ToolFailed. There are no imports, no classes and no names
    that begin with _; the plain builtins are there. Pass a variable as "$VAR_REF{{name}}" in an argument of a tool.
    What is printed is the result, with the value of the last expression or of a return.

    Args:
        script: the Python code.
    """
    run = ScriptRun(current_call(), asyncio.get_running_loop(), excluded=NAME)
    code = compile_script(script)
    work = run_in_worker(lambda: run.execute(code))
    try:
        while not work.done() and run.remaining_seconds > 0:
            await asyncio.wait({work}, timeout=run.remaining_seconds)
        run.stop()
        await asyncio.wait({work}, timeout=STOP_SECONDS)
    except asyncio.CancelledError:
        run.stop()
        await asyncio.wait({work})  # as long as it runs, this call does, and whoever cancelled it can say so
        raise
    if not work.done():
        raise ToolFailed(run.output("The script took too long and cannot be stopped: it is still running."))
    outcome = work.result()
    if outcome.error:
        raise outcome.error
    return outcome.value

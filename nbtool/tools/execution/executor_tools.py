"""Run the tools of a source in a user's executor."""

from __future__ import annotations

import inspect
from concurrent.futures import Executor
from dataclasses import replace

from nbtool.tools.tool import Tool
from nbtool.tools.tool_views import ToolSource, ToolView


class ExecutorTools(ToolView):
    """The tools of a source, with its plain functions run in an executor.

    Async and generator tools, nbtool's own tools and tools with their own executor are unchanged.
    """

    def __init__(self, source: ToolSource, executor: Executor) -> None:
        super().__init__(source)
        self._executor = executor

    def change(self, tool: Tool) -> Tool:
        """Return a tool, with the executor if it is a plain function."""
        runs_here = tool.executor or tool.is_async or _is_generator_tool(tool) or tool.origin.startswith("nbtool.")
        return tool if runs_here else replace(tool, executor=self._executor, thread=False)


def _is_generator_tool(tool: Tool) -> bool:
    return inspect.isgeneratorfunction(inspect.unwrap(getattr(tool.function, "func", tool.function)))

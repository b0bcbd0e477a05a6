"""Run the tools of a source in a user's executor."""

from __future__ import annotations

import inspect
from concurrent.futures import Executor
from dataclasses import replace

from nbtool.tools.tool import Tool
from nbtool.tools.toolset import Rule, ToolSource, on_demand_rules


class ExecutorTools:
    """The tools of a source, with its plain functions run in an executor.

    Async and generator tools, nbtool's own tools and tools with their own executor are unchanged.
    """

    def __init__(self, source: ToolSource, executor: Executor) -> None:
        self.name = source.name
        self._source = source
        self._executor = executor
        self._cache: dict[Tool, Tool] = {}

    def tools(self) -> dict[str, Tool]:
        """Return the tools, the plain functions with the executor set."""
        return {name: self._with_executor(tool) for name, tool in self._source.tools().items()}

    def rules(self) -> str:
        """Return the source's rules."""
        return self._source.rules()

    def on_demand(self) -> tuple[Rule, ...]:
        """Return the source's on-demand rules."""
        return on_demand_rules(self._source)

    def _with_executor(self, tool: Tool) -> Tool:
        if tool not in self._cache:
            runs_here = tool.executor or tool.is_async or _is_generator_tool(tool) or tool.origin.startswith("nbtool.")
            self._cache[tool] = tool if runs_here else replace(tool, executor=self._executor, thread=False)
        return self._cache[tool]


def _is_generator_tool(tool: Tool) -> bool:
    return inspect.isgeneratorfunction(inspect.unwrap(getattr(tool.function, "func", tool.function)))

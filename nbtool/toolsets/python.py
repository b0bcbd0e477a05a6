"""Run Python in the notebook: the model writes code, a person approves it, and it runs in the user's namespace.

The `CodeRunner` is provided from outside: the extension registers one when it is loaded in a notebook.
"""

from __future__ import annotations

from nbtool.argument_check import check_arguments
from nbtool.errors import BadUsage, ToolFailed
from nbtool.text import count_of, format_number
from nbtool.tools.approval import Policy
from nbtool.tools.builtin import builtin_tool
from nbtool.tools.tool_views import Rule
from nbtool.tools.toolset import Toolset, toolset_factory
from nbtool.tools.values.model_text import render, truncate
from nbtool.tools.values.named_parts import MultipartResult
from nbtool.tools.values.sanitize import strip_controls
from nbtool.toolsets.runner_registry import CodeResult, CodeRunner, get_code_runner

MAX_CODE_CHARS = 100_000
"""Maximum number of characters of code."""

MAX_OUTPUT_CHARS = 4_000
"""Maximum number of characters of the output sent to the model."""

MAX_VALUE_CHARS = 3_000
"""Maximum number of characters of the last expression's value sent to the model."""

MAX_FIGURES = 8
"""Maximum number of figures stored per run."""

RULES = """\
Python: run_python runs code in the user's own notebook, after the user has approved it, so write code that is short \
and easy to read. Names that you define stay; do not change the user's own names unless asked to. \
The last expression's value and figures are returned: do not print whole tables. `await` at the top level does not \
work."""

_RESULTS = Rule(
    "Rule/python/results",
    """\
The result of run_python is a variable with three parts, each of which can be passed to another tool as a reference:

    $VAR_REF{{run_python_1_result['value']}}       the value of the last expression, the object itself
    $VAR_REF{{run_python_1_result['output']}}      all that was printed, as text
    $VAR_REF{{run_python_1_result['figures'][0]}}  the first figure

Names that the code defines are in the notebook. Other code can use them; references cannot point to them until the user
exposes them.""",
    "how to pass on the result of run_python",
    "before you use the value, the output or a figure of run_python in another call",
)


@toolset_factory
@check_arguments
def notebook_python(runner: CodeRunner | None = None) -> Toolset:
    """Return the tool that runs Python in the notebook; it always asks for approval, under any policy.

    Raises:
        BadUsage: no runner is passed, and none is registered.
    """
    code_runner = runner or get_code_runner()
    if code_runner is None:
        raise BadUsage("There is no notebook to run Python in.", fix="Run `%load_ext nbtool` first, or pass a runner.")
    policy = Policy("ask_always", sensitive=True)
    return Toolset(
        "python",
        [builtin_tool(_PythonFunctions(code_runner).run_python, "nbtool.python", policy, needs_main_thread=True)],
        rules=RULES,
        on_demand=[_RESULTS],
    )


class _PythonFunctions:
    """The function of the tool."""

    def __init__(self, runner: CodeRunner) -> None:
        self._runner = runner

    def run_python(self, code: str) -> MultipartResult:
        """Run Python in the user's notebook. The user is asked first, and sees the code.

        Args:
            code: any number of statements; the value of the last one is returned if it is an expression.
        """
        if not code.strip():
            raise ToolFailed("There is no code to run.")
        if len(code) > MAX_CODE_CHARS:
            raise ToolFailed(
                f"The code has {count_of(len(code), 'character')}; up to {format_number(MAX_CODE_CHARS)} can be run."
            )
        result = self._runner(code)
        if result.error:
            printed = f"\nOutput before the error:\n{_output_text(result)}" if result.output else ""
            raise ToolFailed(f"{result.error}{printed}")
        return MultipartResult(
            _result_text(result), value=result.value, output=result.output, figures=list(result.figures[:MAX_FIGURES])
        )


def _result_text(result: CodeResult) -> str:
    """Return the outcome of the code as text for the model."""
    parts = [_output_text(result)] if result.output else []
    if result.has_value:
        parts.append(f"Value:\n{render(result.value, MAX_VALUE_CHARS).text}")
    parts += [f"Figure {number}: {figure}" for number, figure in enumerate(result.figures[:MAX_FIGURES])]
    if len(result.figures) > MAX_FIGURES:
        parts.append(f"[{MAX_FIGURES} of {count_of(len(result.figures), 'figure')}]")
    return "\n".join(parts) or "It ran. Nothing was printed, and the last statement has no value."


def _output_text(result: CodeResult) -> str:
    text = truncate(strip_controls(result.output), MAX_OUTPUT_CHARS)
    more = f"{count_of(result.omitted, 'more character')} {'was' if result.omitted == 1 else 'were'} printed"
    return f"{text.rstrip()}\n[{more}]" if result.omitted else text.rstrip()

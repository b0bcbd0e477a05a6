"""Python in the notebook: the model writes code, a person approves it, and it runs where the person's own code does.

What runs code is given from outside (`Runner`): loading the extension in a notebook offers one.
"""

from __future__ import annotations

from nbtool.errors import BadUsage, ToolFailed
from nbtool.tools.approval import Policy
from nbtool.tools.builtin import builtin_tool
from nbtool.tools.toolset import Rule, Toolset, toolset_factory
from nbtool.tools.values.describe import format_number
from nbtool.tools.values.multipart import MultipartResult
from nbtool.tools.values.render import render, truncate
from nbtool.tools.values.sanitize import strip_controls
from nbtool.toolsets.code_runner import CodeResult, CodeRunner, get_code_runner

MAX_CODE_CHARS = 100_000
"""Characters of code that are run."""

MAX_OUTPUT_CHARS = 4_000
"""Characters of what was printed that the model is shown."""

MAX_VALUE_CHARS = 3_000
"""Characters of the last expression's value that the model is shown."""

MAX_FIGURES = 8
"""Figures that are kept of one run."""

RULES = """\
Python: run_python runs code in the user's own notebook, after the user has approved it, so write code that is short \
and easy to read. Names that you define stay; leave the user's own names as they are unless you were asked to change \
them. The last expression's value comes back, and figures do: print no whole tables. `await` at the top level does not \
work."""

_RESULTS = Rule(
    "Rule/python/results",
    """\
The result of run_python is a variable of three parts, each of which can be passed to another tool as a reference:

    $VAR_REF{{run_python_1_result['value']}}       the value of the last expression, the object itself
    $VAR_REF{{run_python_1_result['output']}}      all that was printed, as text
    $VAR_REF{{run_python_1_result['figures'][0]}}  the first figure

Names that the code defined are in the notebook. Other code can use them; references cannot point to them until the user
exposes them.""",
    "how to pass on what run_python gave",
    "before you use the value, the output or a figure of run_python in another call",
)


@toolset_factory
def notebook_python(runner: CodeRunner | None = None) -> Toolset:
    """Give the tool that runs Python in the notebook; it always asks, also where everything else is approved.

    Raises:
        BadUsage: no runner is given, and none is offered.
    """
    code_runner = runner or get_code_runner()
    if code_runner is None:
        raise BadUsage("There is no notebook to run Python in.", fix="Run `%load_ext nbtool` first, or give a runner.")
    policy = Policy("ask_always", sensitive=True)
    return Toolset(
        "python",
        [builtin_tool(_PythonFunctions(code_runner).run_python, "nbtool.python", policy)],
        rules=RULES,
        on_demand=[_RESULTS],
    )


class _PythonFunctions:
    """The function behind the tool."""

    def __init__(self, runner: CodeRunner) -> None:
        self._runner = runner

    def run_python(self, code: str) -> MultipartResult:
        """Run Python in the user's notebook. The user is asked first, and sees the code.

        Args:
            code: any number of statements; the value of the last one comes back if it is an expression.
        """
        if not code.strip():
            raise ToolFailed("There is no code to run.")
        if len(code) > MAX_CODE_CHARS:
            raise ToolFailed(
                f"The code has {format_number(len(code))} characters; up to {format_number(MAX_CODE_CHARS)} are run."
            )
        result = self._runner(code)
        if result.error:
            printed = f"\nPrinted before:\n{_output_text(result)}" if result.output else ""
            raise ToolFailed(f"{result.error}{printed}")
        return MultipartResult(
            _result_text(result), value=result.value, output=result.output, figures=list(result.figures[:MAX_FIGURES])
        )


def _result_text(result: CodeResult) -> str:
    """Write for the model what came of the code."""
    parts = [_output_text(result)] if result.output else []
    if result.has_value:
        parts.append(f"Value:\n{render(result.value, MAX_VALUE_CHARS).text}")
    parts += [f"Figure {number}: {figure}" for number, figure in enumerate(result.figures[:MAX_FIGURES])]
    if len(result.figures) > MAX_FIGURES:
        parts.append(f"[{MAX_FIGURES} of {format_number(len(result.figures))} figures]")
    return "\n".join(parts) or "It ran. Nothing was printed, and the last statement has no value."


def _output_text(result: CodeResult) -> str:
    text = truncate(strip_controls(result.output), MAX_OUTPUT_CHARS)
    return (
        f"{text.rstrip()}\n[{format_number(result.omitted)} more characters were printed]"
        if result.omitted
        else text.rstrip()
    )

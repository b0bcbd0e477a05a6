"""Python in the notebook: the model writes code, a person approves it, and it runs where the person's own code does.

What runs code is given from outside (`Runner`): loading the extension in a notebook offers one.
"""

from __future__ import annotations

from nbtool.errors import BadUsage, ToolFailed
from nbtool.tools.approval import Policy
from nbtool.tools.builtin import made
from nbtool.tools.toolset import Rule, Toolset, factory
from nbtool.tools.values.describe import grouped
from nbtool.tools.values.multipart import Parts
from nbtool.tools.values.render import cut, render
from nbtool.tools.values.sanitize import plain_text
from nbtool.toolsets.code_runner import Ran, Runner, offered

MAX_CODE = 100_000
"""Characters of code that are run."""

MAX_OUTPUT = 4_000
"""Characters of what was printed that the model is shown."""

MAX_VALUE = 3_000
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


@factory
def notebook_python(runner: Runner | None = None) -> Toolset:
    """Give the tool that runs Python in the notebook; it always asks, also where everything else is approved.

    Raises:
        BadUsage: no runner is given, and none is offered.
    """
    chosen = runner or offered()
    if chosen is None:
        raise BadUsage("There is no notebook to run Python in.", fix="Run `%load_ext nbtool` first, or give a runner.")
    policy = Policy("ask_always", sensitive=True)
    return Toolset(
        "python", [made(_Functions(chosen).run_python, "nbtool.python", policy)], rules=RULES, on_demand=[_RESULTS]
    )


class _Functions:
    """The function behind the tool."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def run_python(self, code: str) -> Parts:
        """Run Python in the user's notebook. The user is asked first, and sees the code.

        Args:
            code: any number of statements; the value of the last one comes back if it is an expression.
        """
        if not code.strip():
            raise ToolFailed("There is no code to run.")
        if len(code) > MAX_CODE:
            raise ToolFailed(f"The code has {grouped(len(code))} characters; up to {grouped(MAX_CODE)} are run.")
        ran = self._runner(code)
        if ran.error:
            printed = f"\nPrinted before:\n{_printed(ran)}" if ran.output else ""
            raise ToolFailed(f"{ran.error}{printed}")
        return Parts(_told(ran), value=ran.value, output=ran.output, figures=list(ran.figures[:MAX_FIGURES]))


def _told(ran: Ran) -> str:
    """Write for the model what came of the code."""
    pieces = [_printed(ran)] if ran.output else []
    if ran.has_value:
        pieces.append(f"Value:\n{render(ran.value, MAX_VALUE).text}")
    pieces += [f"Figure {number}: {figure}" for number, figure in enumerate(ran.figures[:MAX_FIGURES])]
    if len(ran.figures) > MAX_FIGURES:
        pieces.append(f"[{MAX_FIGURES} of {grouped(len(ran.figures))} figures]")
    return "\n".join(pieces) or "It ran. Nothing was printed, and the last statement has no value."


def _printed(ran: Ran) -> str:
    text = cut(plain_text(ran.output), MAX_OUTPUT)
    return f"{text.rstrip()}\n[{grouped(ran.omitted)} more characters were printed]" if ran.omitted else text.rstrip()

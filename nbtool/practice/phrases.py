"""The texts of the practice model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence

from nbtool.practice.request import REFERENCE, OfferedTool, ParsedRequest, ToolOutcome
from nbtool.text import count_of, shorten

NOBODY_ASKED = "Nobody could be asked"
"""How the text of a call begins that needed an approval where nobody could give one."""

MAX_RESULT_CHARS = 1_200
"""Maximum number of characters of a result in an answer."""
MAX_ARGUMENT_CHARS = 120
"""Maximum number of characters of a call's arguments in an answer."""

SELF_DESCRIPTION = "I am nbtool's embedded practice model, **not a language model**: I follow a few fixed rules."
QUOTED_REFERENCE = re.compile(rf'"{REFERENCE.pattern}"')
REAL_MODEL_HINT = (
    "For an answer that is thought about, name a real model: `%%chat -m openai:gpt-6.1-terra` with a key in"
    " `OPENAI_API_KEY`, or a local server such as Ollama."
)
THINKING_NO_TOOL = "The prompt names no tool that I was offered. I say what I am."
THINKING_MISSING_ARGUMENT = "The prompt names a tool, but not everything that the tool needs. I ask."
THINKING_VALUE = (
    "The answer is to be JSON of a given form. I fill it from the words of the prompt, and where they"
    " say nothing with the plainest value."
)
THINKING_CODE = "The prompt asks for code. I write the Python that it contains as a cell."
UNDERSTOOD = (
    (
        "a tool that the prompt names",
        "``Use &`price` for AAPL.`` calls it; its arguments are words of the prompt, or `ticker=AAPL`",
    ),
    ("several tools", "one after another where the prompt says *then*, else together"),
    ("a variable", "``Describe $`df` with &`describe`.`` passes it by reference"),
    (
        "code",
        "``Write a cell that runs `df.head()`.`` answers with that Python in a block that *Insert* puts into a cell",
    ),
    ("a form of the answer", "`--as` with a type: fields are filled from the words of the prompt"),
    ("an image", "`-m practice:image` draws a pattern of the prompt"),
)
"""What a prompt may ask of the practice model, and what comes of it; docs/practice.md has the same table."""
THINKING_RESULTS = "The results are here. I put them together."


def thinking_about_search(names: Sequence[str]) -> str:
    """Return the thinking before the definitions of listed tools are asked for."""
    return f"The prompt names {_join_names(names)}, which I know by name only. I ask for what it takes."


def thinking_about_calls(names: Sequence[str], outcomes: Sequence[ToolOutcome]) -> str:
    """Return the thinking before the next calls."""
    name_list = _join_names(dict.fromkeys(names))
    if outcomes:
        return f"The first results are here. The prompt goes on with {name_list}."
    return f"The prompt names {name_list}. I take the arguments from its words."


def introduction(request: ParsedRequest) -> str:
    """Return the introduction: what this model is, its tools, and how to use a real model."""
    hint = f" Name one in the prompt and I call it: ``Use &`{request.tools[0].name}` …``" if request.tools else ""
    tools = _join_names(tool.name for tool in request.tools) or "none"
    variables = _join_names(request.variables) or "none"
    attachments = "".join(f"\n- I was shown: {attachment}." for attachment in request.attachments)
    tool_list = f"- Tools I was offered: {tools}.{hint}"
    understood = "\n".join(f"- {what}: {example}." for what, example in UNDERSTOOD)
    known = f"{tool_list}\n- Variables I know of: {variables}.{attachments}"
    return f"{SELF_DESCRIPTION}\n\n{known}\n\nWhat I understand:\n\n{understood}\n\n{REAL_MODEL_HINT}"


def code_answer(cell: str) -> str:
    """Return an answer with a cell in a fence, which a page offers to insert."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", cell)), default=0))
    own = "I write no code of my own: for a correction name a model with a key (`-m`)."
    return f"{fence}python\n{cell}\n{fence}\n\n{SELF_DESCRIPTION} {own}"


def missing_argument(tool: OfferedTool, parameter: str) -> str:
    """Return the question for a missing argument."""
    schema = (tool.parameters.get("properties") or {}).get(parameter) or {}
    kind = (
        "one of " + _join_names(map(str, schema["enum"])) if "enum" in schema else f"type {schema.get('type', 'any')}"
    )
    description = str(schema.get("description") or "").strip().rstrip(".")
    return (
        f"To call `{tool.name}` I need `{parameter}` ({kind}{'; ' if description else ''}{description})."
        f" What shall it be?"
        f" Write it as `{parameter}=…`: I am a practice model, not a language model, and do not guess."
    )


def results(
    outcomes: Sequence[ToolOutcome], has_failed: Callable[[ToolOutcome], bool], skipped: Sequence[str] = ()
) -> str:
    """Return an answer from the results: a sentence for one, a table for several; failures are quoted."""
    succeeded = [outcome for outcome in outcomes if not has_failed(outcome)]
    short_results = [
        outcome for outcome in succeeded if len(outcome.result_text) <= 80 and "\n" not in outcome.result_text
    ]
    paragraphs: list[str] = []
    if len(short_results) == 1:
        text = short_results[0].result_text
        end = "" if text.endswith((".", "!", "?")) else "."
        paragraphs.append(f"{_describe_call(short_results[0])} gives **{text}**{end}")
    elif short_results:
        paragraphs.append(
            "\n".join(
                [
                    "| call | result |",
                    "|---|---|",
                    *(_table_row(_describe_call(outcome), outcome.result_text) for outcome in short_results),
                ]
            )
        )
    paragraphs += [
        f"{_describe_call(outcome)} gives:\n\n{_code_block(outcome.result_text)}"
        for outcome in succeeded
        if outcome not in short_results
    ]
    paragraphs += [
        f"{_describe_call(outcome)} gave no result: {shorten(_said_of_failure(outcome), MAX_RESULT_CHARS)}"
        for outcome in outcomes
        if has_failed(outcome)
    ]
    paragraphs += [f"So I did not go on to {_join_names(skipped)}."] if skipped else []
    return "\n\n".join(paragraphs)


def _said_of_failure(outcome: ToolOutcome) -> str:
    """Return the text of a call that failed; where nobody could be asked, without the reason, which the cell shows."""
    text = outcome.result_text
    return text.partition(" Reason: ")[0] if text.startswith(NOBODY_ASKED) else text


def _join_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table_row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _describe_call(outcome: ToolOutcome) -> str:
    """Return a call's tool and arguments; those that the user changed are not known."""
    if outcome.is_edited:
        return f"`{outcome.name}`, with the arguments that you changed,"
    try:
        values = json.loads(outcome.arguments).values()
    except (ValueError, AttributeError, RecursionError):
        return f"`{outcome.name}`"
    arguments = QUOTED_REFERENCE.sub(r"\1", ", ".join(json.dumps(value, ensure_ascii=False) for value in values))
    return f"`{outcome.name}({shorten(arguments.replace('`', ''), MAX_ARGUMENT_CHARS)})`"


def _code_block(text: str) -> str:
    omitted = (
        f"\n… ({count_of(len(text) - MAX_RESULT_CHARS, 'more character')})" if len(text) > MAX_RESULT_CHARS else ""
    )
    return f"```text\n{text[:MAX_RESULT_CHARS].replace('```', '` ` `')}{omitted}\n```"

"""A tool with which a model asks the person a question, and waits for the answer.

The question is a form on a card, in the same queue as approvals: with choices, with free text, or with both. Nobody
but a person answers it: an `auto` approver does not, and where nobody is there the model is answered that.
"""

from __future__ import annotations

from typing import Any

from nbtool.errors import ToolFailed
from nbtool.tools.approval import Policy
from nbtool.tools.builtin import builtin_tool
from nbtool.tools.calls.runtime import current_call
from nbtool.tools.mcp.questions.elicitation import ask_form, form_tool
from nbtool.tools.mcp.questions.form import InvalidForm, form_parameters
from nbtool.tools.toolset import Toolset, toolset_factory
from nbtool.tools.values.sanitize import strip_controls

MAX_QUESTION = 2_000
"""Maximum length of a question, in characters."""

MAX_CHOICES = 20
"""Maximum number of choices of a question."""

FORM = "answer"
"""The name of the call that is the form; the person reads `The model asks` instead."""

INTRODUCTION = "The model asks you. Your answer goes to the model."
RULES = """\
ask_person asks the user a question in the middle of your work and waits for the answer. Use it where the answer \
changes what you do next, and not for what you can find out; ask one thing at a time, with choices if there are few."""


@toolset_factory
def person() -> Toolset:
    """Return the tool that asks the person."""
    tool = builtin_tool(ask_person, "nbtool.person", Policy("auto"), stores_result=False, is_value_free=True)
    return Toolset("person", [tool], rules=RULES)


async def ask_person(question: str, choices: list[str] | None = None, allow_text: bool = True) -> str:
    """Ask the user a question, and wait for the answer.

    Args:
        question: in plain words.
        choices: the answers to choose from.
        allow_text: whether the user may write another answer than one of the choices.
    """
    text = strip_controls(question).strip()
    if not text or len(text) > MAX_QUESTION:
        raise ToolFailed(f"A question has 1 to {MAX_QUESTION:,} characters, not {len(text):,}.", fix="Ask one thing.")
    try:
        parameters = form_parameters(_schema(choices or [], allow_text=allow_text or not choices))
    except InvalidForm as problem:
        raise ToolFailed(f"The question cannot be shown: {problem}.", fix="Use short choices.") from None
    quoted = "\n".join(f"> {line}" for line in text.splitlines())
    form = form_tool("The model", FORM, parameters, f"{INTRODUCTION}\n\n{quoted}", _return_values)
    record = await ask_form(current_call(), form, parameters)
    if record.status != "ok":
        raise ToolFailed(f"The user did not answer: {record.reason}")
    return _answer(record.result)


def _schema(choices: list[str], *, allow_text: bool) -> dict[str, Any]:
    """Return the form of a question.

    Raises:
        ToolFailed: there are too many choices, or two are the same.
    """
    if len(choices) > MAX_CHOICES:
        raise ToolFailed(f"A question has up to {MAX_CHOICES} choices, not {len(choices):,}.", fix="Leave some out.")
    if len(set(choices)) < len(choices):
        raise ToolFailed("Two of the choices are the same.", fix="Write each once.")
    fields: dict[str, Any] = {}
    if choices:
        fields["choice"] = {"type": "string", "title": "Answer", "enum": choices}
    if allow_text:
        title = "Another answer, or a remark" if choices else "Answer"
        fields["text"] = {"type": "string", "title": title, "minLength": 1}
    required = [] if choices and allow_text else [next(iter(fields))]
    return {"type": "object", "properties": fields, "required": required, "minProperties": 1}


def _answer(values: dict[str, Any]) -> str:
    """Return the answer as the model reads it, a choice above a text."""
    choice, text = values.get("choice"), str(values.get("text") or "").strip()
    return "\n\n".join(filter(None, (choice, text)))


async def _return_values(values: dict[str, Any]) -> dict[str, Any]:
    return values

"""Fill in the form of a server by lines of input, where there is no page."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from nbtool.blocks.confusables import escape_confusables
from nbtool.blocks.question import FORM_SUMMARY, SIGN_IN_SUMMARY, format_remarks, notice_text
from nbtool.blocks.sanitize import one_line
from nbtool.sign_in import sign_in_page
from nbtool.tools.approval import Approved, Decision, Question

SEND = "Send it? [y = yes, or type anything else for no] "
SIGN_IN = "Sign in there? [y = yes, or type anything else for no] "
MAX_LABEL = 200


def read_line(prompt: str) -> str:
    """Read a line; an interrupt begins a new one, since a terminal shows it as `^C` within the line.

    Raises:
        KeyboardInterrupt: the person stops the turn.
        EOFError: the input was closed.
    """
    try:
        return input(prompt).strip()
    except KeyboardInterrupt:
        if sys.stdout.isatty():
            print()  # noqa: T201 - see above
        raise


def fill_in_by_input(question: Question) -> Decision:
    """Ask for each field in a line, which may be left empty, and then whether to send them; only a plain yes sends."""
    server = one_line(question.display_name, MAX_LABEL)
    page = sign_in_page(question.schema, is_form=question.is_form)
    summary = f"{SIGN_IN_SUMMARY.format(tool=server)}\n{one_line(page, len(page))}" if page else ""
    head = [format_remarks(question.again, question.notes), notice_text(question.notice)]
    print("\n".join(filter(None, [*head, summary or FORM_SUMMARY.format(tool=server)])))  # noqa: T201 - the question
    values = dict(question.arguments)
    try:
        for name, schema in question.schema.get("properties", {}).items():
            if line := read_line(_label(name, schema, values.get(name))):
                values[name] = _value(line, schema)
        answer = read_line(SIGN_IN if page else SEND).lower()
    except EOFError:
        return question.denial("The input was closed before an answer was entered.")
    return Approved(values) if answer in ("y", "yes") else question.denial("")


def _label(name: str, schema: Mapping[str, Any], value: Any) -> str:
    """Return the field's name, what it takes, and what it has."""
    choices = schema.get("enum") or schema.get("items", {}).get("enum")
    kind = " | ".join(choices) if choices else {"string": "text", "boolean": "yes or no"}.get(schema["type"])
    about = schema.get("description") or schema.get("title") or ""
    shown = "" if value in (None, "", []) else f"[{json.dumps(value, ensure_ascii=False)}]"
    text = " ".join(filter(None, (name, f"({kind or schema['type']})", about)))
    parts = [one_line(escape_confusables(text), MAX_LABEL), one_line(shown, MAX_LABEL)]
    return f"{' '.join(filter(None, parts))}: "


def _value(line: str, schema: Mapping[str, Any]) -> Any:
    """Return what was typed as a value of the field; what is none is refused when it is checked."""
    match schema["type"]:
        case "string":
            return line
        case "array":
            return [part.strip() for part in line.split(",")]
        case "boolean" if line.lower() in ("y", "yes", "true", "n", "no", "false"):
            return line.lower() in ("y", "yes", "true")
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line

"""What the practice model says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence

from nbtool.practice.request import REFERENCE, Ask, Done, Offer
from nbtool.shorten import shorten

MAX_SHOWN = 1_200
"""Characters of one result that an answer repeats."""
MAX_ARGUMENTS = 120
"""Characters of a call's arguments that an answer repeats."""

WHO = "I am nbtool's embedded practice model, **not a language model**: I follow a few fixed rules."
QUOTED_REFERENCE = re.compile(rf'"{REFERENCE.pattern}"')
HOW = (
    "For an answer that is thought about, name a real model: `%%chat -m openai:gpt-5-mini` with a key in"
    " `OPENAI_API_KEY`, or a local server such as Ollama."
)
THINKING_OF_NOTHING = "The prompt names no tool that I was offered. I say what I am."
THINKING_OF_A_GAP = "The prompt names a tool, but not everything that the tool needs. I ask."
THINKING_OF_A_VALUE = (
    "The answer is to be JSON of a given form. I fill it from the words of the prompt, and where they"
    " say nothing with the plainest value."
)
THINKING_OF_RESULTS = "The results are here. I put them together."


def thinking_of(names: Sequence[str], done: Sequence[Done]) -> str:
    """Say which calls come next."""
    listed = _listed(dict.fromkeys(names))
    if done:
        return f"The first results are here. The prompt goes on with {listed}."
    return f"The prompt names {listed}. I take the arguments from its words."


def about(ask: Ask) -> str:
    """Say what answers here, what it was offered, and how to get more."""
    hint = f" Name one in the prompt and I call it: ``Use &`{ask.tools[0].name}` …``" if ask.tools else ""
    tools = _listed(offer.name for offer in ask.tools) or "none"
    variables = _listed(ask.known) or "none"
    shown = "".join(f"\n- I was shown: {what}." for what in ask.attached)
    return f"{WHO}\n\n- Tools I was offered: {tools}.{hint}\n- Variables I know of: {variables}.{shown}\n\n{HOW}"


def missing(offer: Offer, parameter: str) -> str:
    """Ask the person for what the prompt does not say."""
    schema = (offer.parameters.get("properties") or {}).get(parameter) or {}
    kind = "one of " + _listed(map(str, schema["enum"])) if "enum" in schema else f"type {schema.get('type', 'any')}"
    said = str(schema.get("description") or "").strip().rstrip(".")
    return (
        f"To call `{offer.name}` I need `{parameter}` ({kind}{'; ' if said else ''}{said}). What shall it be?"
        f" Write it as `{parameter}=…`: I am a practice model, not a language model, and do not guess."
    )


def results(done: Sequence[Done], has_failed: Callable[[Done], bool], unmade: Sequence[str] = ()) -> str:
    """Answer from the results: a sentence for one, a table for several; what failed is said as it was told."""
    good = [one for one in done if not has_failed(one)]
    short = [one for one in good if len(one.shown) <= 80 and "\n" not in one.shown]
    said: list[str] = []
    if len(short) == 1:
        said.append(f"{_call(short[0])} gives **{short[0].shown}**.")
    elif short:
        said.append("\n".join(["| call | result |", "|---|---|", *(_row(_call(one), one.shown) for one in short)]))
    said += [f"{_call(one)} gives:\n\n{_fenced(one.shown)}" for one in good if one not in short]
    said += [f"{_call(one)} gave no result: {shorten(one.shown, MAX_SHOWN)}" for one in done if has_failed(one)]
    said += [f"So I did not go on to {_listed(unmade)}."] if unmade else []
    return "\n\n".join(said)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _call(done: Done) -> str:
    """Name a call by its tool and arguments."""
    try:
        values = json.loads(done.arguments).values()
    except (ValueError, AttributeError):
        return f"`{done.name}`"
    said = QUOTED_REFERENCE.sub(r"\1", ", ".join(json.dumps(value, ensure_ascii=False) for value in values))
    return f"`{done.name}({shorten(said.replace('`', ''), MAX_ARGUMENTS)})`"


def _fenced(text: str) -> str:
    more = f"\n… ({len(text) - MAX_SHOWN} more characters)" if len(text) > MAX_SHOWN else ""
    return f"```text\n{text[:MAX_SHOWN].replace('```', '` ` `')}{more}\n```"

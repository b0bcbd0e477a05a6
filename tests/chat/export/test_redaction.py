"""What `Privacy` keeps out of the journal is in no exported code either, in whatever part of a call it was."""

from __future__ import annotations

import re
from typing import Any

import pytest

from nbtool import Approved, Released, tool
from nbtool.plugins.privacy import Privacy
from nbtool.testing import ScriptedApprover, call
from nbtool.toolsets.python import notebook_python
from nbtool.toolsets.runner_registry import CodeResult
from tests.chat.export.writing import export, make_chat, note

EMAIL, CARD, NAME = "ada.lovelace@example.org", "4111 1111 1111 1111", "Grace Hopper"


@tool(run="auto")
def look(who: str, card: int = 0, more: Any = None) -> str:
    "Look somebody up."
    return f"{who} {card} {more}"


@tool(run="auto")
def find_ada() -> str:
    "Look up ada.lovelace@example.org."
    return "found"


@tool
def ask(who: str) -> str:
    "Ask somebody."
    return who


@tool(run="auto", result="always")
def check(who: str) -> str:
    "Check somebody."
    return who


TOOLS = {"look": look, "find_ada": find_ada, "ask": ask, "check": check, "note": note}


def ways() -> dict[str, dict[str, Any]]:
    """Return, for each part of a turn, what makes a turn that has a private value there."""
    edited = ScriptedApprover([Approved({"who": EMAIL})])
    released = ScriptedApprover([Released(f"to {EMAIL}")])
    uses = call("note", text="$VAR_REF{{check_1_result}}")
    return {
        "the prompt": {"replies": [call("look", who="x")], "says": f"Find {EMAIL}, {NAME}"},
        "an argument": {"replies": [call("look", who=f"{NAME}, {EMAIL}")]},
        "a number": {"replies": [call("look", who="x", card=int(CARD.replace(" ", "")))]},
        "a nested argument": {"replies": [call("look", who="x", more={NAME: [EMAIL, {"card": CARD}]})]},
        "edited arguments": {"replies": [call("ask", who="x")], "approver": edited},
        "an edited result": {"replies": [call("check", who="x"), uses], "approver": released},
        "code of the model": {
            "replies": [call("run_python", code=f"print({EMAIL!r}, {CARD!r})")],
            "tools": [notebook_python(lambda _: CodeResult("", False, None))],
            "approver": ScriptedApprover([Approved()]),
        },
        "a definition": {"replies": [call("find_ada")]},
        "arguments that cannot be written": {
            "replies": [call("look", who=EMAIL)],
            "without": ["look"],
        },
        "no part": {"replies": [call("look", who="x")]},
    }


def has_private(text: str) -> bool:
    letters = re.sub(r"[\W_]+", "", text).lower()
    return any(re.sub(r"[\W_]+", "", value).lower() in letters for value in (EMAIL, CARD, NAME))


@pytest.mark.promise("masked")
@pytest.mark.parametrize("name", ways())
def test_exported_code_has_no_private_value(name: str) -> None:
    how = {"tools": [*TOOLS.values()], "without": [], **ways()[name]}
    without = how.pop("without")
    notebook = {own: function for own, function in TOOLS.items() if own not in without}
    chat, turn = make_chat(notebook, *how.pop("replies"), **how)

    clear = export(chat, turn, notebook=notebook).text
    code = export(chat, turn, notebook=notebook, plugins=[Privacy(names=[NAME])]).text

    assert has_private(clear) == (name != "no part")
    assert not has_private(code)
    assert ("# Private values are replaced by" in code) == (name not in ("no part", "a definition"))
    compile(code, "<code>", "exec")

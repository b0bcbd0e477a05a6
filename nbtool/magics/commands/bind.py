"""`%chat bind`: a remembered result gets a name in the notebook."""

from __future__ import annotations

from nbtool.errors import BadUsage
from nbtool.magics.bind import bind_reference
from nbtool.magics.command_context import Command, Here

REPLACE = "--replace"


def bind(here: Here, words: list[str]) -> str:
    """Bind a result of a call, the object itself: `bind REFERENCE [NAME] [--replace]`."""
    match [word for word in words if word != REPLACE]:
        case [reference, *name] if len(name) < 2:
            names = here.kernel.shell.user_ns
            bound = bind_reference(here.chat, reference, names, *name, replace=REPLACE in words)
            return f"{bound} is bound in the notebook."
        case _:
            raise BadUsage("%chat bind takes a reference and perhaps a name.", fix="`%chat bind price_1_result prices`")


COMMANDS: dict[str, Command] = {"bind": bind}

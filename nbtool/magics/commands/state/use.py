"""Which chat cells without `-c` use: `use`, and `open` with the name of a chat of this kernel."""

from __future__ import annotations

from nbtool.errors import BadUsage
from nbtool.magics.commands.context import CommandContext


def use(context: CommandContext, args: list[str]) -> str:
    """Use another chat in cells without `-c`: `use [NAME]`.

    NAME is a conversation of this kernel, or a `Chat` of the notebook.
    """
    match args:
        case []:
            return f"Cells without `-c` use the chat {context.kernel.current!r}."
        case [name]:
            context.kernel.use(name)
            return f"Cells without `-c` now use the chat {name!r} ({context.kernel.chat(name).model.name})."
        case _:
            raise BadUsage("%chat open takes the name of a chat.", fix="`%chat open NAME`")

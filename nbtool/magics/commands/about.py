"""What the chat is made of: `status`, `models`, `tools`, `vars`."""

from __future__ import annotations

from nbtool.blocks.plain import one_line
from nbtool.magics.commands.here import Command, Here, table
from nbtool.settings import home


def status(here: Here, _: list[str]) -> str:
    """Say what the chat is made of, and why."""
    chat = here.chat
    turns = [node.turn for node in chat.tree.line if node.turn]
    return table(
        ("model", f"{chat.model.name} ({chat.model.why})"),
        ("tools", ", ".join(chat.tools.tools()) or "none"),
        ("variables", ", ".join(entry.name for entry in chat.exposed()) or "none"),
        ("turns", f"{len(turns)} on the active line"),
        ("tokens", f"{sum(t.usage.input_tokens for t in turns)} in, {sum(t.usage.output_tokens for t in turns)} out"),
        ("history", chat.history),
        ("journal", str(home() / "journal.sqlite")),
    )


def models(here: Here, _: list[str]) -> str:
    """List what the chat's provider offers."""
    return "\n".join(here.chat.model.offered())


def tools(here: Here, _: list[str]) -> str:
    """List the tools, with when they ask."""
    offered = here.chat.tools.tools().values()
    rows = [(tool.name, f"{tool.policy.run}; {one_line(tool.description, 80)}") for tool in offered]
    return table(*rows) if rows else "No tools. Expose a function with `%%chat -t NAME` or &`name` in the prompt."


def variables(here: Here, _: list[str]) -> str:
    """List the exposed variables as the model is told of them."""
    rows = [(entry.name, here.chat.variables.describe(entry.name)) for entry in here.chat.exposed()]
    return table(*rows) if rows else "No variables. Expose one with `%%chat -v NAME` or $`name` in the prompt."


COMMANDS: dict[str, Command] = {"status": status, "models": models, "tools": tools, "vars": variables}

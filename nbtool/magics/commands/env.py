"""What the nearest `.env` names, and whether it may: `env`."""

from __future__ import annotations

from nbtool.errors import BadUsage
from nbtool.magics.command_context import Command, CommandContext
from nbtool.wire.providers import env_consent
from nbtool.wire.providers.credentials import find_env_file, shown_path


def env(_: CommandContext, words: list[str]) -> str:
    """Say whether the nearest .env may name models and addresses; `env allow` lets it, `env forget` takes that back."""
    values, path = find_env_file()
    if not path:
        return "No .env in this folder or above it."
    match words:
        case []:
            state = "allowed" if env_consent.is_allowed() else "not allowed"
            names = ", ".join(sorted(values)) or "nothing"
            return f"{shown_path(path)} sets {names}; to name a model or an address it is {state}."
        case ["allow"]:
            env_consent.allow()
            return f"{shown_path(path)} may name models and addresses, until it changes."
        case ["forget"]:
            env_consent.forget()
            return f"{shown_path(path)} may not name models and addresses."
    raise BadUsage("%chat env takes nothing, allow or forget.")


COMMANDS: dict[str, Command] = {"env": env}

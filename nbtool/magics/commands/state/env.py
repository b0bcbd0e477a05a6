"""The command `env`: whether the nearest `.env` may select models and addresses; allow or revoke it."""

from __future__ import annotations

from nbtool.errors import BadUsage
from nbtool.magics.commands.context import CommandContext
from nbtool.wire.providers import env_consent
from nbtool.wire.providers.env_file import find_env_file, shown_path


def env(_: CommandContext, args: list[str]) -> str:
    """Show whether .env may select models: `env [allow|forget]`.

    And addresses of servers; `env allow` allows the nearest .env, `env forget` revokes that.
    """
    values, path = find_env_file()
    if not path:
        return "There is no .env in this folder or its parents."
    match args:
        case []:
            state = "allowed" if env_consent.is_allowed() else "not allowed"
            names = ", ".join(sorted(values)) or "nothing"
            return f"{shown_path(path)} sets {names}; it is {state} to select a model or an address."
        case ["allow"]:
            env_consent.allow()
            return f"{shown_path(path)} may select models and addresses until it changes."
        case ["forget"]:
            env_consent.forget()
            return f"{shown_path(path)} may not select models and addresses."
    raise BadUsage("%chat env takes no arguments, `allow` or `forget`.")

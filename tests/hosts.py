"""Two servers as two providers, `alpha` and `beta`, each with a key of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from nbtool.settings import data_dir
from nbtool.wire.providers.providers_toml import SETTINGS_FILE
from tests.chaos import ChaosServer, finish, head, serve, text

ANSWER = (head(), text("Hello"), finish())


@dataclass(frozen=True)
class TwoHosts:
    """The servers, and the environment in which their keys are."""

    alpha: ChaosServer
    beta: ChaosServer
    environment: pytest.MonkeyPatch

    def set_keys(self, *names: str) -> None:
        """Let exactly these providers have a key."""
        for name in ("alpha", "beta"):
            if name in names:
                self.environment.setenv(f"{name.upper()}_KEY", f"key-of-{name}")
            else:
                self.environment.delenv(f"{name.upper()}_KEY", raising=False)

    @property
    def asked(self) -> tuple[int, int]:
        """How many prompts each server got."""
        return len(prompts_of(self.alpha)), len(prompts_of(self.beta))


def prompts_of(server: ChaosServer) -> list[list[str]]:
    """Return the texts of the messages of each request."""
    return [
        [str(message["content"]) for message in request.json["messages"] if message["role"] != "system"]
        for request in server.requests
        if request.method == "POST"
    ]


def netloc(server: ChaosServer) -> str:
    """Return the host of a server as nbtool names it."""
    return server.url.split("/")[2]


@contextmanager
def two_hosts(environment: pytest.MonkeyPatch) -> Iterator[TwoHosts]:
    """Run both servers."""
    with serve(*ANSWER) as alpha, serve(*ANSWER) as beta:
        tables = (
            f'[{name}]\nbase_url = "{server.url}"\nkeys = ["{name.upper()}_KEY"]\ndefault_model = "m"\nwire = "chat"\n'
            for name, server in (("alpha", alpha), ("beta", beta))
        )
        (data_dir() / SETTINGS_FILE).write_text("\n".join(tables), encoding="utf-8")
        hosts = TwoHosts(alpha, beta, environment)
        hosts.set_keys("alpha", "beta")
        yield hosts

"""The simulated bank, mailbox and so on of a suite: a server on a local connection, as real ones are.

So nbtool compares the functions that ask the server before each call, and not what they act on.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Client, Connection, Listener
from types import TracebackType
from typing import Any, Self

from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool with its arguments."""

    tool: str
    arguments: Mapping[str, Any]


def _plain(value: Any) -> Any:
    """Return a result as a server's client does: records are dicts, of which a reference can select a field."""
    if isinstance(value, BaseModel):
        return _plain(value.model_dump())
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


class World:
    """The environment of one run after another, the calls that ran in it, each also if it failed, and their results."""

    def __init__(self, suite: Any) -> None:
        self._functions = {function.name: function for function in suite.tools}
        self._listener = Listener()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.env: Any = None
        self.ran: list[Call] = []
        self.results: list[Any] = []

    @property
    def address(self) -> Any:
        """Where functions connect."""
        return self._listener.address

    def begin(self, env: Any) -> None:
        """Begin a run with an environment."""
        self.env, self.ran, self.results = env, [], []

    def run(self, call: Call) -> Any:
        """Run a call in the environment; raises what its function raises."""
        self.ran.append(call)
        function = self._functions[call.tool]
        checked = function.parameters.model_validate(dict(call.arguments)).model_dump()
        parts = {name: part.extract_dep_from_env(self.env) for name, part in function.dependencies.items()}
        self.results.append(_plain(function.run(**checked, **parts)))
        return self.results[-1]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with Client(self.address) as connection:
            connection.send(None)
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        is_open = True
        while is_open:
            with self._listener.accept() as connection:
                is_open = self._answer(connection)

    def _answer(self, connection: Connection) -> bool:
        request = connection.recv()
        if request is None:
            return False
        try:
            connection.send((True, self.run(Call(*request))))
        except Exception as error:  # noqa: BLE001 - it is raised where the call was made
            connection.send((False, error))
        return True

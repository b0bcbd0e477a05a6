"""Keys that expire: one that does not come in time, one that was replaced meanwhile, and one that a list refuses."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat
from nbtool.errors import MissingKey
from nbtool.wire.transport.request.expiring_keys import MAX_KEY, key_command_source, key_function_source
from tests.chaos import serve_each, whole

KEY = "issued-canary-0123456789"


def test_a_key_that_does_not_come_in_time_is_an_error() -> None:
    async def login() -> str:
        await asyncio.Event().wait()
        return "never"

    with pytest.raises(MissingKey, match=r"login returned no key within 0\.01 s"):
        asyncio.run(replace(key_function_source(login), fetch_seconds=0.01).key())


class BrokenToken:
    """Raises where the key is read."""

    expires_on = None

    @property
    def token(self) -> str:
        raise ValueError(KEY)


def raise_key() -> str:
    raise ValueError(KEY)


@pytest.mark.promise("no-secret-told")
@pytest.mark.parametrize(
    "function",
    [BrokenToken, raise_key, lambda: f"{KEY}\r\nX: 1", lambda: (KEY, 1, 2), lambda: KEY.encode(), lambda: {"a": KEY}],
)
def test_neither_the_error_of_a_wrong_key_nor_its_frames_contain_the_key(function: Callable[[], Any]) -> None:
    with pytest.raises(MissingKey) as caught:
        asyncio.run(key_function_source(function).key())
    frames = [dict(frame.f_locals) for frame, _ in traceback.walk_tb(caught.tb.tb_next)]

    assert len(frames) >= 2
    assert KEY not in f"{caught.value} {caught.value!r} {frames!r}"
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_a_refused_key_that_was_replaced_already_is_not_fetched_again() -> None:
    numbers = count(1)
    source = key_function_source(lambda: (f"issued-key-{next(numbers)}", 9e9))

    async def refuse_twice() -> list[str]:
        refused = await source.key()
        source.discard(refused)
        replaced = await source.key()
        source.discard(refused)
        return [key.get_secret_value() for key in (refused, replaced, await source.key())]

    assert asyncio.run(refuse_twice()) == ["issued-key-1", "issued-key-2", "issued-key-2"]


def test_a_key_that_the_list_of_models_refuses_is_fetched_again_once() -> None:
    numbers = count(1)
    with serve_each([whole(401, {})], [whole(200, {"data": [{"id": "one"}]})]) as server:
        chat = Chat("m", base_url=server.url, api_key=lambda: (f"issued-key-{next(numbers)}", 9e9))
        listed = chat.model.list_models()

    assert listed == ["one"]
    sent = [request.headers["authorization"] for request in server.requests]
    assert sent == ["Bearer issued-key-1", "Bearer issued-key-2"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a named pipe and a shell")
@pytest.mark.parametrize(
    ("script", "key"), [("cat {pipe} & echo key-1", "key-1"), ("echo key-2; cat {pipe} &", "key-2")]
)
def test_a_program_that_leaves_another_one_running_gives_its_key_when_it_ends(
    tmp_path: Path, script: str, key: str
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    source = key_command_source(("sh", "-c", script.format(pipe=pipe)))

    issued = asyncio.run(source.key())

    assert issued.get_secret_value() == key
    pipe.write_text("")  # the one that still runs ends only now: without a reader this would wait


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_a_program_that_prints_too_much_and_runs_on_is_ended(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = (
        f"import os, signal; open({str(pid)!r}, 'w').write(str(os.getpid())); print('k' * {MAX_KEY + 1}, flush=True)"
    )
    source = key_command_source((sys.executable, "-c", f"{script}; signal.pause()"))

    with pytest.raises(MissingKey, match="printed more than"):
        asyncio.run(source.key())

    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)

"""Random sequences of honest and hostile clients of one served notebook: what runs was approved, and runs once."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from nbtool import Approved, Chat, Denied
from nbtool.errors import ApprovalError
from tests.mcp_server.clients import ListView, connect, serve

STEPS = 12
CLIENTS = ("one", "two", "three")
SECONDS = 60
MODES = ("approve", "approve", "deny", "give up", "both at once", "forge")


@dataclass
class Person:
    """Decides the calls by their amounts, and nothing else; says when a question that nobody will answer is there."""

    approved: set[int] = field(default_factory=set)
    raced: set[int] = field(default_factory=set)
    given_up: dict[int, Callable[[], object]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def watch(self, chat: Chat) -> Chat:
        chat.approvals.add_listener(lambda change: self.decide(chat, change))
        return chat

    def decide(self, chat: Chat, change: Any) -> None:
        if change.kind != "asked":
            return
        amount = change.question.arguments.get("amount")
        with self.lock:
            is_approved, notify = amount in self.approved | self.raced, self.given_up.pop(amount, None)
        if notify:
            notify()
        if not notify or is_approved:
            given = (chat, change.question.digest, Approved() if is_approved else Denied("no"))
            threading.Thread(target=self.click, args=given).start()

    @staticmethod
    def click(chat: Chat, digest: str, decision: Any) -> None:
        with suppress(ApprovalError):  # the client gave up at that moment
            chat.approvals.decide(digest, decision, by="button")


@dataclass
class Sequence:
    """Steps of clients against one server; `paid` is what ran."""

    generator: random.Random
    person: Person = field(default_factory=Person)
    paid: list[int] = field(default_factory=list)
    foreign: int = 0

    def make_chat(self) -> Chat:
        def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return f"paid {amount}"

        return self.person.watch(Chat(tools=[pay]))

    async def run(self) -> Any:
        with serve(self.make_chat, ListView()) as server:
            await asyncio.gather(*(self._use(server, name) for name in CLIENTS))
            await self._give_up(server, stops=True)
            assert {client.waiting for client in server.handlers.clients.values()} == {0}
            assert server.access.refused == self.foreign
            return server

    async def _use(self, server: Any, name: str) -> None:
        async with connect(server, name) as session:
            for _ in range(STEPS):
                step = self.generator.choice((self._call, self._call, self._foreign, self._bytes, self._hang_up))
                await step(server) if step != self._call else await self._call(server, session)

    async def _call(self, server: Any, session: Any = None) -> None:
        mode, amount = self.generator.choice(MODES), self.generator.randrange(10**9, 10**12)
        if mode == "give up":
            await self._give_up(server, session)
        elif mode == "both at once":
            await self._give_up(server, session, is_approved=True)
        elif mode == "forge":
            forged = self.generator.choice([{"approved": True}, {"digest": "0" * 64}, {"__class__": "Approved"}])
            assert (await session.call_tool("pay", {"amount": amount, **forged})).is_error
        else:
            if mode == "approve":
                self.person.approved.add(amount)
            result = await session.call_tool("pay", {"amount": amount})
            assert result.is_error is (mode == "deny")

    async def _give_up(
        self, server: Any, session: Any = None, *, is_approved: bool = False, stops: bool = False
    ) -> None:
        """Call, and give up when the person is asked; or the server is stopped then."""
        if session is None:
            async with connect(server, "last") as opened:
                await self._give_up(server, opened, is_approved=is_approved, stops=stops)
            return
        loop, is_asked = asyncio.get_running_loop(), asyncio.Event()
        amount = self.generator.randrange(10**9, 10**12)
        if is_approved:
            self.person.raced.add(amount)
        self.person.given_up[amount] = lambda: loop.call_soon_threadsafe(is_asked.set)
        call = asyncio.create_task(session.call_tool("pay", {"amount": amount}))
        await is_asked.wait()
        if stops:
            turns = [turn for one in server.handlers.clients.values() for turn in one.chat.running_turns]
            await asyncio.to_thread(server.stop)
            await asyncio.gather(*(asyncio.wrap_future(turn.done) for turn in turns))
        call.cancel()
        await asyncio.wait([call])

    async def _foreign(self, server: Any) -> None:
        """Send a call as a web page of another site would, or somebody without the token."""
        token = server.address.token.get_secret_value()
        good = {"Authorization": f"Bearer {token}", "Host": f"127.0.0.1:{server.port}"}
        wrong = self.generator.choice(
            [
                {"Authorization": self.generator.choice(["", "Bearer", f"Basic {token}", f"Bearer {token[::-1]}"])},
                {"Host": self.generator.choice(["rebound.example", f"rebound.example:{server.port}", "[::1]:80"])},
                {"Origin": self.generator.choice(["null", "https://evil.example", f"http://127.0.0.1:{server.port}0"])},
            ]
        )
        method = self.generator.choice(["POST", "GET", "DELETE", "OPTIONS"])
        path = self.generator.choice(["/mcp", "/", "/mcp/..%2f", f"/mcp?token={token}"])
        address = f"http://127.0.0.1:{server.port}{path}"
        self.foreign += 1
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.request(method, address, headers={**good, **wrong}, content=self._body())
        assert answer.status_code in (401, 403, 421)
        assert token not in answer.text

    async def _bytes(self, server: Any) -> None:
        """Send a call with bytes that were changed, with the token."""
        body = bytearray(self._body())
        for _ in range(self.generator.randint(1, 8)):
            body[self.generator.randrange(len(body))] = self.generator.randrange(256)
        headers = {
            "Authorization": f"Bearer {server.address.token.get_secret_value()}",
            "Content-Type": self.generator.choice(["application/json", "text/plain", "application/json; charset=x"]),
            "Accept": self.generator.choice(["application/json, text/event-stream", "*/*", "text/html"]),
            "Mcp-Session-Id": self.generator.choice(["", "x" * 100, "0" * 32]),
        }
        async with httpx.AsyncClient(trust_env=False, timeout=SECONDS) as client:
            with suppress(httpx.TransportError):  # the server closed the connection
                assert (await client.post(server.address.url, headers=headers, content=bytes(body))).status_code < 600

    async def _hang_up(self, server: Any) -> None:
        """Send a part of a request and close the connection."""
        body = self._body()
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: {len(body)}\r\n"
            f"Authorization: Bearer {server.address.token.get_secret_value()}\r\nContent-Type: application/json\r\n\r\n"
        ).encode()
        whole = head + body

        def send() -> None:
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.sendall(whole[: self.generator.randrange(len(whole))])

        await asyncio.to_thread(send)

    def _body(self) -> bytes:
        parameters = {"name": "pay", "arguments": {"amount": self.generator.randrange(10**9, 10**12)}}
        return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}).encode()


@pytest.mark.promise("served")
@pytest.mark.parametrize("sequences", [2, pytest.param(60, marks=[pytest.mark.nightly, pytest.mark.timeout(900)])])
def test_whatever_clients_do_each_approved_call_runs_once_and_no_other_runs(
    sequences: int, caplog: pytest.LogCaptureFixture, record_property: Callable[[str, object], None]
) -> None:
    caplog.set_level("DEBUG")
    for seed in range(sequences):
        sequence = Sequence(random.Random(seed))
        server = asyncio.run(sequence.run())

        counts, person = Counter(sequence.paid), sequence.person
        assert max(counts.values(), default=0) <= 1, seed
        assert person.approved <= counts.keys() <= person.approved | person.raced, seed
        secret = server.address.token.get_secret_value()
        ours = [one.getMessage() for one in caplog.records if one.name.partition(".")[0] not in ("httpx", "httpcore")]
        assert not any(secret in line for line in ours), seed
        caplog.clear()
    record_property("injected", sequences * STEPS * len(CLIENTS))

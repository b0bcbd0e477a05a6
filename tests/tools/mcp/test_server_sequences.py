"""Random sequences of faults of a server: no call runs twice, each ends with a result or a reason, later ones work."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nbtool import Approved
from nbtool.tools.mcp import mcp_servers
from tests.tools.calling import ask_for, make_harness
from tests.tools.mcp.serving import FAILURES, http_server

STATUSES = ("400", "401", "403", "404", "409", "429", "500", "502", "503")
STEPS = 20
ANSWER = '{"jsonrpc": "2.0", "id": $ID, "result": {"content": [{"type": "text", "text": "fine"}]}}'
NIGHTLY = [pytest.mark.nightly, pytest.mark.timeout(900)]


def yes(_: object) -> Approved:
    return Approved()


@pytest.mark.sampled(0)
@pytest.mark.parametrize("sequences", [1, pytest.param(40, marks=NIGHTLY)])
def test_a_server_over_http_that_fails_in_any_order_runs_no_call_twice_and_works_afterwards(
    sequences: int, record_property: Callable[[str, object], None]
) -> None:
    for seed in range(sequences):
        generator = random.Random(seed)
        with (
            http_server() as web,
            mcp_servers({"mcpServers": {"it": {"url": web.url}}}, connect_seconds=20, call_seconds=20) as servers,
        ):
            harness = make_harness(servers, approver=yes)
            for step in range(STEPS):
                fault = generator.choice(["", "restart", "change", *STATUSES, *FAILURES])
                if fault == "restart":
                    web.restart()
                elif fault == "change":
                    web.tool["description"] = f"What it was in step {step}."
                web.fails = "" if fault in ("restart", "change") else fault
                web.fails_at = generator.choice(["tools/call", "tools/call", "*"])
                before = web.calls
                record = harness.run(ask_for("it_say"))
                assert web.calls - before <= 1, (seed, step, fault)
                assert record.status in ("ok", "error"), (seed, step, fault)
                assert record.status == "ok" or record.shown, (seed, step, fault)
            web.fails = ""
            statuses = [harness.run(ask_for("it_say")).status for _ in range(3)]
            assert "ok" in statuses, seed
    record_property("injected", sequences * STEPS)


@pytest.mark.parametrize("lines", [20, pytest.param(1_500, marks=NIGHTLY)])
def test_a_server_on_stdio_whose_answers_are_mutated_fails_single_calls_and_no_session(
    lines: int, record_property: Callable[[str, object], None]
) -> None:
    generator = random.Random(17)
    server = {"command": sys.executable, "args": [str(Path(__file__).parent / "hostile_server.py"), "raw"]}
    with mcp_servers({"mcpServers": {"it": server}}, connect_seconds=20, call_seconds=20) as servers:
        harness = make_harness(servers, approver=yes)
        pids = {harness.run(ask_for("it_say", text="hi")).result.split()[0]}
        for number in range(lines):
            line = bytearray(ANSWER.encode())
            for _ in range(generator.randint(1, 5)):
                line[generator.randrange(len(line))] = generator.randrange(256)
            raw = f"{line.decode('latin-1')}\n{ANSWER}"
            record = harness.run(ask_for("it_say", raw=raw))
            assert record.status in ("ok", "error"), (number, raw)
            after = harness.run(ask_for("it_say", text="hi"))
            assert after.status == "ok", (number, raw, after.shown)
            pids.add(after.result.split()[0])
        assert len(pids) == 1
    record_property("injected", lines)

"""An agent of the Agent Client Protocol that does what a script says: plain JSON lines, the standard library alone.

    python scripted_agent.py SCRIPT LOG

SCRIPT is JSON: answers to requests by their methods, and `prompts`, each a list of steps. LOG gets a line of JSON for
each message that arrives and each result of a step, so that a test reads what the agent has seen.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

SCRIPT: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())
LOG = Path(sys.argv[2])
WRITING = threading.Lock()
CANCELLED = threading.Event()
ANSWERS: dict[object, queue.Queue[Any]] = {}
STATE: dict[str, Any] = {"session": "", "server": None, "prompts": 0, "last_id": 0}
USUAL: dict[str, Any] = {
    "initialize": {
        "protocolVersion": 1,
        "agentInfo": {"name": "scripted", "version": "0.101.0"},
        "agentCapabilities": {"loadSession": True, "sessionCapabilities": {"resume": {}, "close": {}}},
    },
    "session/new": {"sessionId": "S1", "modes": {"currentModeId": "default", "availableModes": []}},
    "session/resume": {"modes": {"currentModeId": "default", "availableModes": []}},
    "session/load": {"modes": {"currentModeId": "default", "availableModes": []}},
    "session/set_mode": {},
}


def log(**entry: Any) -> None:
    with WRITING, LOG.open("a") as file:
        file.write(json.dumps(entry) + "\n")


def send_line(line: str) -> None:
    with WRITING:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def send(**message: Any) -> None:
    send_line(json.dumps({"jsonrpc": "2.0", **message}))


def update(session: str | None = None, **fields: Any) -> None:
    send(method="session/update", params={"sessionId": session or STATE["session"], "update": fields})


class Tools:
    """The server `notebook`, as an agent starts it."""

    def __init__(self, server: dict[str, Any]) -> None:
        environment = {**os.environ, **{one["name"]: one["value"] for one in server["env"]}}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [server["command"], *server["args"]], stdin=pipe, stdout=pipe, env=environment, text=True
        )
        self._waiting: dict[int, queue.Queue[Any]] = {}
        self._last = 0
        threading.Thread(target=self._read, daemon=True).start()
        about = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "scripted", "version": "1"},
        }
        self.request("initialize", about)
        self._write(method="notifications/initialized")
        listed = self.request("tools/list", {})
        log(tools=[tool["name"] for tool in listed["result"]["tools"]])

    def _write(self, **message: Any) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()

    def begin(self, method: str, params: Any) -> tuple[int, queue.Queue[Any]]:
        self._last += 1
        answer = self._waiting[self._last] = queue.Queue()
        self._write(id=self._last, method=method, params=params)
        return self._last, answer

    def request(self, method: str, params: Any) -> Any:
        return self.begin(method, params)[1].get()

    def cancel(self, request: int) -> None:
        self._write(method="notifications/cancelled", params={"requestId": request})

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            message = json.loads(line)
            if waiting := self._waiting.pop(message.get("id"), None):
                waiting.put(message)
        for waiting in self._waiting.values():
            waiting.put({"error": "closed"})


def begin_call(call: dict[str, Any]) -> tuple[int, queue.Queue[Any]]:
    return STATE["server"].begin("tools/call", {"name": call["name"], "arguments": call.get("arguments", {})})


def text_of(answer: dict[str, Any]) -> str:
    result = answer.get("result") or {}
    return "".join(one.get("text", "") for one in result.get("content", [])) or json.dumps(answer)


def ask(question: dict[str, Any]) -> None:
    STATE["last_id"] += 1
    request = f"q{STATE['last_id']}"
    answer = ANSWERS[request] = queue.Queue()
    params = {
        "sessionId": STATE["session"],
        "toolCall": question.get("call", {}),
        "options": question.get("options", []),
    }
    send(id=request, method=question.get("method", "session/request_permission"), params=params)
    if question.get("cancels"):
        send(method="$/cancel_request", params={"requestId": request})
    if not question.get("leaves"):
        answer.get()


def say(text: str) -> None:
    update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})


def say_many(count: int) -> None:
    for number in range(count):
        say(f"{number} ")


def call(wanted: dict[str, Any]) -> None:
    log(result=text_of(begin_call(wanted)[1].get()))


def call_together(wanted: list[dict[str, Any]]) -> None:
    for _, answer in [begin_call(one) for one in wanted]:
        log(result=text_of(answer.get()))


def abandon(wanted: dict[str, Any]) -> None:
    request, _ = begin_call(wanted)
    wait_for_file(wanted["when"])
    STATE["server"].cancel(request)


def call_after_the_answer(wanted: dict[str, Any]) -> None:
    """Call once the answer to the prompt was sent, and say that it was answered by a file."""

    def run() -> None:
        wait_for_file(wanted["when"])
        call(wanted)
        Path(wanted["then"]).touch()

    threading.Thread(target=run, daemon=True).start()


def spawn(_: object) -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    log(spawned=child.pid)


def ignore(_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    STATE["ignores"] = True


def wait(what: str) -> None:
    CANCELLED.wait() if what == "cancel" else wait_for_file(what)


def write_error(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


STEPS: dict[str, Callable[[Any], object]] = {
    "update": lambda value: update(**value),
    "message": lambda value: send(**value),
    "say": say,
    "many": say_many,
    "line": send_line,
    "long": lambda value: send_line("x" * value),
    "call": call,
    "calls": call_together,
    "begin_call": begin_call,
    "abandon": abandon,
    "later": call_after_the_answer,
    "ask": ask,
    "wait": wait,
    "touch": lambda value: Path(value).touch(),
    "spawn": spawn,
    "ignore": ignore,
    "exit": os._exit,
    "stderr": write_error,
}
"""What each kind of step does with its value."""


def run_step(step: dict[str, Any]) -> None:
    for kind, value in step.items():
        STEPS[kind](value)


def wait_for_file(path: str) -> None:
    while not Path(path).exists():
        threading.Event().wait(0.01)


def prompt(request: object, steps: list[dict[str, Any]]) -> None:
    CANCELLED.clear()
    for step in steps:
        if "result" in step:
            send(id=request, result=step["result"])
            return
        if "error" in step:
            send(id=request, error=step["error"])
            return
        run_step(step)
    send(id=request, result={"stopReason": "cancelled" if CANCELLED.is_set() else "end_turn"})


def open_session(method: str, params: dict[str, Any], answer: dict[str, Any]) -> None:
    STATE["session"] = params.get("sessionId") or answer.get("sessionId", "")
    if STATE["server"] is None and not SCRIPT.get("without_tools"):
        STATE["server"] = Tools(params["mcpServers"][0])
    for step in SCRIPT.get(f"before {method}", []):
        run_step(step)


def handle(message: dict[str, Any]) -> None:
    method, request = message.get("method"), message.get("id")
    if method is None:
        answer = message.get("result", message.get("error"))
        log(answer=answer, request=request)
        ANSWERS[request].put(answer)
        return
    log(method=method, params=message.get("params"))
    if method == "session/cancel":
        CANCELLED.set()
        return
    if method == "session/prompt":
        steps = SCRIPT["prompts"][STATE["prompts"]]
        STATE["prompts"] += 1
        threading.Thread(target=prompt, args=(request, steps), daemon=True).start()
        return
    answer = SCRIPT.get(method, USUAL.get(method))
    if answer is None or "error" in answer:
        send(id=request, error=(answer or {}).get("error", {"code": -32601, "message": "no such method"}))
        return
    if method in ("session/new", "session/resume", "session/load"):
        open_session(method, message["params"], answer)
    for step in SCRIPT.get(f"during {method}", []):
        run_step(step)
    send(id=request, result=answer)


def main() -> None:
    log(started=os.getpid(), arguments=sys.argv, environment=sorted(os.environ), folder=str(Path.cwd()))
    for step in SCRIPT.get("at start", []):
        run_step(step)
    for line in sys.stdin:
        handle(json.loads(line))
    log(ended="stdin")
    while STATE.get("ignores"):
        signal.pause()


if __name__ == "__main__":
    main()

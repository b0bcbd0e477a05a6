"""The outside of a kernel: a model provider on loopback that says what a test scripts and keeps what it was sent.

    with simulate(call("price", ticker="AAPL"), "It costs 10.") as model:
        turn = model.chat(tools=[price]).send("What does AAPL cost?")
    assert "AAPL" in model.requests[0].text

Each request for a reply takes the next step of the script; a request beyond the script is answered with an error and
fails the test. Every dialect is served at the same address: Chat Completions, Responses, Messages and Gemini, streamed
or whole, and the lists of models of OpenAI's and Ollama's kind.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from nbtool import Chat
from tests.contract.batches import Batches, answer_batch_request
from tests.contract.dialects import Answer, Call, encode, find_dialect

MODEL = "tiny"
KEY = "sk-contract-4f9a7c1e2b"
WAIT_SECONDS = 30.0
"""How long a test waits for what must come."""


@dataclass(frozen=True)
class Refusal:
    """An error of the provider in place of a reply."""

    status: int
    message: str = "refused"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Gate:
    """Holds a reply in its middle until the test opens it."""

    answer: Answer
    is_reached: threading.Event = field(default_factory=threading.Event)
    is_open: threading.Event = field(default_factory=threading.Event)

    def wait(self) -> None:
        """Wait until the first half of the reply has left."""
        assert self.is_reached.wait(WAIT_SECONDS), "the reply was not requested"

    def open(self) -> None:
        """Let the rest of the reply go."""
        self.is_open.set()


@dataclass(frozen=True)
class Body:
    """Bytes in place of a reply, as they are."""

    content: bytes
    status: int = 200
    content_type: str = "text/event-stream"
    headers: Mapping[str, str] = field(default_factory=dict)


Step = str | Call | Answer | Refusal | Gate | Body | Sequence[str | Call]
ScriptedStep = Step | Callable[["Request"], Step]


def call(name: str, /, **arguments: Any) -> Call:
    """Let the model call a tool."""
    return Call(name, json.dumps(arguments))


def raw_call(name: str, arguments: str) -> Call:
    """Let the model call a tool with a text as its arguments."""
    return Call(name, arguments)


def cut(text: str = "", *calls: Call) -> Answer:
    """Let a reply break off before the provider's signal of its end."""
    return Answer(text, calls, is_complete=False)


def held(text: str) -> Gate:
    """Let a reply stop in its middle until the test opens the gate."""
    return Gate(Answer(text))


@dataclass(frozen=True)
class Request:
    """What left the kernel in one request."""

    method: str
    path: str
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.content)

    @property
    def text(self) -> str:
        """All texts of the body, whatever the dialect."""
        return "\n".join(_texts(self.json))

    @property
    def everything(self) -> str:
        """Everything that left: the address, the headers, and the body as it is and as texts."""
        headers = "\n".join(f"{name}: {value}" for name, value in self.headers.items())
        content = self.content.decode("utf-8", "replace")
        return "\n".join((self.method, self.path, headers, content, self.text if self.content else ""))

    @property
    def tools(self) -> list[str]:
        """The names of the tools that were offered."""
        listed = self.json.get("tools") or []
        declared = [one for group in listed for one in group.get("functionDeclarations", [group])]
        return [(one.get("function") or one).get("name") or one["type"] for one in declared]


@dataclass
class Provider:
    """A running provider."""

    script: list[ScriptedStep] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    others: list[Request] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    models: tuple[str, ...] = (MODEL,)
    pages: dict[str, Body] = field(default_factory=dict)
    batches: Batches = field(default_factory=Batches)
    port: int = 0
    has_come: threading.Condition = field(default_factory=threading.Condition)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _repeated: ScriptedStep | None = None
    _gates: list[Gate] = field(default_factory=list)

    @property
    def host(self) -> str:
        """The address without a path, as `OLLAMA_HOST` takes it."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The address of the API, as `base_url` takes it."""
        return f"{self.host}/v1"

    @property
    def everything(self) -> str:
        """Everything that any request had."""
        return "\n".join(request.everything for request in (*self.others, *self.requests))

    def say(self, *steps: ScriptedStep) -> None:
        """Add steps to the script."""
        self.script.extend(steps)
        self._gates += [step for step in steps if isinstance(step, Gate)]

    def begin_again(self) -> None:
        """Forget the script and the requests: a provider that tests share has nothing of an earlier one."""
        self.open_gates()
        for entries in (self.script, self.requests, self.others):
            entries.clear()

    def always(self, step: ScriptedStep) -> None:
        """Answer every request beyond the script with this."""
        self._repeated = step

    def chat(self, model: str = MODEL, *, wire: str = "chat", **settings: Any) -> Chat:
        """Make a chat with this provider."""
        return Chat(model, wire=wire, base_url=self.url, api_key=settings.pop("api_key", KEY), **settings)

    def take(self, request: Request) -> Step:
        """Keep a request for a reply, and give the step that answers it."""
        with self._lock:
            self.requests.append(request)
            step = self.script.pop(0) if self.script else self._repeated
        if step is None:
            self.unexpected.append(request.text[-300:])
            return Refusal(400, "this request is not in the script of the test")
        return step(request) if callable(step) else step

    def wait_for(self, is_there: Callable[[], bool]) -> None:
        """Wait until something has come; every request about batches is a reason to look again."""
        with self.has_come:
            assert self.has_come.wait_for(is_there, WAIT_SECONDS), "what was waited for did not come"

    def open_gates(self) -> None:
        """Let everything go that is held."""
        for gate in self._gates:
            gate.open()


@contextmanager
def simulate(*steps: ScriptedStep, port: int = 0) -> Iterator[Provider]:
    """Run a provider; at the end every request must have been in the script."""
    provider = Provider()
    provider.say(*steps)
    server = _Server(provider, port)
    provider.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        provider.open_gates()
        server.shutdown()
        server.server_close()
        thread.join(WAIT_SECONDS)
    assert not provider.unexpected, f"requests beyond the script: {provider.unexpected}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, provider: Provider, port: int) -> None:
        self.provider = provider
        super().__init__(("127.0.0.1", port), _Handler)

    def handle_error(self, *_: Any) -> None:
        """Say nothing of a client that has gone: stopping is what tests do."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: Any) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        provider, request = self.server.provider, self._request()
        provider.others.append(request)
        if self._answer_batch(request):
            return
        if page := provider.pages.get(self.path):
            self._begin(page.status, {"Content-Type": page.content_type, **page.headers})
            self.wfile.write(page.content)
        elif self.path.endswith("/api/tags"):
            self._send(200, {"models": [{"name": name, "model": name} for name in provider.models]})
        elif self.path.partition("?")[0].endswith("/models"):
            self._send(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in provider.models]})
        else:
            self._send(404, {"error": {"message": "there is nothing here"}})

    def do_POST(self) -> None:
        provider, request = self.server.provider, self._request()
        if self._answer_batch(request):
            provider.others.append(request)
            return
        dialect = find_dialect(request.path)
        if not dialect:
            provider.others.append(request)
            self._send(404, {"error": {"message": "there is nothing here"}})
            return
        step = provider.take(request)
        with suppress(OSError):  # a client that has gone
            match step:
                case Refusal():
                    error = {"message": step.message, "type": "refused", "code": str(step.status)}
                    self._send(step.status, {"type": "error", "error": error}, step.headers)
                case Body():
                    self._begin(step.status, {"Content-Type": step.content_type, **step.headers})
                    self.wfile.write(step.content)
                case _:
                    self._reply(dialect, request, step)

    def do_DELETE(self) -> None:
        request = self._request()
        self.server.provider.others.append(request)
        if not self._answer_batch(request):
            self._send(404, {"error": {"message": "there is nothing here"}})

    def _answer_batch(self, request: Request) -> bool:
        """Answer a request about batches or files."""
        if (answer := answer_batch_request(self.server.provider, request)) is None:
            return False
        with self.server.provider.has_come:
            self.server.provider.has_come.notify_all()
        status, body = answer
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        with suppress(OSError):  # a client that has gone
            self._begin(status, {"Content-Type": "application/json", "Content-Length": str(len(content))})
            self.wfile.write(content)
        return True

    def _request(self) -> Request:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return Request(self.command, self.path, dict(self.headers.items()), content)

    def _reply(self, dialect: str, request: Request, step: Any) -> None:
        gate = step if isinstance(step, Gate) else None
        is_stream = ":stream" in request.path or request.json.get("stream") is True
        chunks = encode(dialect, gate.answer if gate else as_answer(step), is_stream=is_stream)
        self._begin(200, {"Content-Type": "text/event-stream" if is_stream else "application/json"})
        middle = len(chunks) // 2
        for at, chunk in enumerate(chunks):
            if gate and at == middle:
                gate.is_reached.set()
                gate.is_open.wait(WAIT_SECONDS)
            self.wfile.write(chunk)

    def _send(self, status: int, body: Any, headers: Mapping[str, str] = {}) -> None:
        content = json.dumps(body).encode()
        self._begin(status, {"Content-Type": "application/json", "Content-Length": str(len(content)), **headers})
        self.wfile.write(content)

    def _begin(self, status: int, headers: Mapping[str, str]) -> None:
        self.close_connection = True
        self.send_response(status)
        for name, value in {**headers, "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()


def as_answer(step: Any) -> Answer:
    """Return a step of a script as the answer that it stands for."""
    if isinstance(step, Answer):
        return step
    parts = [step] if isinstance(step, str | Call) else list(step)
    text = "".join(part for part in parts if isinstance(part, str))
    return Answer(text, tuple(part for part in parts if isinstance(part, Call)))


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from _texts(item)
        case list():
            for item in value:
                yield from _texts(item)

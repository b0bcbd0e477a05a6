"""The server of llama-cpp-python, with a tiny random model, on a port of its own."""

from __future__ import annotations

import json
import queue
import re
import secrets
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbtool import Chat

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-servers" / "bin" / "python"
TINY_MODEL = Path(__file__).parent / "tiny_model.py"
LOOPBACK = ROOT / "tests" / "no_network"
START_SECONDS = 30
STOP_SECONDS = 20

CONTEXT = 4096
"""Tokens that a conversation may have; a token of the tiny model is a character."""

MODELS: dict[str, str | None] = {
    "tiny": None,
    "functions": "chatml-function-calling",
    "plain": "chatml",
    "toolless": "chat_template.toolless",
}
"""The models that the server lists: one file, under four formats of a chat; None is the file's own."""


@dataclass
class Server:
    """A running server; `url` is its address for clients of OpenAI."""

    home: Path
    key: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)
    url: str = ""
    _process: subprocess.Popen[str] = field(init=False, repr=False)
    _listener: threading.Thread = field(init=False, repr=False)

    @property
    def log(self) -> Path:
        return self.home / "server.log"

    def start(self) -> None:
        """Make the model, start the server, and wait until it says where it listens."""
        config = self.home / "config.json"
        config.write_text(json.dumps(self._settings()))
        subprocess.run([PYTHON, TINY_MODEL, self.home / "tiny.gguf"], check=True)
        self._process = subprocess.Popen(
            [PYTHON, "-m", "llama_cpp.server", "--config_file", config],
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.home), "PYTHONPATH": str(LOOPBACK), "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        heard: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, args=(heard,), daemon=True)
        self._listener.start()
        try:
            self.url = f"{heard.get(timeout=START_SECONDS)}/v1"
        except queue.Empty:
            self.stop()
            said = self.log.read_text()
            raise RuntimeError(f"The server did not start within {START_SECONDS} s; it said:\n{said}") from None

    def stop(self) -> None:
        """End the server."""
        self._process.terminate()
        self._process.wait(timeout=STOP_SECONDS)
        self._listener.join()

    def chat(self, model: str, *, temperature: float = 0, **how: Any) -> Chat:
        """Open a chat with one of the models; more words are those of `nbtool.Chat`."""
        options = {"temperature": temperature, "max_tokens": 40, **how.pop("options", {})}
        return Chat(f"llamacpp:{model}", base_url=self.url, api_key=self.key, options=options, **how)

    def _settings(self) -> dict[str, Any]:
        shared = {"model": str(self.home / "tiny.gguf"), "n_ctx": CONTEXT, "n_threads": 1, "verbose": False}
        models = [{**shared, "model_alias": name, "chat_format": format_} for name, format_ in MODELS.items()]
        # A request waits for its turn: by default the server would end the one before it with a bare `[DONE]`.
        patient = {"interrupt_requests": False}
        return {"host": "127.0.0.1", "port": 0, "api_key": self.key, "models": models, **patient}

    def _listen(self, heard: queue.SimpleQueue[str]) -> None:
        assert self._process.stdout
        with self._process.stdout as said, self.log.open("w") as log:
            for line in said:
                log.write(line)
                log.flush()
                if address := re.search(r"http://127\.0\.0\.1:\d+", line):
                    heard.put(address[0])

"""The server of llama-cpp-python, with a tiny random model, on a port of its own."""

from __future__ import annotations

import json
import secrets
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbtool import Chat
from tests.servers.process import ROOT, ServerProcess

PYTHON = ROOT / ".venv-servers" / "bin" / "python"
TINY_MODEL = Path(__file__).parent / "tiny_model.py"

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
    _process: ServerProcess = field(init=False, repr=False)

    @property
    def log(self) -> Path:
        return self._process.log

    def start(self) -> None:
        """Make the model, start the server, and wait until it says where it listens."""
        config = self.home / "config.json"
        config.write_text(json.dumps(self._settings()))
        subprocess.run([PYTHON, TINY_MODEL, self.home / "tiny.gguf"], check=True)
        self._process = ServerProcess([PYTHON, "-m", "llama_cpp.server", "--config_file", config], self.home)
        self.url = f"{self._process.start()}/v1"

    def stop(self) -> None:
        """End the server."""
        self._process.stop()

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

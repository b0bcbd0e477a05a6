"""An endpoint that adapts its requests to what the model refuses, once, and remembers it.

A model may refuse tools (they are then described in the prompt), the dialect (another one is used), an optional field
(the request is sent without it), images of results (they are described), or to offer tools that must not be called (a
final reply is then requested without them). Each change is reported to the user; a refused request costs nothing.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial

from nbtool.errors import ProviderError, ToolsNotSupported, Unsupported, WireNotSupported
from nbtool.events import CallDelta, Delta, ReplyEnd, Retrying, StreamNotice, TextDelta
from nbtool.threads.thread_pool import run_in_worker
from nbtool.wire.base import Prompt, Request, ToolSpec
from nbtool.wire.dialect import TOOL_SEARCH, Dialect, PromptFormatName, find_dialect
from nbtool.wire.dialects.prose_wire import text_wire
from nbtool.wire.dialects.responses.encoder import NO_ENCRYPTED_REASONING, is_replayable
from nbtool.wire.endpoints.refused_fields import LOST_REASONING, NEEDS_CHOICE, is_choice_refused, refused_field
from nbtool.wire.endpoints.reply_cost import find_listed_price, find_usage_price, find_usage_price_now, with_cost
from nbtool.wire.endpoints.result_images import (
    NO_IMAGES,
    has_result_images,
    is_image_refused,
    without_result_images,
)
from nbtool.wire.prompted.instructions import format_for
from nbtool.wire.prompted.prompted_wire import PromptedWire
from nbtool.wire.prompted.written_calls import DESCRIBED_INSTEAD, LEFT_IN_TEXT, WRITE_AGAIN, find_written_calls
from nbtool.wire.providers.model_cache import cache_wire, cached_models, cached_wire
from nbtool.wire.providers.model_data import find_shutdown
from nbtool.wire.providers.model_prices import PriceFunction, ReplyPriceFunction
from nbtool.wire.providers.provider import WRITES_CALLS
from nbtool.wire.transport.http_endpoint import HttpEndpoint
from nbtool.wire.transport.response.cooperative_decoding import pass_on

MAX_CHANGES = 7
"""Maximum changes of one request: one for each kind of refusal, and one more."""

_UNKNOWN_PATH = frozenset({404, 405, 501})


@dataclass(frozen=True, slots=True)
class Adaptation:
    """What a model refuses: `wire` replaces the default one, `abilities` those of the provider (None: no change).

    `has_lost_reasoning`: it was reported that its reasoning does not carry over. `needs_choice`: tools must not be
    offered unless they may be called. `takes_no_images`: images of results are not attached.
    """

    wire: str = ""
    is_prompted: bool = False
    abilities: frozenset[str] | None = None
    has_lost_reasoning: bool = False
    needs_choice: bool = False
    takes_no_images: bool = False


_adaptations: dict[tuple[str, str], Adaptation] = {}
"""The adaptations of this process, by host and model."""


_reported_shutdowns: set[tuple[str, str]] = set()
"""Providers and models whose shutdown was looked up, and reported if there is one."""


class ReplyTexts:
    """The text of a reply, and whether it has calls."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._has_calls = False

    def add(self, deltas: Iterable[Delta]) -> None:
        """Add the next deltas."""
        for delta in deltas:
            if isinstance(delta, TextDelta):
                self._texts.append(delta.text)
            elif isinstance(delta, CallDelta):
                self._has_calls = True

    async def find(self, tools: Iterable[ToolSpec]) -> str:
        """Return the tool that the text names in what looks like a call; empty if it has none, or the reply calls."""
        if self._has_calls or not self._texts:
            return ""
        outcome = await run_in_worker(partial(find_written_calls, "".join(self._texts), {tool.name for tool in tools}))
        if outcome.error:
            raise outcome.error  # pragma: no cover - a bug in the scanner, which no text is known to show
        return next((call.name for call in outcome.value if call.name), "")


@dataclass(frozen=True, slots=True)
class AdaptiveEndpoint:
    """Send requests over `native`, adapted to what its model refused.

    Tools go through the prompt if `always_prompted`, and never if not `may_prompt`; `tool_format` is then the form of
    calls (None: the one that suits the provider). `offered` are the tools of all requests so far: a final reply, to
    which they may not be offered, may still contain a call. The dialect changes only if
    `may_change_wire`: it was not chosen by the user.
    """

    native: HttpEndpoint
    fence: str
    always_prompted: bool = False
    may_prompt: bool = True
    may_change_wire: bool = False
    tool_format: PromptFormatName | None = None
    offered: set[str] = field(default_factory=set, compare=False)

    @property
    def host(self) -> str:
        """The host."""
        return self.native.host

    @property
    def model(self) -> str:
        """The model."""
        return self.native.model

    @property
    def provider(self) -> str:
        """The name of the provider, empty if there is none."""
        return self.native.provider

    @property
    def dialect(self) -> str:
        """The dialect of the next request."""
        return self.adapted.dialect

    @property
    def abilities(self) -> frozenset[str]:
        """The abilities of the model's provider, without what the model refused."""
        adapted = self.adapted
        can_search = not self._through_prompt and find_dialect(adapted.dialect).search_tool
        return adapted.abilities if can_search else adapted.abilities - {TOOL_SEARCH}

    def preview(self, prompt: Prompt) -> Request:
        """Return the request that `stream` would make."""
        return self._endpoint(prompt).preview(self._adapt_prompt(prompt))

    def stream(self, prompt: Prompt) -> AsyncGenerator[Delta, None]:
        """Send a prompt; after a refusal, report the change and send it again."""
        return pass_on(self._batches(prompt))

    async def _batches(self, prompt: Prompt) -> AsyncGenerator[list[Delta], None]:
        if shutdown := self._shutdown_notice():
            yield [StreamNotice(shutdown, "warning")]
        dialects = {self.dialect}
        changes = 0
        while True:
            has_output = False
            try:
                async with aclosing(self._reply(prompt)) as batches:
                    async for batch in batches:
                        has_output = has_output or not isinstance(batch[0], Retrying)
                        yield batch
                return
            except (ProviderError, Unsupported) as error:
                changes += 1
                is_final = has_output or changes == MAX_CHANGES
                notice = None if is_final else self._adapt(error, prompt, dialects)
                if notice is None:
                    raise
                dialects.add(self.dialect)
            yield [StreamNotice(notice)]
            await self.native.retries.wait(0.0)

    async def find_price(self) -> PriceFunction | None:
        """Return the function that computes the cost of a usage; None if the price of the model is unknown."""
        return await find_usage_price(self.native)

    async def find_listed_price(self) -> ReplyPriceFunction | None:
        """Return the function that computes the cost of a reply from what holds at its host, whatever a user set."""
        return await find_listed_price(self.native)

    def has_price(self) -> bool:
        """Whether the price of the model is known; may take some tenths of a second."""
        return find_usage_price_now(self.native) is not None

    async def _reply(self, prompt: Prompt) -> AsyncGenerator[list[Delta], None]:
        """Send a prompt once, and report a reply whose reasoning is lost."""
        endpoint = self._endpoint(prompt)
        texts = ReplyTexts() if prompt.tools and not self._through_prompt else None
        async with aclosing(with_cost(endpoint, endpoint.batches(self._adapt_prompt(prompt)))) as batches:
            async for batch in batches:
                if texts:
                    texts.add(batch)
                if isinstance(end := batch[-1], ReplyEnd):
                    lost = (
                        [StreamNotice(LOST_REASONING.format(model=self.model))] if self._has_lost_reasoning(end) else []
                    )
                    written = self._written_call(await texts.find(prompt.tools)) if texts else ()
                    batch[-1:] = [*lost, *written, end]
                yield batch

    def _written_call(self, name: str) -> Iterator[Delta]:
        """Report a call that the server left in the text; where the provider is known for it, ask again otherwise."""
        if not name:
            return
        if not (self.may_prompt and WRITES_CALLS in self.native.abilities):
            yield StreamNotice(LEFT_IN_TEXT.format(name=name), "warning")
            return
        self._remember(replace(self._adaptation, is_prompted=True))
        yield StreamNotice(DESCRIBED_INSTEAD.format(name=name), "warning")
        yield CallDelta("left-in-text", name=name, final=True, error=WRITE_AGAIN)

    def _shutdown_notice(self) -> str:
        """Return the notice that the model will be shut down; empty if it will not, and after the first time."""
        key = self.native.provider, self.model
        if key in _reported_shutdowns:
            return ""
        _reported_shutdowns.add(key)
        announced = find_shutdown(*key)
        listed = next((model.shutdown for model in cached_models(key[0]) or () if model.name == self.model), None)
        day = listed or (announced.day if announced else None)
        if day is None or day < dt.datetime.now().astimezone().date():
            return ""
        instead = f" Its replacement is {announced.replacement}." if announced and announced.replacement else ""
        return f"{self.model} will be shut down on {day:%Y-%m-%d}.{instead}"

    @property
    def _adaptation(self) -> Adaptation:
        key = self.host, self.model
        if key not in _adaptations:
            wire = cached_wire(*key) if self.may_change_wire else ""
            _adaptations[key] = Adaptation(wire if find_dialect(wire).beside else "")
        return _adaptations[key]

    @property
    def adapted(self) -> HttpEndpoint:
        """The native endpoint with the dialect and the abilities that the model accepts."""
        adaptation, native = self._adaptation, self.native
        if adaptation.wire and adaptation.wire != native.dialect and self.may_change_wire:
            native = replace(native, wire=text_wire(adaptation.wire))
        return native if adaptation.abilities is None else replace(native, abilities=adaptation.abilities)

    @property
    def _through_prompt(self) -> bool:
        if not self.may_prompt:
            return False
        return self.always_prompted or "tools" not in self.native.abilities or self._adaptation.is_prompted

    def _endpoint(self, prompt: Prompt) -> HttpEndpoint:
        adapted = self.adapted
        if not self._through_prompt:
            return adapted
        self.offered.update(tool.name for tool in prompt.tools)
        form = self.tool_format or format_for(adapted.abilities)
        return replace(adapted, wire=PromptedWire(adapted.wire, self.fence, format=form, names=self.offered))

    def _adapt_prompt(self, prompt: Prompt) -> Prompt:
        """Leave out images of results and tools that must not be called, for a model that refuses them."""
        if not self._takes_images:
            prompt = without_result_images(prompt, self.model)
        if not (prompt.is_final and self._adaptation.needs_choice):
            return prompt
        return replace(prompt, tools=(), tool_choice="auto", is_final=False)

    @property
    def _takes_images(self) -> bool:
        """Whether the model may take images; that of a server without a name may."""
        return not self._adaptation.takes_no_images and ("images" in self.abilities or not self.provider)

    def _adapt(self, error: ProviderError | Unsupported, prompt: Prompt, dialects: set[str]) -> str | None:
        """Remember the change after a refusal, and return its notice; None if nothing can be changed.

        `dialects` are those that this request was sent in.
        """
        adaptation, native = self._adaptation, self.adapted
        if prompt.is_final and not self._through_prompt and not adaptation.needs_choice and is_choice_refused(error):
            self._remember(replace(adaptation, needs_choice=True))
            return NEEDS_CHOICE.format(model=self.model)
        if self._takes_images and has_result_images(prompt) and is_image_refused(error):
            self._remember(replace(adaptation, takes_no_images=True))
            return NO_IMAGES.format(model=self.model)
        if isinstance(error, ToolsNotSupported) and prompt.tools:
            if self._through_prompt or not self.may_prompt:
                return None
            self._remember(replace(adaptation, is_prompted=True))
            return f"{self.model} does not support native tools; they are described in the prompt instead."
        refused = find_dialect(native.dialect)
        if self._is_wire_refused(error, refused) and refused.beside not in dialects:
            self._remember(replace(adaptation, wire=refused.beside))
            beside = find_dialect(refused.beside)
            return f"{self.model} does not take this request over {refused.label}; {beside.label} is used instead."
        if isinstance(error, ProviderError) and (field := refused_field(error, native.abilities)):
            abilities, used = field.without(native.abilities), self._endpoint(prompt)
            if replace(used, abilities=abilities).preview(prompt).body == used.preview(prompt).body:
                return None  # an option of the user sends it
            self._remember(replace(adaptation, abilities=abilities))
            return field.notice.format(model=self.model)
        return None

    def _remember(self, adaptation: Adaptation) -> None:
        if adaptation.wire and adaptation.wire != self._adaptation.wire:
            cache_wire(self.host, self.model, adaptation.wire)
        _adaptations[self.host, self.model] = adaptation

    def _has_lost_reasoning(self, end: ReplyEnd) -> bool:
        """Whether the reasoning of this reply cannot go back; True once for each model."""
        adaptation = self._adaptation
        may_lose = find_dialect(self.dialect).may_lose_reasoning
        if adaptation.has_lost_reasoning or not may_lose or not isinstance(end.native, list):
            return False
        if not end.native or is_replayable(end.native):
            return False
        self._remember(replace(adaptation, has_lost_reasoning=True))
        return NO_ENCRYPTED_REASONING not in self.adapted.abilities

    def _is_wire_refused(self, error: ProviderError | Unsupported, dialect: Dialect) -> bool:
        if not (self.may_change_wire and dialect.beside):
            return False
        if isinstance(error, Unsupported | WireNotSupported):
            return True
        return dialect.may_lack_path and type(error) is ProviderError and error.status in _UNKNOWN_PATH

"""What a request used: its tokens by kind, the model that answered, and the cost."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cache

from nbtool.audience import NESTED, OWN, TEXT


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens that a request used; `cost` in US dollars if it is known.

    `cached_tokens` (read from the provider's cache) and `cache_write_tokens` are part of `input_tokens`,
    `cache_write_1h_tokens` (kept for an hour) of the latter, `thinking_tokens` of `output_tokens`. Tokens of sound and
    images are part of input, output or cached tokens, by their names. `web_searches` counts searches of the provider.

    `model` is the model that answered, if the reply names it. `steps` are further steps of the request, each with its
    own model (Claude's compaction and advisor, models that declined); they are part of the counts.

    `is_cost_estimated`: the cost, or a part of it, is not reported by the provider but computed from the tokens, or a
    part is unknown. `is_cost_unknown`: the requests are charged, but at an unknown price. `lacks_tool_cost`: the
    computed cost lacks what the provider charges for tools that it runs, such as searches.
    """

    input_tokens: int = field(default=0, metadata=OWN)
    output_tokens: int = field(default=0, metadata=OWN)
    cached_tokens: int = field(default=0, metadata=OWN)
    thinking_tokens: int = field(default=0, metadata=OWN)
    cost: float | None = field(default=None, metadata=OWN)
    cache_write_tokens: int = field(default=0, metadata=OWN)
    is_cost_estimated: bool = field(default=False, metadata=OWN)
    is_cost_unknown: bool = field(default=False, metadata=OWN)
    lacks_tool_cost: bool = field(default=False, metadata=OWN)
    cache_write_1h_tokens: int = field(default=0, metadata=OWN)
    input_audio_tokens: int = field(default=0, metadata=OWN)
    output_audio_tokens: int = field(default=0, metadata=OWN)
    cached_audio_tokens: int = field(default=0, metadata=OWN)
    input_image_tokens: int = field(default=0, metadata=OWN)
    output_image_tokens: int = field(default=0, metadata=OWN)
    cached_image_tokens: int = field(default=0, metadata=OWN)
    web_searches: int = field(default=0, metadata=OWN)
    model: str = field(default="", metadata=TEXT)
    steps: tuple[Usage, ...] = field(default=(), metadata=NESTED)

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        """Return the sum; it has the model of its parts if that is the same, and no steps."""
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            **{name: getattr(self, name) + getattr(other, name) for name in count_names()},
            cost=sum(costs) if costs else None,
            is_cost_estimated=bool(costs)
            and any(usage.is_cost_estimated or usage.is_unpriced for usage in (self, other)),
            is_cost_unknown=self.is_cost_unknown or other.is_cost_unknown,
            lacks_tool_cost=self.lacks_tool_cost or other.lacks_tool_cost,
            model=_common_model(self, other),
        )

    def with_steps(self, steps: tuple[Usage, ...]) -> Usage:
        """Return the usage with further steps, added to its counts."""
        counts = {name: getattr(self, name) + sum(getattr(step, name) for step in steps) for name in count_names()}
        return replace(self, **counts, steps=(*self.steps, *steps)) if steps else self

    def parts(self) -> tuple[Usage, ...]:
        """Return what the answering model used itself, and each further step."""
        if not self.steps:
            return (self,)
        of_steps = {name: sum(getattr(step, name) for step in self.steps) for name in count_names()}
        counts = {name: max(0, getattr(self, name) - taken) for name, taken in of_steps.items()}
        return (replace(self, **counts, steps=()), *self.steps)

    def bounded(self) -> Usage:
        """Return the usage with every count within those that it is part of: servers send impossible numbers."""
        cached = min(self.cached_tokens, self.input_tokens)
        written = min(self.cache_write_tokens, self.input_tokens - cached)
        audio = min(self.input_audio_tokens, self.input_tokens)
        image = min(self.input_image_tokens, self.input_tokens - audio)
        least = max(0, cached - (self.input_tokens - audio - image))  # more was cached than there is text
        cached_audio = min(max(self.cached_audio_tokens, min(least, audio)), cached, audio)
        cached_image = min(max(self.cached_image_tokens, least - cached_audio), cached - cached_audio, image)
        output_audio = min(self.output_audio_tokens, self.output_tokens)
        return replace(
            self,
            cached_tokens=cached,
            cache_write_tokens=written,
            cache_write_1h_tokens=min(self.cache_write_1h_tokens, written),
            thinking_tokens=min(self.thinking_tokens, self.output_tokens),
            input_audio_tokens=audio,
            input_image_tokens=image,
            cached_audio_tokens=cached_audio,
            cached_image_tokens=cached_image,
            output_audio_tokens=output_audio,
            output_image_tokens=min(self.output_image_tokens, self.output_tokens - output_audio),
        )

    @property
    def is_unpriced(self) -> bool:
        """Whether there are tokens of unknown cost."""
        return self.cost is None and self.total_tokens > 0


@cache
def count_names() -> tuple[str, ...]:
    """Return the names of the fields that are counts."""
    return tuple(item.name for item in fields(Usage) if item.type == "int")


def _common_model(usage: Usage, other: Usage) -> str:
    """Return the model of both; of the one that has counts, if the other has none."""
    if usage.model == other.model or not other.total_tokens:
        return usage.model
    return "" if usage.total_tokens else other.model

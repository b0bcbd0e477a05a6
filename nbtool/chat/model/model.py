"""The model of a chat, the source of its choice, and its endpoint."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Literal
from uuid import uuid4

from nbtool import practice
from nbtool.argument_check import check_arguments
from nbtool.clock import monotonic
from nbtool.errors import BadUsage, NbtoolError, UnknownModel
from nbtool.policy import site_policy
from nbtool.secret import Secret
from nbtool.server_url import parse_server_url
from nbtool.text import shorten
from nbtool.threads.loop import background_loop, run_sync
from nbtool.wire.agents.agent import AgentEndpoint, make_agent_endpoint
from nbtool.wire.agents.profiles import find_profile, is_agent_id
from nbtool.wire.base import Endpoint, Retries
from nbtool.wire.dialect import PromptFormatName
from nbtool.wire.endpoints.adaptive_endpoint import AdaptiveEndpoint
from nbtool.wire.endpoints.model_endpoint import (
    find_provider,
    is_in_process,
    make_endpoint,
    provider_of,
    register_local_server,
)
from nbtool.wire.providers.catalog import providers
from nbtool.wire.providers.connection import Connection
from nbtool.wire.providers.env_consent import check_allowed
from nbtool.wire.providers.listed_model import ListedModel
from nbtool.wire.providers.model_cache import cache_models, cached_models
from nbtool.wire.providers.model_kinds import MEDIA_KINDS
from nbtool.wire.providers.model_prices import ModelPrice, find_model_price
from nbtool.wire.transport.http_endpoint import HttpEndpoint
from nbtool.wire.transport.models.default_model import Discovery, cached_default, destination, find_model
from nbtool.wire.transport.models.model_list import LIST_SECONDS, fetch_models
from nbtool.wire.transport.request.expiring_keys import KeySource

ToolMode = Literal["auto", "native", "prompted"]

PRACTICE = "practice"
"""The provider of the practice model."""

register_local_server(PRACTICE, practice.start)

NEAR = 0.5
"""How much of the name of a practice model has to be the same for it to be proposed."""

MAX_NAME = 64
"""Characters of an unknown name of a practice model that are shown."""

REFRESH_SECONDS = 3.0
"""Time limit for the list of models from which the default one is chosen."""

HELD_SECONDS = 1.0
"""How long the prompts of a map use an endpoint before the settings and keys are looked up again."""

BY_USER = "set by you"
"""The source of a model that is named by a cell or an argument."""


@dataclass(slots=True)
class _HeldEndpoint:
    clock: Callable[[], float]
    endpoint: HttpEndpoint | None = None
    until: float = 0.0

    def find(self, make: Callable[[str | None], HttpEndpoint], wire: str | None) -> HttpEndpoint:
        now = self.clock()
        if self.endpoint is None or now >= self.until:
            self.endpoint, self.until = make(wire), now + HELD_SECONDS
        return self.endpoint


@check_arguments
@dataclass(frozen=True)
class Model:
    """The model of a chat.

    `model_id` is `provider:model`; None selects one that is available. `wire` is a dialect, or a custom endpoint.
    `chosen_by` describes who chose it; a model from a setting is replaced by another setting. One that `keeps_access`
    was chosen among the models of its predecessor's server. `fence` is the random token that marks this chat's calls
    where tools go through the prompt. `is_unnamed`: nobody has named it for the history that its chat was opened with.
    """

    model_id: str | None = None
    base_url: str | None = None
    api_key: Secret | KeySource | None = None
    wire: str | Endpoint | None = None
    tool_mode: ToolMode = "auto"
    chosen_by: str = BY_USER
    is_from_setting: bool = False
    keeps_access: bool = False
    connection: Connection = field(default_factory=Connection)
    tool_format: PromptFormatName | None = None
    is_unnamed: bool = False
    _held: ClassVar[_HeldEndpoint | None] = None

    @cached_property
    def fence(self) -> str:
        """A random token of this chat, which tool results cannot guess."""
        return uuid4().hex[:8]

    @cached_property
    def _resolved(self) -> Discovery:
        if self.wire is not None and not isinstance(self.wire, str):
            return Discovery(self.wire.model, "a custom endpoint")
        return Discovery(self.model_id, self.chosen_by) if self.model_id else find_model()

    @property
    def name(self) -> str:
        """The model's id."""
        return self._resolved.model_id

    @property
    def is_named(self) -> bool:
        """Whether a person has named its server, by a cell, an argument or a setting, and not before the history."""
        has_server = bool(self.base_url) or not isinstance(self.wire, str | None)
        return not self.is_unnamed and bool(has_server or self.model_id or self._resolved.setting)

    def refresh_default(self) -> None:
        """Choose the default model among those that its provider lists now; within a day they are not fetched again.

        Without a list, after `REFRESH_SECONDS` at most, the default stays as it is.
        """
        if not self._resolved.is_default or background_loop().is_current():
            return
        provider = find_provider(self.name)
        if cached_models(provider.name) is None:
            with suppress(NbtoolError):
                self._fetch_models(seconds=REFRESH_SECONDS)
        name = f"{provider.name}:{cached_default(provider)}"
        vars(self)["_resolved"] = self._resolved._replace(model_id=name)

    def _native(self) -> HttpEndpoint:
        """Return the endpoint without fallbacks, of the provider rather than of one kind of model."""
        name, _, _ = self.name.partition(":")
        model_id = (self.model_id or "models") if self.base_url else f"{name}:models"
        return make_endpoint(model_id, base_url=self.base_url, api_key=self.api_key, connection=self.connection)

    def _fetch_models(self, *, seconds: float = LIST_SECONDS) -> list[ListedModel]:
        native = self._native()
        if not is_in_process(native.provider):
            check_allowed([self._resolved.setting], native.host)
        models = run_sync(fetch_models(native, seconds=seconds))
        if native.is_own_host:
            cache_models(native.provider, models)
        return models

    @property
    def reason(self) -> str:
        """Why this model was selected."""
        return self._resolved.reason

    def with_changes(
        self,
        model_id: str | None,
        *,
        wire: str | None = None,
        tool_mode: ToolMode | None = None,
        tool_format: PromptFormatName | None = None,
    ) -> Model:
        """Return a copy with another model, wire or tool mode; None keeps the current value.

        The base URL, the API key and the connection belong to the server: only another model of it gets them.
        """
        access = replace(self, is_unnamed=False) if model_id and self.is_unnamed else self
        if model_id and model_id != self.model_id:
            if not self.is_same_server(model_id):
                return Model(model_id, wire=wire, tool_mode=tool_mode or self.tool_mode, tool_format=tool_format)
            access = replace(
                self, model_id=model_id, chosen_by=BY_USER, is_from_setting=False, keeps_access=True,
                wire=self.wire if self.base_url else None, tool_format=None, is_unnamed=False,
            )  # fmt: skip
        changed = replace(
            access,
            wire=wire or access.wire,
            tool_mode=tool_mode or self.tool_mode,
            tool_format=tool_format or access.tool_format,
        )
        return self if changed == self else changed

    def is_same_server(self, model_id: str) -> bool:
        """Whether an id names a model of the server whose address, key or connection this model has."""
        if not (self.base_url or self.api_key or self.connection) or not isinstance(self.wire, str | None):
            return False
        own = provider_of(self.model_id or "models", self.base_url)
        return own is not None and own == provider_of(model_id, self.base_url)

    def with_default(self, model_id: str | None, *, chosen_by: str) -> Model:
        """Return a copy with the model of a setting (None: one that is available), unless a cell has chosen one."""
        if model_id == self.model_id or (self.model_id and not self.is_from_setting):
            return self
        by = chosen_by if model_id else BY_USER
        return replace(
            self,
            model_id=model_id,
            chosen_by=by,
            is_from_setting=bool(model_id),
            is_unnamed=self.is_unnamed and not model_id,
        )

    def endpoint(self, retries: Retries | None = None) -> Endpoint:
        """Return the endpoint of the model; `retries` replace those of its requests, unless it is the user's own.

        Raises:
            nbtool.errors.ModelError: the model is unknown, has no API key, or is named by a `.env` without consent.
            nbtool.errors.PolicyRefused: the administrator's policy does not allow its address.
        """
        if self.wire is not None and not isinstance(self.wire, str):
            site_policy().check_custom_endpoint(self.wire)
            return self.wire
        if self.is_agent:
            return self._agent_endpoint()
        native = (
            self._make_endpoint(self.wire) if self._held is None else self._held.find(self._make_endpoint, self.wire)
        )
        native = native.with_retries(retries) if retries else native
        if native.dialect in MEDIA_KINDS:
            return native  # models that generate images or sound do not support tools
        return AdaptiveEndpoint(
            native,
            self.fence,
            always_prompted=self.tool_mode == "prompted",
            may_prompt=self.tool_mode != "native",
            may_change_wire=self.wire is None,
            tool_format=self.tool_format,
        )

    def _make_endpoint(self, wire: str | None) -> HttpEndpoint:
        native = make_endpoint(
            self.name, base_url=self.base_url, api_key=self.api_key, wire=wire, connection=self.connection
        )
        if not is_in_process(native.provider):
            check_allowed([self._resolved.setting], native.host)
        if self.is_in_kernel and native.model not in practice.names():
            raise _no_practice_model(native.model)
        return native

    def holding_endpoint(self, clock: Callable[[], float] = monotonic) -> Model:
        """Return the same model for many turns in succession: for `HELD_SECONDS` they share what settings say of it."""
        held = copy(self)
        vars(held)["_held"] = _HeldEndpoint(clock)
        return held

    @property
    def is_agent(self) -> bool:
        """Whether it is an agent, a program on this machine (`acp:claude`), and no model."""
        return isinstance(self.wire, str | None) and is_agent_id(self.name)

    def _agent_endpoint(self) -> AgentEndpoint:
        settings = {
            "base_url": self.base_url, "api_key": self.api_key, "wire": self.wire, "headers": bool(self.connection),
            "tool_mode": self.tool_mode != "auto", "tool_format": self.tool_format,
        }  # fmt: skip
        if given := next((name for name, value in settings.items() if value), ""):
            raise BadUsage(f"{self.name} is an agent, which has no {given}.", fix=f"Leave out {given}.")
        return make_agent_endpoint(self.name)

    @property
    def destination(self) -> str:
        """The host of requests, "" for an in-process model; starts nothing and sends nothing.

        Raises:
            nbtool.errors.NbtoolError: the model is unknown, or its URL is invalid.
        """
        if self.wire is not None and not isinstance(self.wire, str):
            return self.wire.host
        if self.is_agent:
            return find_profile(self.name).model_id
        return parse_server_url(self.base_url).netloc if self.base_url else destination(self.name)[0]

    @property
    def is_in_kernel(self) -> bool:
        """Whether it is the practice model, which runs in this process: it charges nothing, and nothing leaves."""
        has_server = bool(self.base_url) or not (self.wire is None or isinstance(self.wire, str))
        return not has_server and self.name.partition(":")[0].lower() == PRACTICE

    @property
    def guidance(self) -> str:
        """What the practice model understands; empty for any other model."""
        return practice.describe() if self.is_in_kernel else ""

    @property
    def foreign_host(self) -> str:
        """The host of requests where it is not the provider's own, such as a gateway; "" otherwise, or if unknown."""
        if self.is_agent or not isinstance(self.wire, str | None):
            return ""
        provider = providers().get(self.name.partition(":")[0].lower())
        with suppress(NbtoolError):
            own = parse_server_url(provider.base_url).netloc if provider and provider.base_url else ""
            is_own = provider is not None and (self.destination == own or not (own or self.base_url))
            return "" if is_own else self.destination
        return ""

    @property
    def address(self) -> str:
        """The base URL of requests."""
        endpoint = self.endpoint()
        native = endpoint.native if isinstance(endpoint, AdaptiveEndpoint) else endpoint
        return native.base_url if isinstance(native, HttpEndpoint) else native.host

    def list_models(self) -> list[str]:
        """Return the ids of the models that the provider lists. Raises: as `fetch_models`."""
        return self.model_ids_of([model.name for model in self.fetch_models()])

    def fetch_models(self) -> list[ListedModel]:
        """Return the models that the provider lists, with what it says of them.

        Raises:
            nbtool.errors.NbtoolError: the server does not list its models, or cannot be reached.
        """
        if self.wire is not None and not isinstance(self.wire, str):
            raise BadUsage("A custom endpoint has no list of models.")
        if self.is_agent:
            raise BadUsage(f"{self.name} is an agent, which has no list of models.")
        return self._fetch_models()

    def prices_of(self, models: Iterable[str]) -> list[ModelPrice]:
        """Return the prices of models of the same provider, if known; the first takes some tenths of a second."""
        native = self._native()
        provider = native.provider if native.is_own_host else ""
        return [find_model_price(provider, model, base_url=native.base_url) for model in models]

    def model_ids_of(self, names: Iterable[str]) -> list[str]:
        """Return the ids, for `model`, of models in the provider's list."""
        provider = self._native().provider
        return [f"{provider}:{name}" if provider else name for name in names]


def _no_practice_model(name: str) -> UnknownModel:
    names = practice.names()
    near = difflib.get_close_matches(name, names, n=1, cutoff=NEAR)
    listing = ", ".join(f"{PRACTICE}:{item}" for item in names)
    fix = f"Did you mean {PRACTICE}:{near[0]}?" if near else f"Available: {listing}."
    return UnknownModel(f"There is no practice model {shorten(name, MAX_NAME)!r}.", fix=fix)

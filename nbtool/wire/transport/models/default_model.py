"""Find the default model: a setting, a provider with a key, a local server, or the practice model."""

from __future__ import annotations

import http.client
import json
from concurrent.futures import ThreadPoolExecutor, wait
from typing import NamedTuple
from urllib.parse import urlsplit

from nbtool.errors import InvalidReply
from nbtool.policy import site_policy
from nbtool.threads.threadless import suspension
from nbtool.wire.providers.catalog import providers
from nbtool.wire.providers.credentials import (
    Credential,
    configured_url,
    find_key,
    lookup,
)
from nbtool.wire.providers.model_cache import cached_names
from nbtool.wire.providers.model_data import default_model_of
from nbtool.wire.providers.model_id import parse_model
from nbtool.wire.providers.provider import Provider
from nbtool.wire.transport.response.decompression import BodyReader

PRACTICE_MODEL = "practice:default"

PROBE_SECONDS = 0.15
"""Seconds to wait for all local servers together."""

_MAX_LIST = 256 * 1024


class Discovery(NamedTuple):
    """The default model: its id, a short reason, and the setting that names it.

    `is_default`: it is the default model of a provider, which may be chosen again once its models are listed.
    """

    model_id: str
    reason: str
    setting: Credential | None = None
    is_default: bool = False


def default_model() -> tuple[str, str]:
    """Return the id of the default model and a short reason; see `find_model`."""
    discovery = find_model()
    return discovery.model_id, discovery.reason


def find_model() -> Discovery:
    """Return the default model.

    Accesses no network but loopback. In this order: `NBTOOL_MODEL`, a provider whose key is set, a local server that
    answers on its default port, the practice model.
    """
    if configured := lookup(("NBTOOL_MODEL",)):
        return Discovery(configured.value.get_secret_value(), configured.source, configured)
    catalog = providers().values()
    for provider in catalog:
        has_address = (provider.base_url or lookup(provider.addresses)) and _is_allowed(provider)
        if provider.needs_key and provider.default_model and has_address and (credential := find_key(provider)):
            return Discovery(
                f"{provider.name}:{cached_default(provider)}", f"{credential.source} is set", is_default=True
            )
    local = [provider for provider in catalog if provider.port and _is_here(provider.base_url)]
    for provider, model in zip(local, _probe_servers(local), strict=True):
        if model:
            return Discovery(f"{provider.name}:{model}", f"{provider.name} answers on port {provider.port}")
    return Discovery(PRACTICE_MODEL, "no key and no local server was found")


def _is_here(url: str) -> bool:
    return urlsplit(url).hostname == "127.0.0.1" and site_policy().allows_model_url(url)


def _is_allowed(provider: Provider) -> bool:
    """Whether the administrator's policy allows the address of a provider."""
    url, _ = configured_url(provider, provider.wire)
    return url is None or site_policy().allows_model_url(str(url))


def cached_default(provider: Provider) -> str:
    """Return the default model of a provider: of the models that it listed lately, else the one that ships."""
    if provider.default_model != default_model_of(provider.name):
        return provider.default_model  # the user's own file names it
    return default_model_of(provider.name, cached_names(provider.name))


def destination(model_id: str) -> tuple[str, bool]:
    """Return the host of a model's requests, "" for one in this process, and whether only a `.env` names it.

    Raises:
        nbtool.errors.NbtoolError: the model is unknown, or a setting cannot be read.
    """
    provider, _ = parse_model(model_id)
    url, credential = configured_url(provider, provider.wire)
    return url.netloc if url else "", bool(credential and credential.from_env_file)


def _probe_servers(local: list[Provider]) -> list[str]:
    """Return the first model of each local server, queried concurrently; none where no socket can be opened."""
    if suspension():
        return [""] * len(local)
    pool = ThreadPoolExecutor(max(1, len(local)), thread_name_prefix="nbtool-probe")
    requests = [pool.submit(_first_model, provider.base_url) for provider in local]
    wait(requests, timeout=PROBE_SECONDS)
    pool.shutdown(wait=False, cancel_futures=True)
    return [future.result() if future.done() and not future.cancelled() else "" for future in requests]


def _first_model(base_url: str, seconds: float = PROBE_SECONDS) -> str:
    """Return the first model of a local server; empty if no server, or another service, listens there."""
    parts = urlsplit(base_url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=seconds)
    try:
        connection.request("GET", f"{parts.path}/models", headers={"connection": "close"})
        answer = connection.getresponse()
        reader = BodyReader(answer.headers.get("content-encoding", ""), _MAX_LIST, base_url)
        body = b"".join(reader.feed(answer.read(_MAX_LIST)))
        value = json.loads(body) if answer.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError, RecursionError, InvalidReply):
        return ""
    finally:
        connection.close()
    models = value.get("data") if isinstance(value, dict) else None
    names = [model.get("id") for model in models if isinstance(model, dict)] if isinstance(models, list) else []
    return next((name for name in names if isinstance(name, str) and name and "embed" not in name), "")

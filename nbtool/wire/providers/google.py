"""The addresses of Google: its own dialect, the one compatible with OpenAI, and Vertex AI by project and location."""

from __future__ import annotations

import re
from dataclasses import replace

from nbtool.errors import SettingsError
from nbtool.server_url import ServerUrl

GOOGLE_WIRE = "gemini"
"""Google's own dialect."""

STUDIO_HOST = "generativelanguage.googleapis.com"
"""The host of Gemini's own interface (AI Studio)."""

COMPATIBLE_PATH = "/openai"
"""What follows the path of Gemini's own interface for the one that is compatible with OpenAI."""

PROJECT_VARIABLES = ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION")
"""The variables of a project and its location, as Google's own libraries read them."""

GLOBAL = "global"
"""The location of the endpoint of Vertex AI that belongs to no region."""

_VERTEX_HOST = re.compile(r"(?:[a-z0-9-]+-)?aiplatform\.googleapis\.com")
_VERTEX_PATH, _VERTEX_COMPATIBLE_PATH = "/publishers/google", "/endpoints/openapi"
_NATIVE_VERSION = re.compile(r"/v\d+(?:beta|alpha)\d*(?:/models)?$")
_PROJECT = re.compile(r"[a-z0-9.:-]{1,100}")
_LOCATION = re.compile(r"[a-z0-9-]{1,40}")


def wire_at(url: ServerUrl, *, is_google: bool = False) -> str:
    """Return the dialect that an address of Google's shape speaks; empty for any other address.

    If the provider `is_google`, the address is a gateway's, and a version such as `v1beta` is enough.
    """
    is_own = url.host == STUDIO_HOST and not url.path.endswith(COMPATIBLE_PATH)
    is_version = is_google and bool(_NATIVE_VERSION.search(url.path))
    return GOOGLE_WIRE if is_own or is_version or f"{_VERTEX_PATH}/" in f"{url.path}/" else ""


def is_vertex(url: ServerUrl) -> bool:
    """Whether an address is Google's own of Vertex AI, which takes access tokens only."""
    return url.scheme == "https" and bool(_VERTEX_HOST.fullmatch(url.host))


def at_wire(url: ServerUrl, wire: str) -> ServerUrl:
    """Return an address as a wire wants it: all but Gemini's own use the path that is compatible with OpenAI."""
    if wire == GOOGLE_WIRE:
        return replace(url, path=url.path.removesuffix(COMPATIBLE_PATH).removesuffix("/models"))
    if url.host == STUDIO_HOST and not url.path.endswith(COMPATIBLE_PATH):
        return replace(url, path=url.path + COMPATIBLE_PATH)
    if is_vertex(url) and (path := url.path.removesuffix("/models")).endswith(_VERTEX_PATH):
        return replace(url, path=path.removesuffix(_VERTEX_PATH) + _VERTEX_COMPATIBLE_PATH)
    return url


def vertex_url(project: str, location: str) -> str:
    """Return the address of a project's models on Vertex AI.

    Raises:
        nbtool.errors.SettingsError: the project or the location is invalid.
    """
    location = location or GLOBAL
    for name, value, pattern in zip(PROJECT_VARIABLES, (project, location), (_PROJECT, _LOCATION), strict=True):
        if not pattern.fullmatch(value):
            raise SettingsError(f"{name} contains invalid characters.", fix="Write its id, such as europe-west1.")
    prefix = "" if location == GLOBAL else f"{location}-"
    path = f"projects/{project}/locations/{location}/publishers/google"
    return f"https://{prefix}aiplatform.googleapis.com/v1/{path}"

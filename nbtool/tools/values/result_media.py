"""Extract the images and sounds of a result for display with the call.

The images sent to the model are selected elsewhere (`record.extract_images`); here objects may render themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

from nbtool.messages import Media
from nbtool.mime import IMAGES, sniff
from nbtool.tools.values.named_parts import MultipartResult
from nbtool.tools.values.output_suppression import suppress_output

MAX_MEDIA = 8
"""Maximum number of images and sounds shown per result."""

MAX_MEDIA_BYTES = 4 * 1024 * 1024
"""Maximum size in bytes of an image or a sound."""

_SCALARS = frozenset({type(None), bool, int, float, complex, str})
_DISPLAYABLE_PACKAGES = frozenset({"PIL", "matplotlib", "IPython"})
"""Packages whose objects may render themselves; others are skipped."""


def may_have_media(value: Any) -> bool:
    """Whether a result may contain media: cheap, and always False for texts and numbers."""
    return any(type(item) not in _SCALARS for item in _items(value))


def extract_media(value: Any) -> tuple[tuple[Media, ...], int]:
    """Return the images and sounds that a result is or contains, and how many were omitted.

    The format is detected from the bytes. Media that are too large, and those after the first `MAX_MEDIA`, are only
    counted.
    """
    with suppress_output():
        items = [media for item in _items(value) if (media := _render_item(item))]
    displayed = [media for media in items if len(media.data or b"") <= MAX_MEDIA_BYTES][:MAX_MEDIA]
    return tuple(displayed), len(items) - len(displayed)


def _items(value: Any) -> Iterator[Any]:
    if isinstance(value, MultipartResult):
        value = value.get("figures", ())
    elif type(value) is dict:
        value = list(value.values())
    yield from value if type(value) in (list, tuple) else (value,)


def _render_item(item: Any) -> Media | None:
    """Render one item; None if it is no media or cannot be rendered."""
    if isinstance(item, Media):
        return _checked_media(item.data, item.name)
    if isinstance(item, bytes | bytearray):
        return _checked_media(bytes(item), "")
    if type(item).__module__.partition(".")[0] not in _DISPLAYABLE_PACKAGES:
        return None
    for render in (_notebook_repr, _figure_png, _raw_bytes):
        try:
            if media := _checked_media(render(item), ""):
                return media
        except Exception:  # noqa: BLE001 - an item that cannot be rendered is shown as text only
            continue
    return None


def _checked_media(data: Any, name: str) -> Media | None:
    """Return bytes as media if they are a displayable image or a sound."""
    mime = sniff(data) if isinstance(data, bytes) else ""
    return Media(mime, data=data, name=name) if mime in IMAGES or mime.startswith("audio/") else None


def _notebook_repr(item: Any) -> Any:
    """Call the notebook representation methods.

    See https://ipython.readthedocs.io/en/stable/config/integrating.html
    """
    render: Callable[[], Any] | None = getattr(item, "_repr_png_", None) or getattr(item, "_repr_jpeg_", None)
    rendered = render() if render else None
    return rendered[0] if isinstance(rendered, tuple) else rendered


def _figure_png(item: Any) -> Any:
    figure = item if hasattr(item, "savefig") else item.get_figure()
    file = BytesIO()
    figure.savefig(file, format="png", bbox_inches="tight")
    return file.getvalue()


def _raw_bytes(item: Any) -> Any:
    return item.data

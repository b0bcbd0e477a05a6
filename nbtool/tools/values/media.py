"""The images and sounds that a result is or holds, for the person's eyes and ears: the view shows them with the call.

What a model sees is another matter (`record.extract_images`): here objects that can draw themselves are asked to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

from nbtool.messages import Media
from nbtool.mime import IMAGES, sniff
from nbtool.tools.values.multipart import MultipartResult
from nbtool.tools.values.silence import suppress_output

MAX_MEDIA = 8
"""Images and sounds of one result that are shown."""

MAX_MEDIA_BYTES = 4 * 1024 * 1024
"""Bytes of an image or a sound that is shown."""

_SCALARS = frozenset({type(None), bool, int, float, complex, str})
_DISPLAYABLE_PACKAGES = frozenset({"PIL", "matplotlib", "IPython"})
"""Packages whose objects are asked to draw themselves; those of others are left alone."""


def may_have_media(value: Any) -> bool:
    """Whether a result may hold anything to be seen or heard: cheap, and never wrong about a text or a number."""
    return any(type(item) not in _SCALARS for item in _items(value))


def extract_media(value: Any) -> tuple[tuple[Media, ...], int]:
    """Give the images and sounds that a result is, or has in its list, values or figures; and how many are left out.

    Their bytes say what they are. Too large ones, and those after the first `MAX_MEDIA`, are counted alone.
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
    """Draw one thing; None where it is neither to be seen nor heard, or cannot be drawn."""
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
        except Exception:  # noqa: BLE001 - what cannot be drawn is told as text alone
            continue
    return None


def _checked_media(data: Any, name: str) -> Media | None:
    """Take bytes for what they are: an image that every page can show, or a sound."""
    mime = sniff(data) if isinstance(data, bytes) else ""
    return Media(mime, data=data, name=name) if mime in IMAGES or mime.startswith("audio/") else None


def _notebook_repr(item: Any) -> Any:
    """Ask as a notebook does.

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

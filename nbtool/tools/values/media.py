"""The images and sounds that a result is or holds, for the person's eyes and ears: the view shows them with the call.

What a model sees is another matter (`record.images_in`): here objects that can draw themselves are asked to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

from nbtool.messages import Media
from nbtool.mime import IMAGES, sniff
from nbtool.tools.values.multipart import Parts
from nbtool.tools.values.silence import quiet

MAX_PICTURES = 8
"""Images and sounds of one result that are shown."""

MAX_PICTURE_BYTES = 4 * 1024 * 1024
"""Bytes of an image or a sound that is shown."""

_SCALARS = frozenset({type(None), bool, int, float, complex, str})
_DRAWERS = frozenset({"PIL", "matplotlib", "IPython"})
"""Packages whose objects are asked to draw themselves; those of others are left alone."""


def may_be_seen(value: Any) -> bool:
    """Whether a result may hold anything to be seen or heard: cheap, and never wrong about a text or a number."""
    return any(type(item) not in _SCALARS for item in _items(value))


def pictures_in(value: Any) -> tuple[tuple[Media, ...], int]:
    """Give the images and sounds that a result is, or has in its list, values or figures; and how many are left out.

    Their bytes say what they are. Too large ones, and those after the first `MAX_PICTURES`, are counted alone.
    """
    with quiet():
        found = [media for item in _items(value) if (media := _drawn(item))]
    shown = [media for media in found if len(media.data or b"") <= MAX_PICTURE_BYTES][:MAX_PICTURES]
    return tuple(shown), len(found) - len(shown)


def _items(value: Any) -> Iterator[Any]:
    if isinstance(value, Parts):
        value = value.get("figures", ())
    elif type(value) is dict:
        value = list(value.values())
    yield from value if type(value) in (list, tuple) else (value,)


def _drawn(item: Any) -> Media | None:
    """Draw one thing; None where it is neither to be seen nor heard, or cannot be drawn."""
    if isinstance(item, Media):
        return _checked(item.data, item.name)
    if isinstance(item, bytes | bytearray):
        return _checked(bytes(item), "")
    if type(item).__module__.partition(".")[0] not in _DRAWERS:
        return None
    for draw in (_as_notebook, _as_figure, _as_held):
        try:
            if media := _checked(draw(item), ""):
                return media
        except Exception:  # noqa: BLE001 - what cannot be drawn is told as text alone
            continue
    return None


def _checked(data: Any, name: str) -> Media | None:
    """Take bytes for what they are: an image that every page can show, or a sound."""
    found = sniff(data) if isinstance(data, bytes) else ""
    return Media(found, data=data, name=name) if found in IMAGES or found.startswith("audio/") else None


def _as_notebook(item: Any) -> Any:
    """Ask as a notebook does.

    See https://ipython.readthedocs.io/en/stable/config/integrating.html
    """
    draw: Callable[[], Any] | None = getattr(item, "_repr_png_", None) or getattr(item, "_repr_jpeg_", None)
    drawn = draw() if draw else None
    return drawn[0] if isinstance(drawn, tuple) else drawn


def _as_figure(item: Any) -> Any:
    figure = item if hasattr(item, "savefig") else item.get_figure()
    file = BytesIO()
    figure.savefig(file, format="png", bbox_inches="tight")
    return file.getvalue()


def _as_held(item: Any) -> Any:
    return item.data

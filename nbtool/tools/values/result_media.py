"""Extract the images and sounds of a result: for display with the call, and the images for a model that sees."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from typing import Any

from nbtool.messages import Media
from nbtool.mime import IMAGES, sniff
from nbtool.tools.values.named_parts import MultipartResult
from nbtool.tools.values.output_suppression import suppress_output
from nbtool.tools.values.scalar_form import dtype_kind

MAX_MEDIA = 8
"""Maximum number of images and sounds shown per result."""

MAX_MEDIA_BYTES = 4 * 1024 * 1024
"""Maximum size in bytes of an image or a sound."""

MAX_SEARCHED = 1_000
"""Maximum number of items of containers that are searched."""

MAX_DEPTH = 5
"""Maximum nesting of the containers that are searched."""

_SCALARS = frozenset({type(None), bool, int, float, complex, str})
_DRAWING_PACKAGES = frozenset({"PIL", "matplotlib", "IPython"})
"""Packages whose objects are pictures or sounds, or have a figure."""

_PICTURE_METHODS = ("_repr_png_", "_repr_jpeg_")


@dataclass(frozen=True, slots=True)
class ResultMedia:
    """The images and sounds of a result, how many were omitted, and how many of those are images."""

    media: tuple[Media, ...] = ()
    omitted: int = 0
    omitted_images: int = 0

    @property
    def images(self) -> tuple[Media, ...]:
        """The images, which are sent to a model that sees."""
        return tuple(item for item in self.media if item.mime in IMAGES)


def may_have_media(value: Any) -> bool:
    """Whether a result may contain media: cheap, and always False for texts and numbers."""
    return any(type(item) not in _SCALARS for item in _items(value))


def extract_media(value: Any) -> ResultMedia:
    """Return the images and sounds that a result is or contains, in containers too.

    The format is detected from the bytes. Media that are too large, and those after the first `MAX_MEDIA`, are only
    counted.
    """
    with suppress_output():
        items = [media for item in _without_repetitions(_items(value)) if (media := _render_item(item))]
    shown = [media for media in items if len(media.data or b"") <= MAX_MEDIA_BYTES][:MAX_MEDIA]
    omitted = [media for media in items if all(media is not entry for entry in shown)]
    return ResultMedia(tuple(shown), len(omitted), sum(media.mime in IMAGES for media in omitted))


def is_drawing(value: Any) -> bool:
    """Whether an object is a picture or a sound in itself: its text describes it."""
    package = type(value).__module__.partition(".")[0]
    if package == "IPython":
        return any(hasattr(type(value), name) for name in ("_repr_png_", "_repr_jpeg_")) or hasattr(value, "autoplay")
    return package == "PIL" or (package == "matplotlib" and hasattr(value, "savefig"))


def _items(value: Any) -> Iterator[Any]:
    """Yield what is in the containers of a result, those of the outer ones first."""
    waiting = deque([(value.get("figures", ()) if isinstance(value, MultipartResult) else value, 0)])
    known: set[int] = set()
    for _ in range(MAX_SEARCHED):
        if not waiting:
            return
        item, depth = waiting.popleft()
        if not _is_container(item):
            yield item
        elif id(item) not in known and depth < MAX_DEPTH:
            known.add(id(item))
            waiting.extend((entry, depth + 1) for entry in islice(_inner(item), MAX_SEARCHED))


def _is_container(item: Any) -> bool:
    """Whether an item is a plain container, or an array of objects, such as the axes of several plots."""
    return type(item) in (dict, list, tuple) or bool(dtype_kind(item) == "O" and hasattr(item, "flat"))


def _inner(container: Any) -> Iterable[Any]:
    items: Iterable[Any] = container.values() if type(container) is dict else getattr(container, "flat", container)
    return items


def _without_repetitions(items: Iterable[Any]) -> Iterator[Any]:
    """Yield items, of those on one figure (`figure, axes = plt.subplots()`) the first."""
    figures: list[Any] = []
    for item in items:
        figure = _figure_of(item)
        if figure is None or all(figure is not entry for entry in figures):
            yield item
        figures += [figure] if figure is not None else []


def _figure_of(item: Any) -> Any:
    if type(item).__module__.partition(".")[0] != "matplotlib":
        return None
    return item if hasattr(item, "savefig") else getattr(item, "figure", None)


def _render_item(item: Any) -> Media | None:
    """Render one item; None if it is no media or cannot be rendered."""
    if isinstance(item, Media):
        return _checked_media(item.data, item.name)
    if isinstance(item, bytes | bytearray):
        return _checked_media(bytes(item), "")
    for render in _renderers(item):
        try:
            if media := _checked_media(render(item), ""):
                return media
        except Exception:  # noqa: BLE001 - an item that cannot be rendered is shown as text only
            continue
    return None


def _renderers(item: Any) -> tuple[Callable[[Any], Any], ...]:
    """Return the ways in which an object may give a picture or a sound: by what its class declares for notebooks."""
    if isinstance(item, type):
        return ()
    if type(item).__module__.partition(".")[0] in _DRAWING_PACKAGES:
        return (_notebook_repr, _figure_png, _raw_bytes)
    if callable(getattr(type(item), "savefig", None)):  # a grid of plots
        return (_notebook_repr, _figure_png)
    return (_notebook_repr,) if any(hasattr(type(item), name) for name in _PICTURE_METHODS) else ()


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

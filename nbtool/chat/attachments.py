"""What a person attaches → parts of a message: files, bytes, images, figures, arrays, addresses.

A file is known by its bytes first and by its name second. Files that look as if they held secrets are refused; an
address is passed on as it is and never fetched. Files and bytes leave as they are, with their metadata: a photo says
where it was taken. An image of PIL, a figure and an array leave as pixels alone.
"""

from __future__ import annotations

import mimetypes
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.messages import Media, Part
from nbtool.mime import SNIFFED, sniff
from nbtool.server_url import parse_server_url
from nbtool.shorten import shorten
from nbtool.tools.secret_patterns import SECRET_FOLDERS, is_secret_name
from nbtool.wire.framing.redaction import excerpt

MAX_PATH_SHOWN = 200
"""Characters of a path that an error names."""

MAX_ATTACHED = 20 * 1024 * 1024
"""Bytes that one attachment may have."""

_PRIVATE_KEY = b"PRIVATE KEY-----"
_ATTACHABLE = "a path, an address, bytes, a PIL image, a matplotlib figure or an array of uint8"


def as_parts(things: Any) -> list[Part]:
    """Make parts of what is attached: one thing, or a list, tuple, set or generator of things.

    Parts stay as they are; a finished turn stands for the images and sounds of its replies.

    Raises:
        nbtool.errors.BadUsage: see `as_media`.
    """
    several = things if isinstance(things, list | tuple | set | frozenset | Iterator) else [things]
    parts: list[Part] = []
    for thing in several:
        if isinstance(thing, Part):
            parts.append(thing)
        elif isinstance(thing, Turn):
            parts += _of_turn(thing)
        else:
            parts.append(as_media(thing))
    return parts


def as_media(thing: Any) -> Media:
    """Make an attachment of a path, an http(s) address, bytes, a PIL image, a matplotlib figure or a uint8 array.

    Raises:
        nbtool.errors.BadUsage: it is none of these, cannot be read, is too large, or looks like secrets.
    """
    if isinstance(thing, Media):
        return thing
    if isinstance(thing, str) and thing.startswith(("http://", "https://")):
        return _at_address(thing)
    if isinstance(thing, str | Path):
        return _of_file(Path(thing))
    if isinstance(thing, bytes | bytearray | memoryview):
        return Media(_type_of(data := _bounded(bytes(thing), "The bytes"), ""), data=data)
    package = type(thing).__module__.partition(".")[0]
    if package == "PIL" and hasattr(thing, "save"):
        return _png(_of_pil, thing, "The image")
    if package == "matplotlib" and hasattr(thing, "savefig"):
        return _png(_of_figure, thing, "The figure")
    if package == "numpy" and hasattr(thing, "dtype"):
        return _png(_of_array, thing, "The array")
    raise BadUsage(f"A {type(thing).__name__} cannot be attached.", fix=f"Attach {_ATTACHABLE}.")


def _of_turn(turn: Turn) -> tuple[Media, ...]:
    if not turn.media:
        raise BadUsage("The replies of that turn hold no image and no sound.", fix="Attach a turn that made one.")
    return turn.media


def _at_address(url: str) -> Media:
    try:
        parts = parse_server_url(url, may_have_query=True)
    except BadUsage as error:
        raise BadUsage(f"What is attached: {error.message}", fix=error.fix) from None
    mime, _ = mimetypes.guess_type(parts.path)
    if mime is None:
        raise BadUsage(
            f"The address at {parts.host} does not say what is there.",
            fix="Attach Media('image/png', url=…) with its type.",
        )
    return Media(mime, url=url, name=Path(parts.path).name)


def _of_file(source: Path) -> Media:
    try:
        path = source.expanduser()
        target = path.resolve()
        if not path.is_file():
            problem = "is a folder" if path.is_dir() else "is no file" if path.exists() else "does not exist"
            raise BadUsage(f"{_display_path(source)} {problem}, so it cannot be attached.", fix="Check the path.")
        _refuse_secrets(path.absolute(), target)
        with path.open("rb") as file:
            data = file.read(MAX_ATTACHED + 1)
    except (OSError, ValueError, RuntimeError) as error:  # ValueError: a NUL in the name; RuntimeError: no home
        reason = getattr(error, "strerror", None) or error
        raise BadUsage(f"{_display_path(source)} cannot be read ({reason}).", fix="Check the path.") from None
    _bounded(data, _display_path(source))
    if _PRIVATE_KEY in data[:200]:
        raise BadUsage(
            f"{_display_path(source)} holds a private key, and is not attached.", fix="Attach something else."
        )
    return Media(_type_of(data, path.name), data=data, name=path.name)


def _refuse_secrets(*paths: Path) -> None:
    """Refuse what looks like secrets by its own name, a link's target, or a folder it lies in."""
    for path in paths:
        if is_secret_name(path.name.lower()) or SECRET_FOLDERS & set(path.parts):
            raise BadUsage(
                f"{path.name} looks like a file of secrets, and is not attached.",
                fix="If it holds none, attach its bytes: Path(…).read_bytes().",
            )


def _bounded(data: bytes, what: str) -> bytes:
    if not data:
        raise BadUsage(f"{what}: there is nothing in it to attach.", fix="Attach something that is not empty.")
    if len(data) > MAX_ATTACHED:
        raise BadUsage(
            f"{what}: more than {MAX_ATTACHED >> 20} MB cannot be attached.",
            fix="Attach a smaller one, or let a tool read it by reference.",
        )
    return data


def _type_of(data: bytes, name: str) -> str:
    """Tell what an attachment is: by its bytes, as text, or else by its name."""
    if detected := sniff(data):
        return detected
    guessed = mimetypes.guess_type(name)[0] or ""
    if _is_text(data):
        return guessed if guessed.startswith("text/") else "text/plain"
    if guessed in SNIFFED or not guessed.startswith(("image/", "audio/", "video/", "application/")):
        claimed = f"is called {name}, and its bytes are no {guessed}" if guessed else "is of no kind that is known"
        raise BadUsage(f"The attachment {claimed}.", fix="Attach an image, a sound, a PDF or a text.")
    return guessed


def _is_text(data: bytes) -> bool:
    try:
        return "\x00" not in data.decode()
    except UnicodeDecodeError:
        return False


def _png(draw: Callable[[Any], bytes], thing: Any, what: str) -> Media:
    try:
        data = draw(thing)
    except BadUsage:
        raise
    except Exception as error:
        detail = excerpt(f"{type(error).__name__}: {error}")
        raise BadUsage(f"{what} cannot be drawn ({detail}).", fix="Save it to a file and attach that.") from error
    return Media("image/png", data=_bounded(data, what))


def _of_pil(image: Any) -> bytes:
    if image.mode not in ("1", "L", "LA", "P", "RGB", "RGBA"):
        image = image.convert("RGB")
    image.save(file := BytesIO(), format="PNG")
    return file.getvalue()


def _of_figure(figure: Any) -> bytes:
    figure.savefig(file := BytesIO(), format="png", bbox_inches="tight")
    return file.getvalue()


def _of_array(array: Any) -> bytes:
    """Write pixels as PNG: grey, grey with alpha, RGB or RGBA (https://www.w3.org/TR/png-3/)."""
    channels = 1 if array.ndim == 2 else array.shape[-1] if array.ndim == 3 else 0
    if str(array.dtype) != "uint8" or channels not in (1, 2, 3, 4) or 0 in array.shape:
        raise BadUsage(
            f"An image is an array of uint8, (height, width) or (height, width, 1 to 4); {array.dtype} of shape"
            f" {array.shape} came.",
            fix="Scale and convert it: (255 * a).astype('uint8').",
        )
    height, width = array.shape[:2]
    colour = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    rows = b"".join(b"\x00" + row.tobytes() for row in array)  # each row begins with its filter: none
    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes((8, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")


def _display_path(path: Path) -> str:
    text = str(path).encode("utf-8", "replace").decode()
    return shorten(text, MAX_PATH_SHOWN)

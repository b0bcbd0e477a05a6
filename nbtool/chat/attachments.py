"""Convert attachments to message parts: files, bytes, images, figures, arrays, URLs.

The type of a file is detected from its content first and from its name second. Files that look like secrets are
refused. A URL is passed to the provider and never fetched here. Files and bytes are sent unchanged, with their metadata
(a photo can contain its location, which the person is told); text of UTF-16 and UTF-32 is sent as UTF-8. PIL images,
figures and arrays are sent as pixels only.
"""

from __future__ import annotations

import codecs
import mimetypes
import re
import stat
import struct
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.messages import Media, Message, Part
from nbtool.mime import SNIFFED, sniff
from nbtool.server_url import parse_server_url
from nbtool.text import shorten, with_article
from nbtool.tools.secret_patterns import is_secret_path
from nbtool.wire.framing.redaction import excerpt

LOCATION_NOTICE = (
    "{name} contains the location where it was taken, and the provider receives it. To send the pixels alone, attach"
    " `PIL.Image.open(…)`."
)

MAX_BLOCKS = 64
"""Maximum number of TIFF headers that are read in one image; an image has one or two."""

MAX_ENTRIES = 512
"""Maximum number of entries that are read of a TIFF directory."""

MAX_NAME_CHARS = 80
"""Maximum number of characters of a name in the notice."""

_TIFF_HEADER = re.compile(rb"II\*\x00|MM\x00\*")
_XMP_LOCATION = re.compile(rb"exif:GPS(?:Latitude|Longitude)")
_GPS_DIRECTORY = 0x8825
"""The entry that points to the location, GPSInfo (Exif 2.32, section 4.6.3)."""


def location_notices(prompt: Message) -> Iterator[str]:
    """Yield a notice for every image of a prompt that contains a location."""
    for part in prompt.parts:
        if isinstance(part, Media) and part.data and part.mime.startswith("image/") and has_location(part.data):
            yield LOCATION_NOTICE.format(name=shorten(part.name, MAX_NAME_CHARS) or "The image")


def has_location(data: bytes) -> bool:
    """Whether an image contains the location where it was taken."""
    if _XMP_LOCATION.search(data):
        return True
    headers = zip(_TIFF_HEADER.finditer(data), range(MAX_BLOCKS), strict=False)
    return any(_has_gps_directory(data, header.start()) for header, _ in headers)


def _has_gps_directory(data: bytes, start: int) -> bool:
    """Whether the first directory of the TIFF structure at a position has an entry for the location."""
    order = "<" if data[start : start + 2] == b"II" else ">"
    try:
        directory = start + struct.unpack_from(f"{order}I", data, start + 4)[0]
        count = min(struct.unpack_from(f"{order}H", data, directory)[0], MAX_ENTRIES)
        tags = [struct.unpack_from(f"{order}H", data, directory + 2 + 12 * index)[0] for index in range(count)]
    except struct.error:  # the structure ends too early, or these bytes are none
        return False
    return _GPS_DIRECTORY in tags


MAX_PATH_SHOWN = 200
"""Maximum characters of a path in an error message."""

MAX_ATTACHED = 20 * 1024 * 1024
"""Maximum bytes of one attachment."""

_INSPECTED = 4_096
"""Bytes by which the encoding of a text is guessed."""

_TEXT_CONTROLS = frozenset(b"\t\n\v\f\r\x1b")
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),  # before UTF-16, whose mark begins alike
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
"""Byte order marks and the codecs that read and remove them."""

_PRIVATE_KEY = b"PRIVATE KEY-----"
_ATTACHABLE = "a path, a URL, bytes, a PIL image, a matplotlib figure or an array of uint8"


def as_parts(things: Any) -> list[Part]:
    """Convert one attachment, or a list, tuple, set or generator of attachments, to parts.

    Parts are returned unchanged; a finished turn is replaced by the images and sounds of its replies.

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
    """Convert a path, an http(s) URL, bytes, a PIL image, a matplotlib figure or a uint8 array to media.

    Raises:
        nbtool.errors.BadUsage: the type is not supported, or it cannot be read, is too large, or looks like secrets.
    """
    if isinstance(thing, Media):
        return thing
    if isinstance(thing, str) and thing.startswith(("http://", "https://")):
        return _at_address(thing)
    if isinstance(thing, str | Path):
        return _of_file(Path(thing))
    if isinstance(thing, bytes | bytearray | memoryview):
        return _as_media(_bounded(bytes(thing), "The bytes"), "")
    package = type(thing).__module__.partition(".")[0]
    if package == "PIL" and hasattr(thing, "save"):
        return _png(_of_pil, thing, "The image")
    if package == "matplotlib" and hasattr(thing, "savefig"):
        return _png(_of_figure, thing, "The figure")
    if package == "numpy" and hasattr(thing, "dtype"):
        return _png(_of_array, thing, "The array")
    raise BadUsage(
        f"{with_article(type(thing).__name__, capital=True)} cannot be attached.", fix=f"Attach {_ATTACHABLE}."
    )


def _of_turn(turn: Turn) -> tuple[Media, ...]:
    if not turn.media:
        raise BadUsage("The replies of that turn contain no image and no sound.", fix="Attach a turn that has one.")
    return turn.media


def _at_address(url: str) -> Media:
    try:
        parts = parse_server_url(url, may_have_query=True)
    except BadUsage as error:
        raise BadUsage(f"Attachment: {error.message}", fix=error.fix) from None
    mime, _ = mimetypes.guess_type(parts.path)
    if mime is None:
        raise BadUsage(
            f"The media type of the URL at {parts.host} is unknown.",
            fix="Attach Media('image/png', url=…) with its type.",
        )
    return Media(mime, url=url, name=Path(parts.path).name)


def _find_problem(path: Path) -> str:
    """Return why a path is no file that can be read, or an empty text.

    `Path.is_file` returns False for a name that is too long or contains NUL, from Python 3.14 on.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return "does not exist"
    if stat.S_ISREG(mode):
        return ""
    return "is a folder" if stat.S_ISDIR(mode) else "is not a regular file"


def _of_file(source: Path) -> Media:
    try:
        path = source.expanduser()
        target = path.resolve()
        problem = _find_problem(path)
        if problem:
            raise BadUsage(f"{_display_path(source)} {problem}, so it cannot be attached.", fix="Check the path.")
        _refuse_secrets(path.absolute(), target)
        with path.open("rb") as file:
            data = file.read(MAX_ATTACHED + 1)
    except (OSError, ValueError, RuntimeError) as error:  # ValueError: a NUL in the name; RuntimeError: no home
        reason = getattr(error, "strerror", None) or error
        raise BadUsage(f"{_display_path(source)} cannot be read ({reason}).", fix="Check the path.") from None
    media = _as_media(_bounded(data, _display_path(source)), path.name)
    if _PRIVATE_KEY in (media.data or b"")[:200]:
        raise BadUsage(
            f"{_display_path(source)} contains a private key and was not attached.", fix="Attach another file."
        )
    return media


def _refuse_secrets(*paths: Path) -> None:
    """Refuse what looks like secrets by its own path or that of the target of a link, as file tools do."""
    for path in paths:
        if is_secret_path(path):
            raise BadUsage(
                f"{path.name} looks like a file of secrets and was not attached.",
                fix="If it contains none, attach its bytes: Path(…).read_bytes().",
            )


def _bounded(data: bytes, what: str) -> bytes:
    if not data:
        raise BadUsage(f"{what}: no content to attach.", fix="Attach content that is not empty.")
    if len(data) > MAX_ATTACHED:
        raise BadUsage(
            f"{what}: more than {MAX_ATTACHED >> 20} MB cannot be attached.",
            fix="Attach a smaller one, or let a tool read it by reference.",
        )
    return data


def _as_media(data: bytes, name: str) -> Media:
    """Return an attachment with its media type: detected from its bytes, as text, or else guessed from its name.

    Text with the mark of UTF-16 or UTF-32 becomes UTF-8, the only encoding that providers read.
    """
    if detected := sniff(data):
        return Media(detected, data=data, name=name)
    guessed = mimetypes.guess_type(name)[0] or ""
    if (text := _decode(data)) is not None:
        mime = guessed if guessed.startswith("text/") else "text/plain"
        return Media(mime, data=_bounded(text.encode(), name or "The bytes"), name=name)
    if _says_text(guessed) or _looks_like_text(data):
        raise BadUsage(
            f"{name or 'The text'} is not UTF-8 text{_describe_encoding(data)}.",
            fix="Save it as UTF-8, or attach its text in the right encoding: Path(…).read_text('cp1252').encode().",
        )
    if guessed in SNIFFED or not guessed.startswith(("image/", "audio/", "video/", "application/")):
        claimed = f"is named {name}, but its content is not {guessed}" if guessed else "has an unknown type"
        raise BadUsage(f"The attachment {claimed}.", fix="Attach an image, a sound, a PDF or a text.")
    return Media(guessed, data=data, name=name)


def _decode(data: bytes) -> str | None:
    """Return the text of UTF-8, or of the encoding that a byte order mark names; None for other bytes."""
    encoding = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if "\x00" in text else text


def _says_text(mime: str) -> bool:
    return mime.startswith("text/") or mime.endswith(("json", "xml"))


def _looks_like_text(data: bytes) -> bool:
    """Whether bytes without a known type are text of an encoding with a byte for each character."""
    return not any(byte < 0x20 and byte not in _TEXT_CONTROLS for byte in data[:_INSPECTED])


def _describe_encoding(data: bytes) -> str:
    """Describe what the encoding may be, by the first byte that no UTF-8 has; empty if that says nothing."""
    if data[:_INSPECTED].count(0) * 4 > len(data[:_INSPECTED]):  # every second byte of Latin text is zero
        return ", but perhaps UTF-16 without a byte order mark"
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return f", but perhaps Windows-1252 or Latin-1 (byte 0x{data[error.start]:02X} at {error.start:,})"
    return ""


def _png(draw: Callable[[Any], bytes], thing: Any, what: str) -> Media:
    try:
        data = draw(thing)
    except BadUsage:
        raise
    except Exception as error:
        detail = excerpt(f"{type(error).__name__}: {error}")
        raise BadUsage(f"{what} cannot be drawn ({detail}).", fix="Save it to a file and attach the file.") from error
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
            f"Expected an array of uint8, (height, width) or (height, width, 1 to 4); got {array.dtype} of shape"
            f" {array.shape}.",
            fix="Scale and convert it: (255 * a).astype('uint8').",
        )
    height, width = array.shape[:2]
    colour = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    rows = b"".join(b"\x00" + row.tobytes() for row in array)  # the first byte of a row is its filter type: none
    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes((8, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")


def _display_path(path: Path) -> str:
    text = str(path).encode("utf-8", "replace").decode()
    return shorten(text, MAX_PATH_SHOWN)

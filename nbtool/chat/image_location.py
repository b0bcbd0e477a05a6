"""Detect whether an image contains the location where it was taken, so that the person learns of it before it is sent.

The location is an entry of an Exif block, which is a TIFF structure in JPEG, PNG, WebP, HEIF and TIFF files, or a
property of an XMP block, which is XML.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from nbtool.messages import Media, Message
from nbtool.text import shorten

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

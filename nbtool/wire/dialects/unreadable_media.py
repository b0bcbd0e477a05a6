"""Images, sounds and files of a reply that cannot be decoded."""

from __future__ import annotations

from nbtool.events import StreamNotice

UNREADABLE_MEDIA = StreamNotice(
    "The reply contains an image or a file that cannot be decoded, so it is not shown. Run the cell again.", "warning"
)
"""The notice in its place."""

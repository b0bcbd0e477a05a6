"""Write and read export files: existing files are kept unless `force` is set, and writes are atomic."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nbtool.errors import BadUsage
from nbtool.files import replace_file


def write_new(path: Path, text: str, *, force: bool = False, beside: Mapping[str, bytes] | None = None) -> None:
    """Write a text file, and first those `beside` it, by their names; with `force`, replace existing ones.

    Raises:
        BadUsage: a file exists already, or cannot be written.
    """
    if beside and not force and path.exists():
        raise _exists(path)
    for name, data in (beside or {}).items():
        _write(path.parent / name, data, force=force, is_beside=True)
    _write(path, text.encode("utf-8", "replace"), force=force)


def _write(path: Path, data: bytes, *, force: bool, is_beside: bool = False) -> None:
    try:
        if is_beside:
            path.parent.mkdir(exist_ok=True)
        if force:
            replace_file(path, data)
        else:
            with path.open("xb") as file:
                file.write(data)
    except FileExistsError:
        raise _exists(path) from None
    except (OSError, ValueError) as error:
        raise BadUsage(f"{path} cannot be written ({_os_error_text(error)}).", fix="Check the path.") from None


def read_bounded(path: Path, max_bytes: int) -> bytes:
    """Read a file of at most `max_bytes`.

    Raises:
        BadUsage: it is larger, not a regular file, or cannot be read.
    """
    try:
        if not path.is_file():
            raise BadUsage(f"{path} is not a regular file.", fix="Check the path.")
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        raise BadUsage(f"{path} cannot be read ({_os_error_text(error)}).", fix="Check the path.") from None
    if len(data) > max_bytes:
        raise BadUsage(
            f"{path} is larger than {max_bytes >> 20} MiB.", fix="Export a shorter branch of the conversation."
        )
    return data


def _exists(path: Path) -> BadUsage:
    return BadUsage(f"{path} exists and was not overwritten.", fix="Name another file, or add --overwrite.")


def _os_error_text(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)

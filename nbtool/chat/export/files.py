"""Write and read export files: existing files are kept unless `force` is set, and writes are atomic."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from nbtool.errors import BadUsage


def write_new(path: Path, text: str, *, force: bool = False) -> None:
    """Write a text file; with `force`, replace an existing one.

    Raises:
        BadUsage: the file exists already, or cannot be written.
    """
    data = text.encode("utf-8", "replace")
    try:
        if force:
            _replace(path, data)
        else:
            with path.open("xb") as file:
                file.write(data)
    except FileExistsError:
        raise BadUsage(
            f"{path} exists and was not overwritten.", fix="Name another file, or add --overwrite."
        ) from None
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


def _replace(path: Path, data: bytes) -> None:
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        temporary.chmod(mode)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _os_error_text(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)

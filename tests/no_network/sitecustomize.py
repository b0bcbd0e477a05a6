"""Close the network but loopback, in this process: the tests' own, or a kernel's with this folder on its PYTHONPATH.

An audit hook sees every connection and every look-up of a name, whatever library makes it, and cannot be taken
away again by what runs afterwards.
"""

from __future__ import annotations

import ipaddress
import sys
from typing import Any


def _only_loopback(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event in {"socket.connect", "socket.sendto"} and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return
    if not _is_loopback(host.decode() if isinstance(host, bytes) else host):
        raise ConnectionRefusedError(f"The tests have no network but loopback, and {host!r} is not on it.")


def _is_loopback(host: str | None) -> bool:
    if not host or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback or ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


sys.addaudithook(_only_loopback)

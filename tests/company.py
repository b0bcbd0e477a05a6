"""What stands between a company's notebook and a model: its own authority for certificates, and its proxy."""

from __future__ import annotations

import asyncio
import base64
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PEM = serialization.Encoding.PEM


@dataclass
class Authority:
    """A certificate authority of a company, with its files in a folder."""

    folder: Path
    serial: int = 1

    @cached_property
    def _key(self) -> ec.EllipticCurvePrivateKey:
        return ec.generate_private_key(ec.SECP256R1())

    @cached_property
    def _certificate(self) -> x509.Certificate:
        return self._issue("Company CA", self._key, is_authority=True)

    @property
    def file(self) -> Path:
        """The certificate of the authority."""
        path = self.folder / "ca.pem"
        path.write_bytes(self._certificate.public_bytes(PEM))
        return path

    def certificate(self, name: str, password: str = "") -> tuple[Path, Path]:
        """Issue a certificate for a name or an address; return its file and the file of its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        issued = self._issue(name, key, is_authority=False)
        chain, secret = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        chain.write_bytes(issued.public_bytes(PEM))
        closed = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        secret.write_bytes(key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, closed))
        return chain, secret

    def server(self, name: str = "127.0.0.1", *, asks_for_certificate: bool = False) -> ssl.SSLContext:
        """Return the context of a server, which may require a certificate of this authority from its clients."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.certificate(name))
        if asks_for_certificate:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.file)
        return context

    def _issue(self, name: str, key: ec.EllipticCurvePrivateKey, *, is_authority: bool) -> x509.Certificate:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        issuer = subject if is_authority else self._certificate.subject
        self.serial += 1
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(self.serial)
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if not is_authority:
            entry: Any = x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
            builder = builder.add_extension(x509.SubjectAlternativeName([entry]), critical=False)
        return builder.sign(self._key, hashes.SHA256())


@dataclass
class Proxy:
    """A proxy that checks credentials, tunnels every host to one port of this machine, and notes what it was asked."""

    target: int
    credentials: str
    port: int = 0
    lines: list[str] = field(default_factory=list)
    refused: int = 0
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    tasks: list[asyncio.Task[None] | None] = field(default_factory=list)

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        self.lines.append(head.partition("\r\n")[0])
        expected = base64.b64encode(self.credentials.encode()).decode()
        if f"basic {expected.lower()}" not in head.lower():
            self.refused += 1
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
            await writer.drain()
            writer.close()
            return
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)
        self.writers += [writer, far_writer]
        self.tasks.append(asyncio.current_task())
        if head.startswith("CONNECT"):
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            far_writer.write(head.encode("latin-1"))
        await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await source.read(65_536):
            target.write(data)
            await target.drain()
    with suppress(Exception):
        target.close()


@contextmanager
def proxy(target: int, credentials: str) -> Iterator[Proxy]:
    """Run a proxy in a thread."""
    server = Proxy(target, credentials)
    started = threading.Event()
    stop: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def run() -> None:
        ending = asyncio.Event()
        listener = await asyncio.start_server(server.converse, "127.0.0.1", 0)
        server.port = listener.sockets[0].getsockname()[1]
        stop.append((asyncio.get_running_loop(), ending))
        started.set()
        await ending.wait()
        listener.close()
        for writer in server.writers:
            writer.close()
        await asyncio.gather(*filter(None, server.tasks), return_exceptions=True)

    thread = threading.Thread(target=asyncio.run, args=(run(),), name="proxy", daemon=True)
    thread.start()
    assert started.wait(240)
    try:
        yield server
    finally:
        loop, ending = stop[0]
        loop.call_soon_threadsafe(ending.set)
        thread.join(240)

from __future__ import annotations

import asyncio
import gzip
import ipaddress
import socket
import ssl
import threading
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nbtool.errors import BadUsage, ConnectionFailed, InvalidReply, TimedOut
from nbtool.wire.transport.web_pages import page_fetch
from nbtool.wire.transport.web_pages.page_fetch import MAX_REDIRECTS, Fetcher, Page, resolve, validate_url
from nbtool.wire.transport.web_pages.ssrf import IPAddress
from tests.chaos import ChaosServer, Repeat, Reset, Silence, head, serve, serve_each, whole

HERE = ipaddress.ip_address("127.0.0.1")

SPELLED = [
    "http://127.0.0.1/", "http://127.1/", "http://127.0.1/", "http://2130706433/", "http://0x7f000001/",
    "http://0x7f.1/", "http://0177.0.0.1/", "http://017700000001/", "http://0/", "http://0.0.0.0/", "http://localhost/",
    "http://LOCALHOST/", "http://localhost./", "http://127.0.0.1.:80/", "http://[::1]/", "http://[::]/",
    "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::127.0.0.1]/",
    "http://169.254.169.254/latest/meta-data/", "http://2852039166/", "http://0xa9fea9fe/", "http://[fd00:ec2::254]/",
    "http://10.0.0.1/", "http://192.168.1.1/", "http://172.16.0.1:8080/", "http://100.100.100.200/",
    "http://[fe80::1]/", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/", "http://168.63.129.16/",
    "http://\uff11\uff12\uff17.0.0.1/", "http://127\u30020\u30020\u30021/", "http://\u2460\u2461\u2466.0.0.1/",
]  # fmt: skip
"""Private hosts, as they can be spelled."""

NO_ADDRESS = [
    "", "/", "page", "//host/", "http:", "http://", "http:///path", "https://?q", "ftp://host/", "file:///etc/passwd",
    "gopher://host/_x", "javascript:alert(1)", "data:text/plain,x", "ws://host/", "HTTP+UNIX://x/",
    "http://user@host/", "http://user:word@host/", "http://:word@host/", "http://host\\@127.0.0.1/",
    "http://host/\\..", "http://ho st/", "http://host/a b", "http://host/\n", "http://host/\0", "http://host/\x7f",
    "http://host/\u202egnp", "http://[::1/", "http://[fe80::1%25eth0]/", "http://host:99999/", "http://host:x/",
    "http://" + "a" * 5_000,
]  # fmt: skip


def here_only(address: IPAddress) -> bool:
    return address == HERE


class Names:
    """A resolver that gives its answers one after another, the last again and again, and writes down the questions."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, _port: int) -> list[str]:
        self.asked.append(host)
        return [self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]]


def get(server: ChaosServer, path: str = "/", names: Names | None = None, **settings: object) -> Page:
    fetcher = Fetcher(resolve=names or Names("127.0.0.1"), is_allowed=here_only, **settings)  # type: ignore[arg-type]
    return asyncio.run(fetcher.fetch(f"http://site.test:{server.port}{path}"))


def to(where: str, status: int = 302) -> list[bytes]:
    return [whole(status, b"", location=where)]


def test_a_page_comes_with_its_status_kind_and_text() -> None:
    with serve(whole(200, "caf\u00e9".encode("latin-1"), "text/plain; charset=ISO-8859-1")) as server:
        page = get(server, "/a?b=c#d")

    assert (page.status, page.mime, page.text, page.is_complete) == (200, "text/plain", "caf\u00e9", True)
    assert server.requests[0].path == "/a?b=c"


def test_the_name_is_sent_and_the_address_is_connected_to() -> None:
    names = Names("127.0.0.1")
    with serve(whole(200, b"x", "text/plain")) as server:
        get(server, names=names)

    assert server.requests[0].headers["host"] == f"site.test:{server.port}"
    assert names.asked == ["site.test"]


def test_a_name_that_means_something_else_a_moment_later_is_of_no_use() -> None:
    flipping = Names("127.0.0.1", "127.0.0.2", "169.254.169.254")
    with serve(whole(200, b"x", "text/plain")) as server:
        assert get(server, names=flipping).data == b"x"

    assert flipping.asked == ["site.test"]


@pytest.mark.promise("public-pages")
def test_each_redirect_is_resolved_and_judged_again() -> None:
    flipping = Names("127.0.0.1", "127.0.0.2")
    answers = to("/next"), [whole(200, b"x", "text/plain")]
    with serve_each(*answers) as server, pytest.raises(BadUsage, match="private network"):
        get(server, names=flipping)

    assert [request.path for request in server.requests] == ["/"]


def test_an_address_is_closed_when_one_of_several_is_private() -> None:
    async def both(_host: str, _port: int) -> list[str]:
        return ["127.0.0.1", "10.0.0.1"]

    with pytest.raises(BadUsage, match="private network"):
        asyncio.run(Fetcher(resolve=both, is_allowed=here_only).fetch("http://site.test/"))


async def as_the_system_does(host: str, _port: int) -> list[str]:
    """Read numbers of every spelling; the tests' network refuses to look them up."""
    host = host.rstrip(".")
    if host.lower() == "localhost" or ":" in host:
        return ["127.0.0.1" if ":" not in host else host]
    return [socket.inet_ntoa(socket.inet_aton(host))]


@pytest.mark.promise("public-pages")
@pytest.mark.parametrize("url", SPELLED)
def test_a_private_host_is_not_fetched_however_it_is_spelled(url: str) -> None:
    with pytest.raises(BadUsage, match=r"private network|is invalid"):
        asyncio.run(Fetcher(resolve=as_the_system_does).fetch(url))


def test_a_server_on_this_machine_is_not_asked_anything() -> None:
    with serve(whole(200, b"x", "text/plain")) as server:
        for host in ("127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"):
            with pytest.raises(BadUsage, match="private network"):
                asyncio.run(Fetcher(resolve=as_the_system_does).fetch(f"http://{host}:{server.port}/"))
        with pytest.raises(BadUsage, match="private network"):
            asyncio.run(Fetcher().fetch(f"http://localhost:{server.port}/"))

    assert server.connections == 0


@pytest.mark.parametrize(
    "where",
    [
        "http://127.0.0.1:{port}/in",
        "http://localhost:{port}/in",
        "file:///etc/passwd",
        "http://user:word@site.test/",
        "//169.254.169.254/latest",
        "gopher://site.test/",
    ],
)
def test_a_redirect_to_what_may_not_be_fetched_ends_it(where: str) -> None:
    async def names(host: str, _port: int) -> list[str]:
        return ["127.0.0.1"] if host == "site.test" else ["127.0.0.3"] if host != "169.254.169.254" else [host]

    with serve_each(to("/x"), to("/x")) as server:
        server.answers = [to(where.format(port=server.port))]
        fetcher = Fetcher(resolve=names, is_allowed=here_only)
        with pytest.raises(BadUsage):
            asyncio.run(fetcher.fetch(f"http://site.test:{server.port}/"))

    assert len(server.requests) == 1


@pytest.mark.parametrize("url", NO_ADDRESS)
def test_what_is_no_address_of_a_page_is_refused_before_anything_is_looked_up(url: str) -> None:
    names = Names("127.0.0.1")
    with pytest.raises(BadUsage) as refused:
        asyncio.run(Fetcher(resolve=names).fetch(url))

    assert names.asked == []
    assert len(str(refused.value)) < 200


def test_plain_and_international_addresses_are_read() -> None:
    assert str(validate_url("https://example.org/a?b=c")) == "https://example.org/a?b=c"
    assert page_fetch.hostname(validate_url("https://m\u00fcnchen.example/stra\u00dfe")) == "xn--mnchen-3ya.example"


def test_redirects_are_followed_up_to_a_bound() -> None:
    hops = [to(f"/{number}", status) for number, status in enumerate((301, 302, 303, 307, 308))]
    with serve_each(*hops, [whole(200, b"there", "text/plain")]) as server:
        page = get(server)
    with serve_each(to("/round")) as circle, pytest.raises(InvalidReply, match="more than 5 times"):
        get(circle)

    assert (page.data, page.url) == (b"there", f"http://site.test:{server.port}/4")
    assert len(circle.requests) == MAX_REDIRECTS + 1


def test_no_credentials_and_no_cookies_are_sent_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / ".netrc"
    netrc.write_text("default login me password SENTINEL\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HTTP_PROXY", "http://me:SENTINEL@127.0.0.9:1")
    first = [whole(302, b"", location="/next", set_cookie="session=SENTINEL; Path=/", www_authenticate="Basic")]
    with serve_each(first, [whole(200, b"x", "text/plain")]) as server:
        get(server)

    assert len(server.requests) == 2
    for request in server.requests:
        assert not {"cookie", "authorization", "proxy-authorization"} & set(request.headers)
        assert "SENTINEL" not in str(request)


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_a_packed_page_is_unpacked(pack: object) -> None:
    data = pack(b"hello " * 1_000)  # type: ignore[operator]
    with serve(
        whole(200, data, "text/plain", content_encoding="gzip" if pack is gzip.compress else "deflate")
    ) as server:
        page = get(server)

    assert (page.text, page.is_complete) == ("hello " * 1_000, True)
    assert server.requests[0].headers["accept-encoding"] == "gzip, deflate"


def test_a_bomb_is_unpacked_only_as_far_as_it_is_wanted() -> None:
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(b"\0" * 1_000_000) for _ in range(500)) + packer.flush()
    assert len(bomb) < 500_000

    with serve(whole(200, bomb, "text/plain", content_encoding="gzip")) as server:
        page = get(server)

    assert (len(page.data), page.is_complete) == (page_fetch.MAX_PAGE, False)


def test_a_bomb_never_takes_more_memory_than_the_bound() -> None:
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(b"\0" * 1_000_000) for _ in range(200)) + packer.flush()
    with serve(whole(200, bomb, "text/plain", content_encoding="gzip")) as server:
        get(server)  # what is loaded at first use does not count
        tracemalloc.start()
        get(server)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    assert most < 20 * page_fetch.MAX_PAGE  # both ends of the connection are counted; unpacked it has 200 MB


@pytest.mark.parametrize(
    ("coding", "body"), [("br", b"x"), ("zstd", b"x"), ("gzip, gzip", b"x"), ("gzip", b"not packed")]
)
def test_what_is_packed_otherwise_is_not_read(coding: str, body: bytes) -> None:
    with (
        serve(whole(200, body, "text/plain", content_encoding=coding)) as server,
        pytest.raises(InvalidReply, match=r"compressed|unpacked"),
    ):
        get(server)


def test_an_endless_page_is_cut() -> None:
    with serve(head(200, "text/plain"), Repeat(b"x" * 60_000, every=0)) as server:
        page = get(server)

    assert (len(page.data), page.is_complete) == (page_fetch.MAX_PAGE, False)


def test_a_packed_page_that_breaks_off_is_not_whole() -> None:
    with serve(whole(200, gzip.compress(b"hello" * 9_999)[:60], "text/plain", content_encoding="gzip")) as server:
        assert not get(server).is_complete


@pytest.mark.parametrize(
    "steps", [[Silence()], [head(200, "text/plain"), Silence()], [head(200, "text/plain"), Repeat(b"x", every=0.02)]]
)
def test_a_slow_server_is_left(steps: list[object]) -> None:
    with serve(*steps) as server, pytest.raises(TimedOut, match=r"longer than 0\.3 s"):  # type: ignore[arg-type]
        get(server, seconds=0.3)


def test_a_broken_connection_and_an_unknown_host_are_reported() -> None:
    with serve(Reset()) as server, pytest.raises(ConnectionFailed, match=r"site\.test cannot be reached"):
        get(server)

    async def nobody(_host: str, _port: int) -> list[str]:
        raise socket.gaierror

    with pytest.raises(ConnectionFailed, match=r"The host site\.test"):
        asyncio.run(Fetcher(resolve=nobody).fetch("http://site.test/"))


def test_names_are_looked_up_as_the_system_does() -> None:
    assert "127.0.0.1" in asyncio.run(resolve("localhost", 80))


@pytest.mark.parametrize(("kind", "data", "text"), [
    ("text/html", '<meta charset="windows-1251">\u043f'.encode("cp1251"), "\u043f"),
    ("text/plain; charset=utf-8", b"\xff\xe9", "\ufffd\ufffd"),
    ("text/plain; charset=zlib", b"abc", "abc"),
    ("text/plain; charset=idna", b"abc", "abc"),
    ("text/plain; charset=iso-8859-99", b"abc", "abc"),
    ('text/plain; charset="utf-16le"', "a\u20ac".encode("utf-16-le"), "a\u20ac"),
])  # fmt: skip
def test_text_is_read_by_a_charset_that_is_one(kind: str, data: bytes, text: str) -> None:
    assert Page("u", 200, kind, data, True).text.endswith(text)


KEY = """\
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgNlOwGeYWwjt4u+UU
sHLlG6qlpjh51Zb2R2Z8eirqUkGhRANCAAQBtHpwll9QTTHUj+9tfwe6IOfTx+3K
Iug+DxXxPliSxB5u9Khm6lR03W5Gwh1AjTkGea/zTk1u73qgCqG8TygR
"""
"""A key for nothing but these tests: it is that of `CERTIFICATE`, for the host `site.test`, for a hundred years."""

CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBlTCCATugAwIBAgIUaYEfoT+mV07ksyygaGtjJ4xp528wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJc2l0ZS50ZXN0MCAXDTI2MTEyMjAwNDcwOVoYDzIxMjYxMDI5
MDA0NzA5WjAUMRIwEAYDVQQDDAlzaXRlLnRlc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQBtHpwll9QTTHUj+9tfwe6IOfTx+3KIug+DxXxPliSxB5u9Khm6lR0
3W5Gwh1AjTkGea/zTk1u73qgCqG8TygRo2kwZzAdBgNVHQ4EFgQU/cTdVNxLEreb
oTiegufLEdvRM8cwHwYDVR0jBBgwFoAU/cTdVNxLEreboTiegufLEdvRM8cwDwYD
VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglzaXRlLnRlc3QwCgYIKoZIzj0EAwID
SAAwRQIgW/UFCFkqOwQNUC/eqdJd179Kb13XR11x1ZEyEwygzbICIQDmLf9psbPZ
YyIiSAMuCTY/gNbVBNMrvbu8u+Xu2tpzcA==
-----END CERTIFICATE-----
"""


@contextmanager
def serve_tls(folder: Path, names: list[str]) -> Iterator[int]:
    """Answer one request over TLS, and write down the name that the client asked for in its first words."""
    (folder / "tls.pem").write_text(
        f"-----BEGIN {'PRIVATE'} KEY-----\n{KEY}-----END {'PRIVATE'} KEY-----\n{CERTIFICATE}"
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.pem")
    context.sni_callback = lambda _socket, name, _context: names.append(name or "")
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                try:
                    with context.wrap_socket(connection, server_side=True) as secure:
                        secure.recv(65_536)
                        secure.sendall(whole(200, b"safe", "text/plain"))
                except (ssl.SSLError, ConnectionError):
                    return

        thread = threading.Thread(target=answer)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(240)


@pytest.mark.parametrize(("host", "is_right"), [("site.test", True), ("other.test", False)])
def test_a_certificate_is_checked_against_the_name_and_not_the_address(
    tmp_path: Path, host: str, is_right: bool
) -> None:
    names: list[str] = []
    trusting = ssl.create_default_context(cadata=CERTIFICATE)
    fetcher = Fetcher(resolve=Names("127.0.0.1"), is_allowed=here_only, tls=trusting)
    with serve_tls(tmp_path, names) as port:
        if is_right:
            assert asyncio.run(fetcher.fetch(f"https://{host}:{port}/")).data == b"safe"
        else:
            with pytest.raises(ConnectionFailed, match=r"other\.test cannot be reached"):
                asyncio.run(fetcher.fetch(f"https://{host}:{port}/"))

    assert names == [host]


@pytest.mark.parametrize("where", ["http://host:x/", "http://" + "a" * 70_000])
def test_a_redirect_to_an_address_that_cannot_be_read_is_reported(where: str) -> None:
    with (
        serve(*to(where, 300)) as server,
        pytest.raises(InvalidReply, match="redirects to an invalid address"),
    ):
        get(server)


def test_a_redirect_to_an_address_that_names_no_host_is_refused() -> None:
    with serve(*to("//[")) as server, pytest.raises(BadUsage, match="has no host"):
        get(server)


@pytest.mark.parametrize(
    ("charset", "data"),
    [("macintosh", b"\x8e"), ("latin1", b"\xe9"), ("windows-1252", b"\xe9"), ("utf8", b"\xc3\xa9"), ("cp437", b"\x82")],
)
def test_a_page_is_read_in_the_letters_that_it_names(charset: str, data: bytes) -> None:
    with serve(whole(200, data, f"text/plain; charset={charset}")) as server:
        assert get(server).text == "\u00e9"

"""Every place where a body is read, and every kind of bomb that a server can send there."""

from __future__ import annotations

import ast
import asyncio
import gzip
import ipaddress
import json
import time
import tracemalloc
import zlib
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile

import pytest

import nbtool
from nbtool.errors import InvalidReply, NbtoolError, ProviderError, ReplyTooLarge, WireError
from nbtool.messages import user
from nbtool.wire import Prompt, find_wire
from nbtool.wire.framing.json_payloads import MAX_VALUES, PayloadReader
from nbtool.wire.transport.http_endpoint import HttpEndpoint
from nbtool.wire.transport.models import default_model, model_list
from nbtool.wire.transport.response.decompression import CHUNK_BYTES, MAX_MEMBERS, BodyReader
from nbtool.wire.transport.retry import RetryPolicy, Timeouts
from nbtool.wire.transport.server_requests import ServerRequest, download
from nbtool.wire.transport.web_pages.page_fetch import Fetcher
from tests.chaos import ChaosServer, Repeat, Step, head, serve
from tests.wire.process_state import close_clients

ROOT = Path(nbtool.__file__).parent
BOUND = 1_000_000
MOST = 16 * BOUND
"""Bytes of memory that no bomb may take where the bound on what is unpacked is `BOUND`."""

READERS = {"read_body", "read_start", "BodyReader"}
OWN_READERS = (
    "wire/transport/response/decompression.py",
    "tools/mcp/connection/http_transport.py",
    "tools/mcp/connection/oauth.py",
)
"""Where bodies are read themselves; an MCP session has a bounded client of its own, through which its login reads."""

BY_HTTPX = {"aiter_raw", "aiter_bytes", "aiter_text", "aiter_lines", "aread", "iter_raw", "iter_bytes", "iter_lines"}


# --- the places ---------------------------------------------------------------------------------------------------


def endpoint(server: ChaosServer) -> HttpEndpoint:
    wait = Timeouts(connect=5, first_token=20, idle=20, total=20)
    return HttpEndpoint(
        find_wire("chat"), server.url, "m", timeouts=wait, retries=RetryPolicy(0), max_reply_bytes=BOUND
    )


def read_reply(server: ChaosServer) -> None:
    async def listen() -> None:
        try:
            async for _ in endpoint(server).stream(Prompt((user("Hi"),))):
                pass
        finally:
            await close_clients()

    asyncio.run(listen())


def list_models(server: ChaosServer) -> None:
    async def ask() -> None:
        try:
            await model_list.fetch_model_list(endpoint(server), max_bytes=BOUND)
        finally:
            await close_clients()

    asyncio.run(ask())


def download_results(server: ChaosServer) -> None:
    async def load() -> None:
        try:
            with TemporaryFile() as file:
                await download(endpoint(server), ServerRequest("GET", "/files/f/content"), file, max_bytes=BOUND)
        finally:
            await close_clients()

    asyncio.run(load())


def fetch_page(server: ChaosServer) -> None:
    async def here(_host: str, _port: int) -> list[str]:
        return ["127.0.0.1"]

    fetcher = Fetcher(here, lambda address: address == ipaddress.ip_address("127.0.0.1"), max_page=BOUND)
    page = asyncio.run(fetcher.fetch(f"http://site.test:{server.port}/"))
    if not page.is_complete:
        raise ReplyTooLarge("the page was cut")


def find_first_model(server: ChaosServer) -> None:
    if not default_model._first_model(server.url, seconds=5.0):
        raise InvalidReply("no model was found")


PLACES: dict[str, tuple[Callable[[ChaosServer], None], int]] = {
    "wire/transport/http_exchange.py:batches": (read_reply, 200),
    "wire/transport/errors/error_body.py:_read_error_body": (read_reply, 400),
    "wire/transport/models/model_list.py:_request_list": (list_models, 200),
    "wire/transport/server_requests.py:_opened": (download_results, 200),
    "wire/transport/web_pages/page_fetch.py:_request": (fetch_page, 200),
    "wire/transport/models/default_model.py:_first_model": (find_first_model, 200),
}
"""What reads a body there, and the status with which it is sent."""


@cache
def names_used() -> dict[str, set[str]]:
    """Give what each function of the package calls or looks up, by file and name."""
    used: dict[str, set[str]] = defaultdict(set)
    for file in ROOT.rglob("*.py"):
        part = file.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(file.read_text())) if part not in OWN_READERS else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name):
                        used[f"{part}:{node.name}"].add(inner.func.id)
                    elif isinstance(inner, ast.Attribute):
                        used[f"{part}:{node.name}"].add(inner.attr)
    return used


def functions_that(names: set[str]) -> set[str]:
    """Give the functions of the package that call, or look up, one of these names."""
    return {function for function, used in names_used().items() if used & names}


def test_every_place_that_reads_a_body_has_a_row() -> None:
    assert functions_that(READERS) == set(PLACES)


def test_no_body_is_unpacked_by_the_http_library() -> None:
    assert functions_that(BY_HTTPX) == set()


def test_every_answer_of_a_plain_connection_goes_through_the_reader() -> None:
    assert functions_that({"getresponse"}) <= set(PLACES)


# --- the bombs ----------------------------------------------------------------------------------------------------


@cache
def compress(bits: int, fill: bytes = b" ") -> bytes:
    """Give 300 MB in a few hundred kilobytes: one packed megabyte, again and again."""
    packer = zlib.compressobj(9, wbits=bits)
    start = packer.compress(fill * 1_000_000) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(fill * 1_000_000) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + block * 299


@cache
def nested(layers: int) -> bytes:
    data = compress(31)
    for _ in range(layers - 1):
        data = gzip.compress(data)
    return data


BOMBS: dict[str, Callable[[], tuple[str, list[Step]]]] = {
    "gzip": lambda: ("gzip", [compress(31)]),
    "gzip of events": lambda: ("gzip", [compress(31, b": keep alive\n\n")]),
    "gzip of a document": lambda: ("gzip", [gzip.compress(b'{"data": [', 0) + compress(31, b"[],")]),
    "x-gzip": lambda: ("x-gzip", [compress(31)]),
    "deflate": lambda: ("deflate", [compress(15)]),
    "deflate without its head": lambda: ("deflate", [compress(-15)]),
    "gzip twice": lambda: ("gzip, gzip", [nested(2)]),
    "gzip three times": lambda: ("gzip, gzip, gzip", [nested(3)]),
    "gzip in deflate": lambda: ("deflate,gzip", [nested(2)]),
    "brotli": lambda: ("br", [b"\x0b\x02\x80"]),
    "zstd": lambda: ("zstd", [b"\x28\xb5\x2f\xfd"]),
    "compress": lambda: ("compress", [b"\x1f\x9d"]),
    "an encoding that nobody knows": lambda: ("x" * 10_000, [b"x"]),
    "no gzip": lambda: ("gzip", [b"no gzip at all"]),
    "many members": lambda: ("gzip", [gzip.compress(b"") * 50_000]),
    "empty blocks without end": lambda: ("gzip", [gzip.compress(b"")[:10], Repeat(b"\0\0\0\xff\xff" * 9_999, every=0)]),
    "plain without end": lambda: ("identity", [Repeat(b" " * 50_000, every=0)]),
}  # fmt: skip


def outcome(read: Callable[[ChaosServer], None], server: ChaosServer) -> NbtoolError:
    with pytest.raises(NbtoolError) as caught:
        read(server)
    return caught.value


@pytest.mark.sampled(1)
@pytest.mark.promise("bounded")
@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize("place", PLACES)
def test_no_body_takes_more_memory_than_its_bound_however_it_is_packed(place: str, bomb: str) -> None:
    read, status = PLACES[place]
    encoding, steps = BOMBS[bomb]()
    with serve(head(status, "application/json", content_encoding=encoding), *steps) as server:
        tracemalloc.start()
        began = time.monotonic()
        error = outcome(read, server)
        seconds = time.monotonic() - began
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    assert isinstance(error, WireError)
    assert isinstance(error, ProviderError) is (status == 400)
    assert most < MOST
    assert seconds < 60


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("gzip, gzip", "compressed 2 times"), ("gzip,GZIP , deflate", "compressed 3 times"),
        ("br", "compressed a body as 'br', which was not requested"), ("gzip", "cannot be decompressed"),
    ],
)  # fmt: skip
def test_an_encoding_that_is_not_read_is_named(encoding: str, words: str) -> None:
    with serve(head(200, content_encoding=encoding), b"data: {}\n\n") as server:
        error = outcome(read_reply, server)

    assert words in str(error)
    assert server.host in str(error)
    assert server.requests[0].headers["accept-encoding"] == "gzip, deflate"


# --- the reader itself --------------------------------------------------------------------------------------------


def read_all(encoding: str, *pieces: bytes, limit: int = 10 * BOUND) -> tuple[bytes, BodyReader]:
    reader = BodyReader(encoding, limit, "a server")
    return b"".join(piece for data in pieces for piece in reader.feed(data)), reader


SAMPLE = bytes(range(256)) * 300
PACKED = gzip.compress(SAMPLE, mtime=0)  # a time in it would be part of the names of the cases


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("", SAMPLE), ("identity", SAMPLE), ("identity, identity", SAMPLE), ("gzip", PACKED), ("x-gzip", PACKED),
        (" GZIP ", PACKED), ("deflate", zlib.compress(SAMPLE)), ("deflate", zlib.compress(SAMPLE)[2:-4]),
        ("gzip, identity", PACKED),
        ("gzip", gzip.compress(SAMPLE[:10_000], mtime=0) + gzip.compress(SAMPLE[10_000:], mtime=0)),
        ("gzip", PACKED + b"\0" * 512),
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [1, 7, 70_000, 10**7])
def test_a_body_is_read_whole_wherever_it_is_cut(encoding: str, data: bytes, size: int) -> None:
    cut = [data[at : at + size] for at in range(0, len(data), size)]

    body, reader = read_all(encoding, *cut)

    assert body == SAMPLE
    assert reader.is_complete


def test_no_more_than_a_piece_is_unpacked_ahead_of_what_is_taken() -> None:
    reader = BodyReader("gzip", 400 * BOUND, "a server")

    assert max(len(piece) for piece in reader.feed(compress(31))) == CHUNK_BYTES


def test_a_body_that_breaks_off_or_reaches_the_limit_is_not_whole() -> None:
    assert not read_all("gzip", gzip.compress(SAMPLE)[:-9])[1].is_complete
    assert not read_all("deflate", b"x")[1].is_complete

    body, reader = read_all("", SAMPLE, limit=1_000)
    assert (body, reader.is_over_limit, reader.is_complete) == (SAMPLE[:1_000], True, False)


def test_a_body_of_exactly_the_limit_is_whole() -> None:
    body, reader = read_all("gzip", gzip.compress(b"x" * 70_000), limit=70_000)

    assert (len(body), reader.is_over_limit, reader.is_complete) == (70_000, False, True)


def test_members_of_a_gzip_body_are_counted() -> None:
    assert read_all("gzip", gzip.compress(b"x") * MAX_MEMBERS)[0] == b"x" * MAX_MEMBERS
    with pytest.raises(InvalidReply, match="more than 1,000 gzip members"):
        read_all("gzip", gzip.compress(b"x") * (MAX_MEMBERS + 1))


# --- what is bounded beside bytes ---------------------------------------------------------------------------------


def models(*names: str) -> bytes:
    return json.dumps({"data": [{"id": name} for name in names]}).encode()


def listed(body: bytes) -> list[str]:
    return [model.name for model in model_list.parse_models(body, "a server")]


def test_a_list_of_models_has_a_bound_and_says_so() -> None:
    assert len(listed(models(*map(str, range(model_list.MAX_MODELS))))) == model_list.MAX_MODELS
    with pytest.raises(ReplyTooLarge, match="lists 10,001 models; the limit is 10,000"):
        listed(models(*map(str, range(model_list.MAX_MODELS + 1))))


def test_what_is_too_long_for_a_name_is_no_model() -> None:
    assert listed(models("a", "x" * (model_list.MAX_NAME + 1))) == ["a"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("sent", [b"[" + b"{}," * 1_000_001 + b"{}]", b"data: [" + b"[]," * 1_000_001 + b"0]\n\n"])
def test_values_are_counted_before_a_text_is_read_as_json(sent: bytes) -> None:
    reader = PayloadReader()
    with pytest.raises(ReplyTooLarge, match="contains more than 1,000,000 values"):
        _ = [*reader.feed(sent), *reader.close()]


def test_a_long_text_of_few_values_is_read() -> None:
    document = json.dumps({"text": "x" * (2 * MAX_VALUES)}).encode()
    reader = PayloadReader()

    assert [*reader.feed(document), *reader.close()] == [("", json.loads(document))]

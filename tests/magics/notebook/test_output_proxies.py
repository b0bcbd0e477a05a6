from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from IPython.core.displaypub import CapturingDisplayPublisher

from nbtool.magics.notebook.output_proxies import PublisherProxy, StreamProxy


def test_a_text_ends_where_it_is_taken_and_goes_on_elsewhere() -> None:
    stream = StringIO()
    proxy = StreamProxy(stream, lambda text: text == "mine")

    assert (proxy.write("mine"), proxy.write("theirs")) == (4, 6)
    assert stream.getvalue() == proxy.getvalue() == "theirs"


def test_a_stream_around_another_one_never_closes_it() -> None:
    stream = StringIO()
    proxy = StreamProxy(stream, lambda _: False)
    stream.close()

    proxy.close()  # as a finalizer of Python does: where this raises, Python 3.13 says so to everybody

    assert not proxy.closed


def test_a_publisher_around_another_one_passes_everything_on() -> None:
    inner: Any = CapturingDisplayPublisher()  # type: ignore[no-untyped-call]  # IPython ships no types for it
    proxy = PublisherProxy(inner)

    proxy.publish({"text/plain": "1"})

    assert [shown["data"] for shown in proxy.outputs] == [{"text/plain": "1"}]
    proxy.clear_output()
    assert inner.outputs == []
    with pytest.raises(AttributeError):
        getattr(PublisherProxy.__new__(PublisherProxy), "outputs")  # noqa: B009 - a plain access looks useless

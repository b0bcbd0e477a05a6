"""A web page of a stranger, in a real browser on the machine of a served notebook: none of its requests is a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

from nbtool import Chat, tool
from tests.mcp_server.clients import ListView, serve
from tests.tools.mcp.serving import http_server

SEND = """
async ([url, token]) => {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call",
                                params: { name: "effect", arguments: {} } });
  const accept = { Accept: "application/json, text/event-stream" };
  const json = { ...accept, "Content-Type": "application/json" };
  const bearer = { ...json, Authorization: `Bearer ${token}` };
  const requests = [
    { mode: "no-cors", headers: { "Content-Type": "text/plain" } },
    { mode: "no-cors", credentials: "include" },
    { mode: "cors", headers: json },
    { mode: "cors", headers: bearer },
    { mode: "cors", headers: { ...bearer, "Mcp-Session-Id": "x" } },
    { mode: "cors", headers: bearer, referrerPolicy: "no-referrer" },
  ];
  const outcomes = [];
  for (const request of requests) {
    try {
      const answer = await fetch(url, { method: "POST", body, ...request });
      outcomes.push(answer.type === "opaque" ? "opaque" : String(answer.status));
    } catch {
      outcomes.push("refused");
    }
  }
  outcomes.push(String(navigator.sendBeacon(url, new Blob([body], { type: "text/plain" }))));
  outcomes.push(await new Promise((resolve) => {
    const socket = new WebSocket(url.replace("http", "ws"));
    socket.onopen = () => resolve("open");
    socket.onerror = () => resolve("refused");
  }));
  const frame = document.createElement("iframe");
  frame.name = "inside";
  document.body.append(frame);
  const form = document.createElement("form");
  form.method = "POST";
  form.enctype = "text/plain";
  form.action = url;
  form.target = "inside";
  const field = document.createElement("input");
  field.name = body;
  form.append(field);
  document.body.append(form);
  form.submit();
  return outcomes;
}
"""

REQUESTS = 300
SEND_ANY = """
async ([base, token, count]) => {
  let state = 17;
  const next = (limit) => (state = (state * 1103515245 + 12345) % 2147483648) % limit;
  const pick = (...choices) => choices[next(choices.length)];
  const initialize = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "x", version: "1" } };
  const statuses = [];
  for (let number = 0; number < count; number++) {
    const method = pick("initialize", "tools/call", "tools/list", "resources/read", "notifications/cancelled");
    const params = method === "initialize" ? initialize : { name: "effect", arguments: {}, requestId: 1 };
    const body = JSON.stringify({ jsonrpc: "2.0", id: number, method, params });
    const headers = {};
    if (next(2)) headers["Content-Type"] = pick("application/json", "text/plain", "multipart/form-data; boundary=x");
    if (next(2)) headers.Accept = pick("application/json, text/event-stream", "*/*");
    if (next(2)) headers.Authorization = pick(`Bearer ${token}`, `bearer ${token}`, "Bearer x");
    if (!next(4)) headers["Mcp-Session-Id"] = "x";
    if (!next(4)) headers["Mcp-Protocol-Version"] = pick("2025-06-18", "2026-07-28");
    const verb = pick("POST", "POST", "POST", "PUT", "DELETE", "GET");
    const request = {
      method: verb, headers, body: verb === "GET" ? undefined : body,
      mode: pick("cors", "no-cors", "same-origin"), credentials: pick("omit", "include", "same-origin"),
      referrerPolicy: pick("no-referrer", "origin", "unsafe-url"), redirect: pick("follow", "error"),
      keepalive: Boolean(next(2)),
    };
    try {
      const answer = await fetch(`${base}${pick("/mcp", "/mcp/", "//mcp", "/")}`, request);
      statuses.push(answer.type === "opaque" ? "opaque" : String(answer.status));
    } catch {
      statuses.push("refused");
    }
  }
  return statuses;
}
"""


@pytest.fixture
def calls() -> list[int]:
    return []


@pytest.fixture
def served(calls: list[int]) -> Iterator[Any]:
    @tool(run="auto")
    def effect() -> str:
        """Do something."""
        calls.append(1)
        return "done"

    with serve(lambda: Chat(tools=[effect]), ListView()) as server:
        yield server


@pytest.mark.journey
@pytest.mark.sampled(1)
@pytest.mark.promise("served")
@pytest.mark.parametrize("knows_token", [False, True])
def test_a_page_of_another_origin_reaches_nothing(
    profile: BrowserContext,
    served: Any,
    calls: list[int],
    record_property: Callable[[str, object], None],
    *,
    knows_token: bool,
) -> None:
    token = served.address.token.get_secret_value() if knows_token else "guessed"
    page = profile.new_page()
    with http_server(lambda: Starlette(routes=[Route("/mcp", lambda _: HTMLResponse("<body>"))])) as stranger:
        page.goto(stranger.url.replace("127.0.0.1", "stranger.localhost"))
        with page.expect_event("frameattached"):
            outcomes = page.evaluate(SEND, [served.address.url, token])
        page.frames[-1].wait_for_load_state()
        page.close()

    assert outcomes == ["opaque", "opaque", "refused", "refused", "refused", "refused", "true", "refused"]
    assert (calls, served.handlers.clients) == ([], {})
    assert served.access.refused >= 4
    record_property("injected", len(outcomes) + 1)


@pytest.mark.nightly
@pytest.mark.promise("served")
@pytest.mark.parametrize("knows_token", [False, True])
@pytest.mark.parametrize("host", ["stranger.localhost", "rebound.localhost"])
def test_requests_of_any_form_of_a_page_are_no_calls(
    profile: BrowserContext,
    served: Any,
    calls: list[int],
    record_property: Callable[[str, object], None],
    host: str,
    *,
    knows_token: bool,
) -> None:
    """The page is of another origin, or of a name that was pointed at this machine."""
    token = served.address.token.get_secret_value() if knows_token else "guessed"
    page = profile.new_page()
    with http_server(lambda: Starlette(routes=[Route("/mcp", lambda _: HTMLResponse("<body>"))])) as stranger:
        own = stranger.url if host.startswith("stranger") else f"http://127.0.0.1:{served.port}/mcp"
        page.goto(own.replace("127.0.0.1", host))
        target = f"http://{'127.0.0.1' if host.startswith('stranger') else host}:{served.port}"
        statuses = page.evaluate(SEND_ANY, [target, token, REQUESTS])
        page.close()

    assert set(statuses) <= {"opaque", "refused", "401", "403", "421"}
    assert (calls, served.handlers.clients) == ([], {})
    assert served.access.refused > 0
    record_property("injected", len(statuses))


@pytest.mark.promise("served")
def test_a_page_whose_name_was_pointed_at_this_machine_reaches_nothing(
    profile: BrowserContext, served: Any, calls: list[int], record_property: Callable[[str, object], None]
) -> None:
    """Its requests are of its own origin then, so that no browser holds them back."""
    page = profile.new_page()
    url = f"http://rebound.localhost:{served.port}/mcp"
    page.goto(url)
    outcomes = page.evaluate(SEND, [url, served.address.token.get_secret_value()])
    page.close()

    assert outcomes[2:6] == ["421"] * 4
    assert (calls, served.handlers.clients) == ([], {})
    record_property("injected", len(outcomes) + 1)

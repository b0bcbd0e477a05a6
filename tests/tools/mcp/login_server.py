"""A server that requires a login, and its authorization server: on two ports of this machine, as two parties."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, quote, urlencode

from mcp.server.mcpserver import MCPServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.tools.mcp.serving import http_server


@dataclass
class AuthorizationServer:
    """Registers clients, and exchanges codes for tokens; `received` are the forms of its token requests.

    `secrets` are those of the clients that have one, shown by one of the `methods`; it `registers` others or not, and
    has a description or not. `refuses` is whether the person refuses, `page` another address of its page, and
    `receiver` of its tokens.
    """

    url: str = ""
    refuses: bool = False
    page: str = ""
    receiver: str = ""
    registers: bool = True
    is_described: bool = True
    methods: list[str] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    clients: dict[str, list[str]] = field(default_factory=dict)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=set)
    refresh_tokens: set[str] = field(default_factory=set)
    received: list[dict[str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/oauth-authorization-server", self.metadata),
                Route("/register", self.register, methods=["POST"]),
                Route("/authorize", self.authorize),
                Route("/token", self.token, methods=["POST"]),
            ]
        )

    async def metadata(self, _: Request) -> Response:
        self.paths.append("metadata")
        if not self.is_described:
            return PlainTextResponse("none", 404)
        return JSONResponse({
            "issuer": self.url,
            "authorization_endpoint": self.page or f"{self.url}/authorize",
            "token_endpoint": self.receiver or f"{self.url}/token",
            **({"registration_endpoint": f"{self.url}/register"} if self.registers else {}),
            **({"token_endpoint_auth_methods_supported": self.methods} if self.methods else {}),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        })  # fmt: skip

    async def register(self, request: Request) -> Response:
        self.paths.append("register")
        asked = await request.json()
        name = f"client-{len(self.clients)}"
        self.clients[name] = asked["redirect_uris"]
        return JSONResponse({**asked, "client_id": name}, 201)

    async def authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        if asked["redirect_uri"] not in self.clients[asked["client_id"]] or asked["code_challenge_method"] != "S256":
            return PlainTextResponse("no", 400)
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        answer = {"error": "access_denied"} if self.refuses else {"code": code}
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode({**answer, 'state': asked['state']})}")

    def is_client(self, form: dict[str, str], header: str) -> bool:
        """Whether a token request has the secret of its client, in just one place, or needs none."""
        secret = self.secrets.get(form["client_id"])
        if secret is None:
            return "client_secret" not in form and not header
        pair = f"{quote(form['client_id'], safe='')}:{quote(secret, safe='')}"  # RFC 6749, 2.3.1
        basic = f"Basic {base64.b64encode(pair.encode()).decode()}"
        if self.methods == ["client_secret_post"]:
            return form.get("client_secret") == secret and not header
        return header == basic and "client_secret" not in form

    async def token(self, request: Request) -> Response:
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        self.received.append(form)
        self.headers.append(dict(request.headers))
        if not self.is_client(form, request.headers.get("authorization", "")):
            return JSONResponse({"error": "invalid_client"}, 401)
        if form["grant_type"] == "refresh_token":
            if form["refresh_token"] not in self.refresh_tokens:
                return JSONResponse({"error": "invalid_grant"}, 400)
        else:
            asked = self.codes.pop(form["code"], None)
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            if not asked or asked["code_challenge"] != challenge or asked["redirect_uri"] != form["redirect_uri"]:
                return JSONResponse({"error": "invalid_grant"}, 400)
        token, refresh = secrets.token_urlsafe(16), secrets.token_urlsafe(16)
        self.tokens.add(token)
        self.refresh_tokens.add(refresh)
        body = {"access_token": token, "token_type": "Bearer", "expires_in": 3600, "refresh_token": refresh}
        return JSONResponse(body)


@dataclass
class ProtectedServer:
    """A server whose requests need a token of the authorization server; `seen` are the tokens that it received."""

    authorization: AuthorizationServer
    url: str = ""
    seen: list[str] = field(default_factory=list)

    def app(self) -> ASGIApp:
        server = MCPServer("lab")

        @server.tool()
        def double(n: int) -> int:
            """Double a number."""
            return 2 * n

        inner = server.streamable_http_app()

        async def check(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await inner(scope, receive, send)
                return
            request = Request(scope)
            token = request.headers.get("authorization", "").removeprefix("Bearer ")
            if request.url.path.startswith("/.well-known/oauth-protected-resource"):
                answer: Response = JSONResponse({
                    "resource": self.url, "authorization_servers": [self.authorization.url],
                })  # fmt: skip
            elif token not in self.authorization.tokens:
                base = self.url.removesuffix("/mcp")
                where = f'Bearer resource_metadata="{base}/.well-known/oauth-protected-resource/mcp"'
                answer = PlainTextResponse("log in", 401, {"www-authenticate": where})
            else:
                self.seen.append(token)
                await inner(scope, receive, send)
                return
            await answer(scope, receive, send)

        return check


@contextmanager
def protected_server() -> Iterator[ProtectedServer]:
    """Run both."""
    authorization = AuthorizationServer()
    server = ProtectedServer(authorization)
    with http_server(authorization.app) as issuing, http_server(server.app) as serving:
        authorization.url = issuing.url.removesuffix("/mcp")
        server.url = serving.url
        yield server


def visit(url: str) -> Any:
    """Open a page as a browser does, and follow it."""
    import httpx2  # noqa: PLC0415 - in the tests of logins only

    return httpx2.get(url, follow_redirects=True)

"""Logging in to a server over HTTP: OAuth with an authorization code and PKCE, by the package `mcp`.

https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization

The person is shown the host of the page first, and the host that gets its answer if that is another one. Its address
comes from the server, so it has to be https, or of this machine if the server is too; the same holds for every request
of the login. Tokens are sent to the server's own address, to no other one, and are in no message.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.utils import issuers_match
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    TokenEndpointAuthMethod,
)
from pydantic import AnyUrl

from nbtool.errors import BadUsage, McpFailed
from nbtool.server_url import ServerUrl, parse_server_url
from nbtool.sign_in import LoginRequest
from nbtool.text import shorten
from nbtool.tools.mcp.config import ServerSpec
from nbtool.tools.mcp.config.registered_client import RegisteredClient
from nbtool.tools.mcp.connection.exchange import current_exchange
from nbtool.tools.mcp.connection.http_transport import MAX_MESSAGE_CHARS
from nbtool.tools.mcp.connection.token_store import TokenStore
from nbtool.tools.mcp.questions.login_prompt import BrowserReturn, LoginPrompt, own_uri
from nbtool.tools.values.sanitize import single_line

CLIENT_NAME = "nbtool"
NOT_LOGGED_IN = "nobody agreed to log in at {host}"
FAILED = "the login failed ({kind})"
REFUSED = "the login was refused on its page"
MAX_ADDRESS = 4_000
"""Maximum number of characters of the address of a login's page: all of it is shown."""

UNSHOWN_ADDRESS = (
    "the address of its login page cannot be shown in full: it has {count:,} characters (the maximum is {limit:,}), or"
    " characters other than those of an address"
)
WRONG_ADDRESS = "its login leads to {url}, which is not https, or is on this machine while the server is not"

OTHER_ISSUER = "its login is not at {issuer}, where the client of its entry is registered"
NO_DESCRIPTION = "its authorization server does not describe itself, so nothing is sent for the client of its entry"
NO_ENDPOINT = "the client of its entry is not the one that its authorization server is asked about"
NO_METHOD = "{issuer} takes no secret of a client in a way that is known here"

SECRET_METHODS: tuple[TokenEndpointAuthMethod, ...] = ("client_secret_basic", "client_secret_post")
"""How a client shows its secret to a token endpoint, the first one by default (RFC 8414)."""

logging.getLogger("mcp.client.auth").addHandler(logging.NullHandler())


class LoginFailed(McpFailed):
    """A login ended without tokens; the message is for the person, and has no text of a stranger."""


class LoginTransport(httpx2.AsyncBaseTransport):
    """Sends requests with the tokens of a login; a request that needs one, and gets none, is answered with 503.

    A login is tried once in a session: the package repeats requests that fail.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport, spec: ServerSpec, provider: OAuthClientProvider) -> None:
        self._inner = inner
        self._server = parse_server_url(spec.url, may_have_query=True)
        self._provider = provider
        self._client = spec.client
        self._failure = ""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, with what precedes it."""
        if self._failure:
            return self._refuse()
        flow = self._provider.async_auth_flow(request)
        try:
            return await self._send(request, flow)
        except McpFailed as error:
            self._failure = str(error)
        except Exception as error:  # noqa: BLE001 - texts of the package may repeat a stranger's, or a secret
            self._failure = FAILED.format(kind=type(error).__name__)
        finally:
            await flow.aclose()
        return self._refuse()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()

    async def _send(
        self, request: httpx2.Request, flow: AsyncGenerator[httpx2.Request, httpx2.Response]
    ) -> httpx2.Response:
        outgoing = await anext(flow)
        while True:
            if outgoing is not request:
                check_address(str(outgoing.url), self._server)
                if self._client and outgoing.method == "POST":
                    metadata = check_issuer(self._client, self._provider.context.oauth_metadata)
                    if str(outgoing.url) != str(metadata.token_endpoint):
                        raise LoginFailed(NO_ENDPOINT)
                outgoing.headers["accept-encoding"] = "identity"
            response = await self._inner.handle_async_request(outgoing)
            response.request = outgoing
            try:
                outgoing = await flow.asend(response)
            except StopAsyncIteration:
                return response
            await response.aread()
            await response.aclose()

    def _refuse(self) -> httpx2.Response:
        current = current_exchange()
        current.problem, current.detail = "login", shorten(single_line(self._failure), MAX_MESSAGE_CHARS)
        return httpx2.Response(HTTPStatus.SERVICE_UNAVAILABLE)


async def open_login(spec: ServerSpec, login_prompt: LoginPrompt) -> OAuthClientProvider:
    """Return the login of a session, with what is stored of an earlier one."""
    store = _ClientStore(spec.url, spec.client) if spec.client else TokenStore(spec.url)
    server = parse_server_url(spec.url, may_have_query=True)
    browser = BrowserReturn(spec.client.redirect_uri if spec.client else own_uri(await _registered_port(store)))

    async def show_page(url: str) -> None:
        address = check_page(url, server)
        if spec.client:
            check_issuer(spec.client, provider.context.oauth_metadata)
            choose_method(provider.context.client_info, provider.context.oauth_metadata)
        await browser.listen(parse_qs(urlsplit(url).query).get("state", [""])[0])  # a page may lead back at once
        is_agreed = False
        try:
            receiver = _receiver(provider.context.oauth_metadata, address, server)
            is_agreed = await login_prompt.ask(LoginRequest(spec.name, address.netloc, url, receiver))
        finally:
            if not is_agreed:
                browser.close()
        if not is_agreed:
            raise LoginFailed(NOT_LOGGED_IN.format(host=address.netloc))

    async def receive() -> AuthorizationCodeResult:
        found = await browser.receive()
        if "code" not in found:
            raise LoginFailed(REFUSED)
        return AuthorizationCodeResult(code=found["code"], state=found["state"], iss=found.get("iss"))

    metadata = OAuthClientMetadata(
        client_name=CLIENT_NAME,
        redirect_uris=[AnyUrl(browser.uri)],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",
    )
    provider = OAuthClientProvider(spec.url, metadata, store, show_page, receive)
    issuer, expires = await store.get_issuer()
    if issuer:  # tokens of an earlier kernel are renewed, and nowhere else than where they are from
        provider.context.oauth_metadata, provider.context.token_expiry_time = issuer, expires
    store.read_issuer = lambda: provider.context.oauth_metadata
    return provider


class _ClientStore(TokenStore):
    """The login with a client that a person has registered: it is in the configuration, and its secret in no file."""

    def __init__(self, url: str, client: RegisteredClient) -> None:
        super().__init__(url)
        self._client = client

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the client, with how it shows its secret to the authorization server of an earlier login."""
        client = self._client
        found = OAuthClientInformationFull(
            client_id=client.client_id,
            client_secret=client.secret.get_secret_value() if client.secret else None,
            redirect_uris=[AnyUrl(client.redirect_uri)],
            issuer=client.issuer or None,
        )
        choose_method(found, (await self.get_issuer())[0])
        return found


def choose_method(client: OAuthClientInformationFull | None, metadata: OAuthMetadata | None) -> None:
    """Have a client with a secret show it as its authorization server wants it.

    Raises:
        LoginFailed: the server wants it otherwise.
    """
    if client is None or client.client_secret is None or metadata is None:
        return
    accepted = metadata.token_endpoint_auth_methods_supported or SECRET_METHODS[:1]
    if (method := next((method for method in SECRET_METHODS if method in accepted), None)) is None:
        raise LoginFailed(NO_METHOD.format(issuer=client.issuer))
    client.token_endpoint_auth_method = method


def check_issuer(client: RegisteredClient, metadata: OAuthMetadata | None) -> OAuthMetadata:
    """Return the description of the authorization server at which a person has registered the client.

    Without it the package would ask the server itself for tokens, or register another client.

    Raises:
        LoginFailed: there is none, or it is that of another one.
    """
    if client.issuer and metadata and not issuers_match(str(metadata.issuer), client.issuer):
        raise LoginFailed(OTHER_ISSUER.format(issuer=client.issuer))
    if metadata is None:
        raise LoginFailed(NO_DESCRIPTION)
    return metadata


async def _registered_port(store: TokenStore) -> int | None:
    """Return the port to which the browser came back after an earlier login; None for the first one."""
    registered = await store.get_client_info()
    uris = (registered.redirect_uris or ()) if registered else ()
    return next((urlsplit(str(uri)).port for uri in uris), None)


def check_address(url: str, server: ServerUrl) -> ServerUrl:
    """Return an address of a login, which the server or its authorization server named.

    Raises:
        LoginFailed: a key may not be sent there, or the server may not lead there.
    """
    base = url.partition("#")[0].partition("?")[0]
    try:
        address = parse_server_url(base)
    except BadUsage:
        raise LoginFailed(WRONG_ADDRESS.format(url=shorten(single_line(base), 200))) from None
    if not address.may_carry_key or (address.may_be_this_machine and not server.is_loopback):
        raise LoginFailed(WRONG_ADDRESS.format(url=shorten(single_line(base), 200)))
    return address


def check_page(url: str, server: ServerUrl) -> ServerUrl:
    """Check the address of a login's page as `check_address`, and that a person can be shown all of it."""
    address = check_address(url, server)
    if len(url) > MAX_ADDRESS or not all("!" <= character <= "~" for character in url):
        raise LoginFailed(UNSHOWN_ADDRESS.format(count=len(url), limit=MAX_ADDRESS))
    return address


def _receiver(metadata: OAuthMetadata | None, page: ServerUrl, server: ServerUrl) -> str:
    """Return the host that the page's answer is sent to, if it is another one: a page can be that of any service.

    https://www.rfc-editor.org/rfc/rfc9207#name-introduction
    """
    receiver = check_address(str(metadata.token_endpoint), server) if metadata else page
    return "" if receiver.origin == page.origin else receiver.netloc

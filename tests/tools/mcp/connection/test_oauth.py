"""Logging in to a server: the person is asked first, and the tokens go nowhere else."""

from __future__ import annotations

import json
import logging
import stat
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from nbtool import Approved, Denied
from nbtool.errors import BadUsage, McpFailed
from nbtool.server_url import parse_server_url
from nbtool.sign_in import LoginRequest, sign_in_page
from nbtool.tools.approval import ApprovalQueue, Decision, Question
from nbtool.tools.mcp import McpServers, mcp_servers
from nbtool.tools.mcp.connection.oauth import MAX_ADDRESS, LoginFailed, check_address
from nbtool.tools.mcp.connection.token_store import TokenStore
from nbtool.tools.mcp.questions.login_prompt import ask_by_line
from nbtool.tools.mcp.questions.sign_in_question import sign_in_form
from nbtool.view.page_messages import decide_by_click
from tests.tools.calling import ask_for, make_harness
from tests.tools.mcp.login_server import ProtectedServer, protected_server, visit


@pytest.fixture
def lab() -> Iterator[ProtectedServer]:
    with protected_server() as server:
        yield server


CALL = ask_for("lab_double", n=4)


class Person:
    """Agrees to a login or not, and then opens the page in a browser."""

    def __init__(self, *, agrees: bool = True, page: str = "") -> None:
        self.agrees, self.page = agrees, page
        self.asked: list[LoginRequest] = []
        self.answers: list[Any] = []

    def __call__(self, request: LoginRequest) -> bool:
        self.asked.append(request)
        if self.agrees:
            threading.Thread(target=lambda: self.answers.append(visit(self.page or request.url))).start()
        return self.agrees


def connect(lab: ProtectedServer, person: Person, **more: Any) -> McpServers:
    entry = {"url": lab.url, "auth": "oauth", **more}
    return mcp_servers({"mcpServers": {"lab": entry}}, connect_seconds=20, ask_login=person)


def double(servers: McpServers) -> Any:
    """Call the tool as a person who approves calls, and agrees to no login during one."""
    return make_harness(servers, approver=lambda asked: Denied() if asked.is_form else Approved()).run(CALL)


@pytest.mark.promise("logins")
def test_a_person_agrees_logs_in_and_the_tools_work(lab: ProtectedServer) -> None:
    person = Person()
    with connect(lab, person) as servers:
        record = double(servers)

    (asked,) = person.asked
    assert (record.status, record.result) == ("ok", 8)
    assert (asked.server, f"http://{asked.host}", asked.receiver) == ("lab", lab.authorization.url, "")
    assert asked.url.startswith(f"{lab.authorization.url}/authorize?")
    assert lab.authorization.received[0]["code_verifier"] not in asked.url


@pytest.mark.promise("logins")
def test_nothing_is_opened_or_sent_where_the_person_does_not_agree(lab: ProtectedServer) -> None:
    person = Person(agrees=False)
    with pytest.raises(McpFailed, match=r"needs a login: nobody agreed to log in at 127\.0\.0\.1"):
        connect(lab, person)

    assert len(person.asked) == 1
    assert lab.authorization.received == []
    assert lab.seen == []


def test_a_login_is_used_again_without_asking_and_renewed(lab: ProtectedServer) -> None:
    with connect(lab, Person()) as servers:
        assert double(servers).status == "ok"
    with connect(lab, Person(agrees=False)) as servers:
        assert double(servers).status == "ok"
    path = TokenStore(lab.url).path
    path.write_text(json.dumps({**json.loads(path.read_text()), "expires": 1}))
    lab.authorization.tokens.clear()
    nobody = Person(agrees=False)
    with connect(lab, nobody) as servers:
        assert double(servers).status == "ok"

    assert nobody.asked == []
    assert len(lab.authorization.clients) == 1
    grants = [form["grant_type"] for form in lab.authorization.received]
    assert grants == ["authorization_code", "refresh_token"]


def test_a_login_that_has_ended_says_how_to_log_in_again(lab: ProtectedServer) -> None:
    person = Person()
    with connect(lab, person) as servers:
        lab.authorization.tokens.clear()
        lab.authorization.refresh_tokens.clear()
        ended = double(servers)
        servers["lab"].logout()
        servers["lab"].close()
    with pytest.raises(McpFailed, match=r"login\(\)"):
        connect(lab, Person(agrees=False))

    assert ended.status == "error"
    assert "login()" in ended.shown
    assert len(person.asked) == 1


class InTurn:
    """Decides calls as a function, and the question about a page by a click: `opens` it in a browser, or refuses."""

    def __init__(self, *, opens: bool) -> None:
        self.opens = opens
        self.forms: list[Question] = []
        self.approvals = ApprovalQueue()

    def __call__(self, question: Question) -> Decision | None:
        if not question.is_form:
            return Approved()
        self.forms.append(question)
        threading.Thread(target=self.click, args=(question,)).start()
        return None

    def click(self, question: Question) -> None:
        if self.opens:
            decide_by_click(self.approvals, question.digest, {"verdict": "approved"})
            visit(sign_in_page(question.schema, is_form=True))
        else:
            decide_by_click(self.approvals, question.digest, {"verdict": "denied"})


@pytest.mark.promise("logins")
@pytest.mark.parametrize("opens", [True, False])
def test_a_login_that_a_call_needs_is_a_question_of_its_turn(lab: ProtectedServer, *, opens: bool) -> None:
    person = Person()
    with connect(lab, person) as servers:
        lab.authorization.tokens.clear()
        lab.authorization.refresh_tokens.clear()
        seen, received = len(lab.seen), len(lab.authorization.received)
        approver = InTurn(opens=opens)
        harness = make_harness(servers, approver=approver)
        approver.approvals = harness.runtime.approvals
        record = harness.run(CALL)

    (form,) = approver.forms
    page = sign_in_page(form.schema, is_form=True)
    assert len(person.asked) == 1  # when it connected
    assert page.startswith(f"{lab.authorization.url}/authorize?")
    assert (form.display_name, form.sensitive, form.can_remember) == ("lab asks", True, False)
    assert all(part in form.notice for part in ("'lab'", "127.0.0.1"))
    shown = [event.text for event in harness.of("notice")]
    assert any(page in text for text in shown) is opens
    if opens:
        assert (record.status, record.result) == ("ok", 8)
    else:
        assert (record.status, "login()" in record.shown) == ("error", True)
        codes = [one for one in lab.authorization.received[received:] if one["grant_type"] == "authorization_code"]
        assert (codes, lab.seen[seen:]) == ([], [])


class ApprovesAll:
    """An approver that approves whatever it is asked, under the name of a click."""

    name = "button"

    def ask(self, _: Question) -> Decision:
        return Approved()


@pytest.mark.promise("logins")
@pytest.mark.parametrize("approver", [lambda _: Approved(), ApprovesAll()])
def test_an_approver_that_approves_everything_agrees_to_no_login(lab: ProtectedServer, approver: Any) -> None:
    with connect(lab, Person()) as servers:
        lab.authorization.tokens.clear()
        lab.authorization.refresh_tokens.clear()
        seen, codes = len(lab.seen), len(lab.authorization.codes)
        harness = make_harness(servers, approver=approver)
        record = harness.run(CALL)

    assert (record.status, "login()" in record.shown) == ("error", True)
    assert (lab.seen[seen:], len(lab.authorization.codes)) == ([], codes)
    assert not any("/authorize?" in event.text for event in harness.of("notice"))
    denied = [event for event in harness.of("call_decided") if event.verdict == "denied"]
    assert [event.by for event in denied] == ["nobody"]


def test_an_address_that_cannot_be_shown_in_full_is_refused_before_anybody_is_asked(lab: ProtectedServer) -> None:
    lab.authorization.page = f"{lab.authorization.url}/authorize?x={MAX_ADDRESS * 'x'}"
    person = Person()
    with pytest.raises(McpFailed, match="cannot be shown in full"):
        connect(lab, person)

    assert person.asked == []


@pytest.mark.promise("logins")
def test_a_person_learns_that_the_answer_of_a_page_goes_to_another_host(
    lab: ProtectedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.authorization.receiver, person, prompts = "http://127.0.0.1:9/token", Person(agrees=False), []
    with pytest.raises(McpFailed, match="nobody agreed"):
        connect(lab, person)
    (asked,) = person.asked
    monkeypatch.setattr("builtins.input", prompts.append)

    assert (f"http://{asked.host}", asked.receiver) == (lab.authorization.url, "127.0.0.1:9")
    assert "127.0.0.1:9" in sign_in_form(asked)[0].notice
    with suppress(AttributeError):  # no answer
        ask_by_line(asked)
    assert "127.0.0.1:9" in prompts[0]


@pytest.mark.promise("logins")
def test_an_answer_is_never_sent_where_a_login_may_not_lead(lab: ProtectedServer) -> None:
    lab.authorization.receiver, person = "http://tokens.example/token", Person()
    with pytest.raises(McpFailed, match="not https"):
        connect(lab, person)

    assert person.asked == []


def test_logging_in_again_asks_and_connects_again(lab: ProtectedServer) -> None:
    person = Person()
    with connect(lab, person) as servers:
        lab.authorization.tokens.clear()
        lab.authorization.refresh_tokens.clear()
        assert "login()" in double(servers).shown
        servers["lab"].login()

        assert double(servers).result == 8
    assert len(person.asked) == 2


@pytest.mark.promise("logins")
def test_tokens_are_in_a_file_of_the_user_alone_and_in_no_message_or_log(
    lab: ProtectedServer, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with connect(lab, Person()) as servers:
        double(servers)
        shown = repr(servers["lab"]) + "".join(servers["lab"].notices)
    path = TokenStore(lab.url).path

    (token,) = lab.authorization.tokens
    (refresh,) = lab.authorization.refresh_tokens
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert json.loads(path.read_text())["tokens"]["access_token"] == token
    everything = shown + "".join(capfd.readouterr()) + caplog.text
    for secret in (token, refresh, lab.authorization.received[0]["code_verifier"]):
        assert secret not in everything


@pytest.mark.promise("logins")
def test_tokens_are_sent_to_their_server_only_and_configured_headers_not_to_the_login(lab: ProtectedServer) -> None:
    with connect(lab, Person(), headers={"X-Key": "k-12345"}) as servers:
        double(servers)

    assert set(lab.seen) <= lab.authorization.tokens
    assert all("authorization" not in headers for headers in lab.authorization.headers)
    assert all("x-key" not in headers for headers in lab.authorization.headers)
    other = TokenStore(f"{lab.url}2")
    other.path.write_text(TokenStore(lab.url).path.read_text())
    assert _run(other.get_tokens()) is None


def test_a_page_that_is_refused_ends_the_login(lab: ProtectedServer) -> None:
    lab.authorization.refuses = True
    with pytest.raises(McpFailed, match="the login was refused on its page"):
        connect(lab, Person())


def test_a_login_whose_code_is_refused_ends_without_the_words_of_the_server(lab: ProtectedServer) -> None:
    class Forgetful(dict[str, dict[str, str]]):
        def __setitem__(self, code: str, asked: dict[str, str]) -> None:
            """Drop the code."""

    lab.authorization.codes = Forgetful()
    with pytest.raises(McpFailed, match=r"the login failed \(OAuthTokenError\)") as failed:
        connect(lab, Person())

    assert "invalid_grant" not in str(failed.value)


@pytest.mark.promise("logins")
def test_a_login_that_leads_to_plain_http_is_refused_before_anybody_is_asked(lab: ProtectedServer) -> None:
    lab.authorization.page = "http://login.example/authorize"
    person = Person()
    with pytest.raises(McpFailed, match=r"its login leads to http://login\.example/authorize, which is not https"):
        connect(lab, person)

    assert person.asked == []


@pytest.mark.parametrize(
    ("url", "is_allowed"),
    [
        ("https://login.example/authorize?x=1", True),
        ("http://login.example/authorize", False),
        ("http://127.0.0.1:8888/api", False),
        ("https://localhost/api", False),
        ("https://api.localhost/", False),
        ("https://[::1]:8888/api", False),
        ("https://[::ffff:127.0.0.1]/api", False),
        ("https://[::ffff:7f00:1]:8888/api", False),
        ("https://[::]/api", False),
        ("javascript:alert(1)", False),
        ("https://user:pw@login.example/", False),
    ],
)
def test_a_server_elsewhere_leads_neither_to_plain_http_nor_to_this_machine(url: str, *, is_allowed: bool) -> None:
    server = parse_server_url("https://lab.example/mcp")
    if is_allowed:
        assert check_address(url, server).host == "login.example"
    else:
        with pytest.raises(LoginFailed):
            check_address(url, server)


def test_only_the_browser_with_the_right_state_is_received(lab: ProtectedServer) -> None:
    class Stranger(Person):
        def __call__(self, request: LoginRequest) -> bool:
            port = next(iter(lab.authorization.clients.values()))[0].rpartition(":")[2].partition("/")[0]

            def come() -> None:
                base = f"http://127.0.0.1:{port}"
                for path in ("/nbtool-login?code=x&state=guessed", "/nbtool-login?code=x", "/other", "/nbtool-login"):
                    self.answers.append(_visit_when_listening(f"{base}{path}").status_code)
                self.answers.append(visit(request.url).status_code)

            threading.Thread(target=come).start()
            return True

    stranger = Stranger()
    with connect(lab, stranger) as servers:
        assert double(servers).result == 8

    assert stranger.answers[:4] == [404] * 4


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"auth": "basic"}, 'can only be "oauth"'),
        ({"auth": "oauth", "headers": {"authorization": "Bearer x"}}, "a login and a header Authorization"),
        ({"auth": "oauth", "url": "http://lab.example/mcp"}, "nor is the token of a login"),
    ],
)
def test_a_wrong_configuration_is_refused(entry: dict[str, Any], words: str) -> None:
    with pytest.raises(BadUsage, match=words):
        mcp_servers({"mcpServers": {"lab": {"url": "https://lab.example/mcp", **entry}}})


@pytest.mark.parametrize(("answer", "agrees"), [("y", True), ("YES", True), ("", False), ("no", False), (None, False)])
def test_a_line_of_input_shows_the_host_before_the_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str | None, *, agrees: bool
) -> None:
    questions: list[str] = []

    def ask(question: str) -> str:
        questions.append(question)
        if answer is None:
            raise EOFError
        return answer

    monkeypatch.setattr("builtins.input", ask)

    assert ask_by_line(LoginRequest("lab", "login.example", "https://login.example/authorize?x=1")) is agrees
    assert all(part in questions[0] for part in ("'lab'", "login.example"))
    assert "authorize" not in questions[0]
    assert ("https://login.example/authorize?x=1" in capsys.readouterr().out) is agrees


def _visit_when_listening(url: str) -> Any:
    """Open a page as soon as it can be: a login listens once the person has agreed."""
    import httpx2  # noqa: PLC0415 - by this test only

    while True:
        try:
            return visit(url)
        except httpx2.ConnectError:
            continue


def _run(work: Any) -> Any:
    import asyncio  # noqa: PLC0415 - by one test only

    return asyncio.run(work)

"""Asks to sign in to a server while a cell of code waits for it: a line below the cell, with a link to the page.

The click on the link is the consent: nothing opens or fetches the address before.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any
from urllib.parse import urlsplit

from IPython.display import display

from nbtool.blocks.confusables import escape_confusables
from nbtool.blocks.sanitize import escape_invisible
from nbtool.magics.kernel.cell_messages import has_front_end
from nbtool.sign_in import LoginRequest
from nbtool.tools.mcp.catalog.tool_list import server_label
from nbtool.tools.mcp.questions.login_prompt import LOGIN_SECONDS, ask_by_line, page_text
from nbtool.tools.mcp.questions.sign_in_question import login_notice

HINT = "The cell waits {minutes:g} minutes. Stop it if you do not want to sign in."
NO_LINK = "This is no address that can be opened here."
ENDED = "{server} asked you to sign in at {host}."

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def ask_in_cell(shell: Any, request: LoginRequest) -> bool:
    """Show the line below the running cell; without a page, ask with a line of input.

    Return whether the login is to be waited for: in a page until its time is over, or the person stops the cell.
    """
    if not has_front_end(shell):
        return ask_by_line(request)
    parts = address_parts(request.url)
    handle: Any = display(login_line(request, parts), raw=True, display_id=True)  # type: ignore[no-untyped-call]  # IPython ships no types for it
    if parts:
        _forget_at_the_end(shell, handle, request)
    return parts is not None


def address_parts(url: str) -> tuple[str, str, str] | None:
    """Return an address that may be opened in the parts before, of and after its host; None for any other."""
    try:
        parts = urlsplit(url)
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    except ValueError:
        return None
    before = f"{parts.scheme}://"
    if not is_safe or not parts.netloc or "@" in parts.netloc or not re.fullmatch(r"[!-~]+", url) or "\\" in url:
        return None
    return (before, parts.netloc, url[len(before + parts.netloc) :]) if url.startswith(before + parts.netloc) else None


def login_line(request: LoginRequest, parts: tuple[str, str, str] | None) -> dict[str, str]:
    """Return the line as HTML and as text; without `parts` the address is no link."""
    notice = login_notice(request)
    hint = HINT.format(minutes=LOGIN_SECONDS / 60)
    if parts is None:
        address = escape_confusables(escape_invisible(request.url))
        return {"text/html": f"<p>{_html(notice)}</p><p><code>{escape(address)}</code></p><p>{NO_LINK}</p>",
                "text/plain": f"{notice}\n\n{address}\n{NO_LINK}"}  # fmt: skip
    before, host, after = (escape(part) for part in parts)
    link = (
        f'<a href="{escape(request.url)}" target="_blank" rel="noopener noreferrer" style="overflow-wrap:anywhere">'
        f"{before}<strong>{host}</strong>{after}</a>"
    )
    return {
        "text/html": f'<p>{_html(notice)}</p><p>{link}</p><p style="opacity:.75">{hint}</p>',
        "text/plain": f"{notice}\n\n{page_text(request)}",
    }


def _html(text: str) -> str:
    return escape(escape_confusables(escape_invisible(text))).replace("\n\n", "</p><p>")


def _forget_at_the_end(shell: Any, handle: Any, request: LoginRequest) -> None:
    """Replace the line once its cell has ended: its address is good for one login, and belongs into no file."""

    def forget(*_: object) -> None:
        shell.events.unregister("post_run_cell", forget)
        text = ENDED.format(server=server_label(request.server), host=request.host)
        handle.update({"text/plain": escape_confusables(escape_invisible(text))}, raw=True)

    shell.events.register("post_run_cell", forget)

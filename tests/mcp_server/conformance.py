"""What the official conformance suite tries, and why some of it does not pass: the table of docs/conformance.md.

Usage: python -m tests.mcp_server.conformance
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"

HEAD = """# Conformance to the Model Context Protocol

The [official suite](https://github.com/modelcontextprotocol/conformance) (0.1.16: the revisions up to 2025-11-25) tries
a served notebook, and nbtool as a client of its own servers, by `make lane LANE=mcp-clients`. What passes
has to go on passing, and what does not has to go on not passing, or a test fails.
`python -m tests.mcp_server.conformance` writes this page.
"""

NO_PROMPTS = "a notebook offers tools and variables, no prompts"
NO_QUESTIONS = "the notebook asks its person, not the client"
NO_OTHER_CONTENT = "a client gets what a model would: text and images"
VARIABLES_ONLY = "the resources are variables, with addresses of their own"
NO_PERSON = "a login without a person is not offered: put a token into the configuration"

SERVER: Mapping[str, str] = {
    "server-initialize": "",
    "ping": "",
    "tools-list": "",
    "tools-call-simple-text": "",
    "tools-call-image": "",
    "tools-call-error": "",
    "server-sse-multiple-streams": "",
    "resources-list": "",
    "dns-rebinding-protection": "",
    "tools-call-audio": NO_OTHER_CONTENT,
    "tools-call-embedded-resource": NO_OTHER_CONTENT,
    "tools-call-mixed-content": NO_OTHER_CONTENT,
    "tools-call-with-progress": "three reports within 0.1 s are joined to fewer",
    "json-schema-2020-12": "a schema is listed in one normal form: without `$schema`, with `$defs` where they are used",
    "server-sse-polling": "no stream is closed during a call; a call that takes long can be a task",
    "logging-set-level": "a notebook sends its clients no log",
    "tools-call-with-logging": "a notebook sends its clients no log",
    "completion-complete": "there is nothing to complete: no prompts, no templates",
    "tools-call-sampling": "the notebook asks no client for its model",
    "tools-call-elicitation": NO_QUESTIONS,
    "elicitation-sep1034-defaults": NO_QUESTIONS,
    "elicitation-sep1330-enums": NO_QUESTIONS,
    "resources-read-text": VARIABLES_ONLY,
    "resources-read-binary": VARIABLES_ONLY,
    "resources-templates-read": VARIABLES_ONLY,
    "resources-subscribe": "a variable is read when it is asked for; changes are not sent",
    "resources-unsubscribe": "a variable is read when it is asked for; changes are not sent",
    "prompts-list": NO_PROMPTS,
    "prompts-get-simple": NO_PROMPTS,
    "prompts-get-with-args": NO_PROMPTS,
    "prompts-get-embedded-resource": NO_PROMPTS,
    "prompts-get-with-image": NO_PROMPTS,
}
"""Why a scenario does not pass; empty for one that passes."""

CLIENT: Mapping[str, str] = {
    "initialize": "",
    "tools_call": "",
    "elicitation-sep1034-client-defaults": "",
    "sse-retry": "",
    "auth/metadata-default": "",
    "auth/metadata-var1": "",
    "auth/metadata-var2": "",
    "auth/metadata-var3": "",
    "auth/scope-from-www-authenticate": "",
    "auth/scope-from-scopes-supported": "",
    "auth/scope-omitted-when-undefined": "",
    "auth/scope-step-up": "",
    "auth/scope-retry-limit": "",
    "auth/token-endpoint-auth-basic": "",
    "auth/token-endpoint-auth-post": "",
    "auth/token-endpoint-auth-none": "",
    "auth/2025-03-26-oauth-endpoint-fallback": "",
    "auth/resource-mismatch": "",
    "auth/offline-access-scope": "",
    "auth/offline-access-not-supported": "",
    "auth/basic-cimd": "all checks pass, with a warning: nbtool registers itself, for no web page describes it",
    "auth/pre-registration": "a client that was registered by hand cannot be named in the configuration",
    "auth/2025-03-26-oauth-metadata-backcompat": "the package `mcp` refuses metadata of 2025-03-26 for another address",
    "auth/client-credentials-jwt": NO_PERSON,
    "auth/client-credentials-basic": NO_PERSON,
    "auth/cross-app-access-complete-flow": NO_PERSON,
}
"""The same of the scenarios for a client."""


def page() -> str:
    """Return the page."""
    return "\n".join([HEAD, *_table("A served notebook", SERVER), *_table("nbtool as a client", CLIENT)])


def _table(title: str, rows: Mapping[str, str]) -> Iterator[str]:
    passed = [name for name, reason in rows.items() if not reason]
    yield f"## {title}\n"
    yield f"Passed, {len(passed)} of {len(rows)}: {_listed(passed)}.\n"
    yield "| not passed | why |\n|---|---|"
    for reason in dict.fromkeys(filter(None, rows.values())):
        yield f"| {_listed(name for name, why in rows.items() if why == reason)} | {reason} |"
    yield ""


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

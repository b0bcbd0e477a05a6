"""What `%%chat` and `%chat` print: help, state, recordings, exports, and the errors of flags and commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from nbtool import Chat
from nbtool.magics.commands.dispatch import COMMANDS
from nbtool.testing import ScriptedWire, call
from nbtool.wire.transport import traffic
from tests.chaos import serve, whole
from tests.policy.in_force import policy_in_force
from tests.words.conftest import Page

TOOLS = """
from nbtool import tool

@tool(run="auto")
def double(n: int) -> int:
    "Twice a number."
    return 2 * n

@tool
def rows(frame: object) -> int:
    "How many rows a frame has."
    return 3

frame = [1, 2, 3]
"""


def test_help(page: Page, snapshot: SnapshotAssertion) -> None:
    page.run("%chat help")
    for command in sorted(COMMANDS):
        page.run(f"%chat help {command}")
    page.run("%chat help exprot")

    assert page.texts == snapshot


COMMAND_ERRORS = (
    "exprot", "rerun", "dry-run", "tool double", "status foo", "vars foo bar", "models a b", "config max_rond 3",
    "config max_rounds x", "record --quiet", "replay missing.json", "record broken.json", "export md --overwrit",
    "open --new", "bind x y --replac", "open broken.json", "code a b", "code", "code --all", "serve --port x",
    "env nonsense", "approvals revoke", "-c", "history --x",
)  # fmt: skip


def test_errors_of_commands(page: Page, snapshot: SnapshotAssertion) -> None:
    Path("broken.json").write_text("{}")
    for line in COMMAND_ERRORS:
        page.run(f"%chat {line}")

    assert page.texts == snapshot


CELL_ERRORS = (
    "--nonsense", "--dryrun", "-t", "-t nobody", "-t nbtool:file", "-t frame", "-t !", "-v nothing", "-v 1x",
    "--read nothing", "--budget x", "--budget -1", "--set max_rounds=0", "--timeout soon", "--as nothing", "--as frame",
    "-m nobody:m", "-m opnai:gpt-5", "-m openai:gpt-5", "--effort most", "--approve maybe", "--set replay=sometimes",
    "--set max_rond=1", "--set max_rounds=x", "--set base_url=http://localhost:1", "--attach missing.png", "--edit 7",
    "--rerun 7", "--rerun :resume", "--set append_turns=true --new", "-o 1x", "--cells somewhere",
)  # fmt: skip


def test_errors_of_flags(page: Page, snapshot: SnapshotAssertion) -> None:
    page.run_unseen(TOOLS)
    for flags in CELL_ERRORS:
        page.run(f"%%chat -q {flags}\nHello", f"%%chat {flags}")

    assert page.texts == snapshot


def test_errors_of_prompts(page: Page, snapshot: SnapshotAssertion) -> None:
    page.run_unseen(TOOLS)
    for prompt in ("Look at $`nothing`.", "Use &`nobody`.", "Use &`frame`.", ""):
        page.run(f"%%chat -q\n{prompt}")
    page.run("x = 1\n%%chat -q\nHello", "a cell whose second line is %%chat")

    assert page.texts == snapshot


def test_state(page: Page, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(traffic, "_totals", {})
    page.run_unseen(TOOLS)
    page.run_unseen("%%chat -q -t double rows -v frame\nUse &`double` with 4.")
    for line in ("tools", "vars", "config max_rounds", "config result_bytes 4MB", "config result_bytes"):
        page.run(f"%chat {line}")
    rows = page.run_unseen("%chat status").splitlines()
    changing = ("journal", "practice model", "  ", "sent", "tokens")
    page.texts["%chat status"] = "\n".join(row for row in rows if not row.startswith(changing))
    with policy_in_force(tmp_path, "[approval]\nalways_ask = ['double']"):
        page.run("%chat tools", "%chat tools, with a policy that asks about double")
    with policy_in_force(tmp_path, "[approval]\nnever = ['double']"):
        page.run("%chat tools", "%chat tools, with a policy that forbids double")
        shown = page.run_unseen("%%chat\nUse &`double` with 4.").strip()
    page.texts["a call that a policy forbids"] = shown.rpartition("\n")[0]  # without the sizes of a path of this test

    assert page.texts == snapshot


def test_models(page: Page, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-a-test")
    page.run_unseen("%chat config model openai:a-model")
    listed = {"data": [{"id": "never-heard-of", "context_length": 4096, "supported_parameters": ["tools", "seed"]}]}
    for title, body in (("a list", listed), ("an empty list", {"data": []})):
        with serve(whole(200, body)) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            page.run("%chat models", f"%chat models, where the provider has {title}")
            page.run("%chat models x", f"%chat models x, where the provider has {title}")

    assert page.texts == snapshot


def test_recordings(page: Page, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> None:
    page.run_unseen(TOOLS)
    for line in ("record", "record notebook.nbtool.json"):
        page.run(f"%chat {line}")
    page.run_unseen("%%chat -q -t double\nUse &`double` with 21.")
    page.run("%chat record", "%chat record, after a turn")
    page.run_unseen(TOOLS.replace("return 2 * n", "return n + n"))
    page.run(
        "%%chat -q --new -t double --set replay=only\nUse &`double` with 21.",
        "%%chat --set replay=only, with a changed tool",
    )
    page.run("%%chat -q --new --set replay=only\nAnother prompt", "%%chat --set replay=only, with another prompt")
    page.run("%chat record notebook.nbtool.json --only")
    page.run("%chat record off")
    monkeypatch.setenv("NBTOOL_RECORDING", "notebook.nbtool.json")
    monkeypatch.setenv("NBTOOL_REPLAY", "only")
    page.run("%chat replay", "%chat replay, where the environment names a recording")

    assert page.texts == snapshot


def test_exports(page: Page, snapshot: SnapshotAssertion) -> None:
    page.run_unseen(TOOLS)
    page.run_unseen("%%chat -q\nHello")
    page.run("%chat export py --cell", "%chat export py --cell, without calls")
    page.run_unseen("%%chat -q -t rows -v frame --approve deny\nUse &`rows` with $`frame`.")
    page.run("%chat export py --cell", "%chat export py --cell, where every call was denied")
    for line in ("export md", "export md", "export json --overwrite", "export py", "open main.json", "history"):
        page.run(f"%chat {line}")

    assert page.texts == snapshot


def test_turns_that_fail(page: Page, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> None:
    page.run_unseen(TOOLS)
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-a-test")
    answers = {
        "401": whole(401, {"error": {"message": "Incorrect API key provided"}}),
        "404": whole(404, {"error": {"message": "model 'nope' not found"}}),
        "429 without credit": whole(
            429, {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}
        ),
        "a page": whole(200, b"<html>Sign in</html>", "text/html"),
    }
    for title, answer in answers.items():
        with serve(answer) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            page.run("%%chat -q --new -m openai:nope\nHello", f"%%chat -m openai:nope, whose server answers {title}")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    page.run("%%chat -q --new -m openai:nope\nHello", "%%chat -m openai:nope, whose server does not run")
    page.run(
        "%%chat --new -m practice:fast -t rows -v frame\nUse &`rows` with $`frame`.",
        "%%chat -t rows, which nobody can approve",
    )
    page.run("%%chat -c plain --dry-run\nHello", "%%chat --dry-run")
    page.run(
        "%%chat --new --budget $1 --dry-run -m openai:a-model-of-ours\nHello",
        "%%chat --budget $1 -m openai:a-model-of-ours",
    )

    assert page.texts == snapshot


def test_limits_of_a_cell(page: Page, snapshot: SnapshotAssertion) -> None:
    page.run_unseen(TOOLS)
    replies = [call("double", n=1), call("double", n=2), "Done."]
    page.shell.magics_manager.registry["ChatMagics"].kernel_chats.chat("main").model = Chat(
        wire=ScriptedWire(replies)
    ).model
    page.run("%%chat -t double --set max_rounds=3\nGo on.")

    assert page.texts == snapshot

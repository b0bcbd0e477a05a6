from __future__ import annotations

from typing import Any

import pytest

from nbtool.chat.turn import Turn
from tests.chaos import event, head, serve, serve_each, whole

USE = "%%chat -m practice:fast -o answer\n"
NO_MODEL = whole(404, {"error": {"message": "model 'nope' not found"}})


def failure(shell: Any, cell: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a cell that must fail, and give the one line it leaves."""
    capsys.readouterr()
    assert not shell.run_cell(cell).success
    said = capsys.readouterr()
    return (said.out + said.err).strip()


def test_loading_says_in_one_line_which_model_was_found(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_line_magic("reload_ext", "nbtool")

    assert "practice:default (" in capsys.readouterr().out


def test_a_cell_calls_the_tools_that_it_mentions(shell: Any) -> None:
    assert shell.run_cell(USE + "Use &`double` with 21.").success

    answer: Turn = shell.user_ns["answer"]
    assert [(c.name, c.status, c.result) for c in answer.calls] == [("double", "ok", 42)]
    assert "42" in answer.text


def test_a_call_that_asks_is_denied_where_nobody_can_be_asked(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell(USE + "Use &`rows` on $`frame`.")

    answer: Turn = shell.user_ns["answer"]
    assert answer.calls[0].status == "denied"
    assert "page" in answer.calls[0].reason
    assert "--approve auto" in answer.calls[0].reason
    assert "--approve auto" not in answer.calls[0].shown
    for shown in (capsys.readouterr().out, answer._repr_mimebundle_()["text/plain"]):
        assert shown.count("`--approve auto`") == 1
        assert '`run="auto"`' in shown
    assert shell.user_ns["received"] == []


def test_a_sensitive_call_names_where_it_can_be_approved(shell: Any) -> None:
    shell.run_cell("@tool(sensitive=True)\ndef publish() -> int:\n    'Publish.'\n    return 1")
    shell.run_cell("%%chat --approve auto -m practice:fast -o answer\nUse &`publish`.")

    assert shell.user_ns["answer"].calls[0].status == "denied"
    assert "`--approve auto`" in shell.user_ns["answer"].calls[0].reason


def test_approve_auto_lets_it_run_on_the_very_object(shell: Any) -> None:
    shell.run_cell(USE.replace("-o", "--approve auto -o") + "Use &`rows` on $`frame`.")

    assert shell.user_ns["received"][0] is shell.user_ns["frame"]


def test_approve_deny_says_so(shell: Any) -> None:
    shell.run_cell(USE.replace("-o", "--approve deny -o") + "Use &`rows` on $`frame`.")

    assert "--approve deny" in shell.user_ns["answer"].calls[0].reason


def test_flags_expose_as_mentions_do(shell: Any) -> None:
    shell.run_cell("%%chat -m practice:fast -o answer -t double -v frame\nUse double with 4.")

    answer: Turn = shell.user_ns["answer"]
    assert answer.calls[0].result == 8
    assert "$VAR_REF{{frame}}: Frame" in answer.messages.context[-1].text


def test_a_redefined_tool_is_the_new_one(shell: Any) -> None:
    shell.run_cell(USE + "Use &`double` with 1.")
    shell.run_cell("@tool(run='auto')\ndef double(n: int) -> int:\n    'Thrice.'\n    return 3 * n")
    shell.run_cell(USE + "Use double with 1.")

    assert shell.user_ns["answer"].calls[0].result == 3


def test_quiet_shows_nothing(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    shell.run_cell("%%chat -q -m practice:fast -o answer\nHello")

    assert capsys.readouterr().out == ""
    assert shell.user_ns["answer"].status == "completed"


def test_the_body_is_sent_as_it_was_typed(shell: Any) -> None:
    body = r"Costs $5 and {braces}, $x^2$, \$VAR_REF{{no}} and `code`."
    shell.run_cell(USE + body)

    assert shell.user_ns["answer"].messages.context[-1].text == body


@pytest.mark.parametrize("body", ["# What does it cost?", "# First line\n#\n# Second line", "#hashtag"])
def test_a_prompt_of_which_every_line_begins_with_a_hash_is_sent_as_it_was_typed(shell: Any, body: str) -> None:
    shell.run_cell(USE + body)

    assert shell.user_ns["answer"].messages.context[-1].text == body


def test_a_chat_has_a_name_and_new_starts_it_without_turns(shell: Any) -> None:
    shell.run_cell("%%chat -m practice:fast -c other -o one\nHello")
    shell.run_cell("%%chat -m practice:fast -c other -o two\nHello")
    shell.run_cell("%%chat -m practice:fast -c other --new -o three\nHello")

    actual = [len(shell.user_ns[name].messages.context) for name in ("one", "two", "three")]
    assert actual == [1, 3, 1]


def test_dry_run_shows_the_request_and_sends_nothing(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    shell.run_cell("%%chat --dry-run -m practice:fast --option temperature=0.5\nHello")

    said = capsys.readouterr().out
    assert said.startswith("Nothing was sent. The request has ")
    assert "\nPOST http://127.0.0.1:" in said
    assert '"temperature": 0.5' in said
    assert shell.run_line_magic("chat", "history") is None
    assert "Hello" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("cell", "line"),
    [
        ("%%chat --modle x\nHi", "Did you mean --model?"),
        ("%%chat -s 'open\nHi", "Close the quotation mark."),
        ("%%chat -m nonsense:x\nHi", "Unknown provider"),
        ("%%chat -m openai:gpt-5-mini\nHi", "OPENAI_API_KEY is set neither"),
        ("%%chat -t duoble\nHi", "Did you mean double?"),
        ("%%chat -v farme\nHi", "Did you mean frame"),
        ("%%chat\n\n  \n", "nothing was sent"),
        ("%%chat\n#\n  #\n", "nothing was sent"),
        ("%%chat --budget much\nHi", "--budget takes a number"),
        ("%%chat --set max_rounds=0\nHi", "max_rounds cannot be 0"),
        ("%%chat --option temperature\nHi", "expected KEY=VALUE"),
        ("%%chat -o 'two words'\nHi", "expected a valid variable name"),
        ("%%chat -o class\nHi", "expected a valid variable name"),
        ("%%chat --timeout -3\nHi", "expected a number of seconds"),
        ("%chat hsitory", "Did you mean history?"),
        ("%chat Hello world", "`%chat help` lists the commands. A prompt goes below `%%chat`."),
        ("%chat hello world", "Did you mean help? A prompt goes below `%%chat`."),
        ("%%chat", "The cell has no prompt; nothing was sent. Write your prompt below the %%chat line."),
        ("%%chat -m practice:fast", "Write your prompt below the %%chat line."),
        ("%%chat Hello world", "'Hello world' is no flag. Write your prompt below the %%chat line."),
        ("%%chat Hello\nworld", "'Hello' is no flag. Write your prompt below the %%chat line."),
        ("%%chat -m practice:fats\nHi", "There is no practice model 'fats'. Did you mean practice:fast?"),
        ("%%chat -m practice:nope\nHi", "There is no practice model 'nope'. Available: practice:default, "),
        ("%chat approve nothing", "`%chat approvals` lists them"),
    ],
)
def test_bad_input_is_one_line_that_names_the_fix_and_the_next_cell_works(
    shell: Any, capsys: pytest.CaptureFixture[str], cell: str, line: str
) -> None:
    said = failure(shell, cell, capsys)

    assert line in said
    assert len(said.splitlines()) == 1
    assert shell.run_cell(USE + "Hello").success


def test_an_unknown_model_of_a_provider_is_reported_and_kept_from_the_traceback(
    shell: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(NO_MODEL) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        said = failure(shell, "%%chat -m ollama:nope\nHi", capsys)

    assert "404: " in said
    assert "'nope'" in said
    assert "Traceback" not in said


def test_a_refused_connection_is_reported_in_one_line(
    shell: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")

    said = failure(shell, "%%chat -m ollama:tiny\nHi", capsys)

    assert "Start the" in said
    assert "Traceback" not in said


def test_a_page_in_place_of_a_reply_is_reported_in_one_line(
    shell: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(whole(200, b"<html><body>Sign in</body></html>", "text/html")) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        said = failure(shell, "%%chat -m ollama:tiny\nHi", capsys)

    assert "wire=NAME" in said
    assert "Traceback" not in said
    assert shell.run_cell(USE + "Hello").success


def test_a_tool_name_that_does_not_exist_is_an_answer_that_lists_the_real_ones(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = {"index": 0, "id": "c1", "function": {"name": "dubble", "arguments": "{}"}}
    first = [event({"choices": [{"delta": {"tool_calls": [called]}, "finish_reason": "tool_calls"}]})]
    second = [event({"choices": [{"delta": {"content": "Sorry."}, "finish_reason": "stop"}]})]
    with serve_each([head(), *first], [head(), *second]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        shell.run_cell("%%chat -m ollama:tiny -t double -o answer\nHi")

    answer: Turn = shell.user_ns["answer"]
    assert (answer.text, answer.calls[0].status) == ("Sorry.", "not_found")
    assert "double" in answer.calls[0].shown


def test_a_tool_that_raises_is_an_answer_and_not_an_end(shell: Any) -> None:
    shell.run_cell("@tool(run='auto')\ndef broken() -> int:\n    'Break.'\n    raise ValueError('no luck')")
    shell.run_cell(USE + "Use &`broken`.")

    answer: Turn = shell.user_ns["answer"]
    assert (answer.status, answer.calls[0].status) == ("completed", "error")
    assert "no luck" in answer.calls[0].shown


def test_help_lists_every_flag(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert shell.run_cell("%%chat --help\n").success

    said = capsys.readouterr().out
    assert all(flag in said for flag in ("--model", "--tool", "--var", "--approve", "--dry-run"))


def test_unloading_leaves_no_magic_behind(shell: Any) -> None:
    shell.run_line_magic("unload_ext", "nbtool")

    assert "chat" not in shell.magics_manager.magics["cell"]
    assert "chat" not in shell.magics_manager.magics["line"]
    assert not [t for t in shell.input_transformers_cleanup if "nbtool" in getattr(t, "__module__", "")]


def test_a_tool_of_a_toolset_is_mentioned_by_its_own_name(shell: Any) -> None:
    shell.run_cell("from nbtool import Toolset\nnumbers = Toolset('numbers', [double])")

    assert shell.run_cell(USE.replace("-o", "-c many -t numbers -o") + "Use &`double` with 4.").success
    assert shell.run_cell(USE.replace("-o", "-c many -o") + "Use &`double` with 5.").success

    answer: Turn = shell.user_ns["answer"]
    assert answer.calls[0].result == 10


def test_a_failed_cell_reports_its_error_to_a_program_that_runs_it(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(NO_MODEL) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        failed = shell.run_cell("%%chat -m ollama:nope\nHi.")

    assert "404: " in str(failed.error_in_exec)
    assert "'nope'" in str(failed.error_in_exec)


def test_a_failed_cell_claims_partial_output_only_if_there_is_some(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    before = failure(shell, "%%chat -m practice:default --budget 5\nHello, and good morning to you all.", capsys)
    shell.run_cell("""
        import asyncio
        @tool(run="auto")
        async def rest() -> str:
            "Rest."
            await asyncio.sleep(60)
    """)
    after = failure(shell, "%%chat -m practice:default -t rest --timeout 1\nUse &`rest`.", capsys)

    assert "No answer: see the error above." in before
    assert "No whole answer: see the error above." in after
    assert after.count("1 s") == 1


@pytest.mark.parametrize("cell", ["%%chat\nLook at $`load_1_result`.", "%%chat -v load_1_result\nLook at it."])
def test_a_mention_of_an_evicted_result_says_that_it_was_evicted(
    shell: Any, cell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("@tool(run='auto')\ndef load(size: int) -> bytes:\n    'Load.'\n    return bytes(size)")
    shell.run_cell("%config NbTool.result_bytes = 10_000")
    shell.run_cell("%%chat -q -m practice:fast\nUse &`load` with size=20000.")
    shell.run_cell("%%chat -q\nHello")
    capsys.readouterr()
    shell.run_cell(cell)

    assert "'load_1_result'" in capsys.readouterr().err


@pytest.mark.parametrize("budget", ["$1", "0.50", "$0.05", "20000"])
@pytest.mark.parametrize("model", ["openai:gpt-5-mini", "anthropic:claude-sonnet-4-5", "deepseek:deepseek-chat"])
def test_a_dry_run_with_a_budget_shows_the_request_of_a_model_of_known_price(
    shell: Any, model: str, budget: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(f"{model.partition(':')[0].upper()}_API_KEY", "a-key-of-this-test")
    capsys.readouterr()

    shell.run_cell(f"%%chat --dry-run -m {model} --budget '{budget}'\nHello")

    said = capsys.readouterr().out
    assert said.startswith("Nothing was sent. The request has ")
    assert "\nPOST https://" in said


def test_a_dry_run_with_a_budget_of_a_model_of_unknown_price_is_refused_as_its_turn_would_be(
    shell: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-this-test")

    assert "a-model-of-ours" in failure(
        shell, "%%chat --dry-run -m openai:a-model-of-ours --budget '$1'\nHello", capsys
    )

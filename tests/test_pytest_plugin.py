"""Tests of a team with `nbtool_replay`: recorded from a real server when that is asked for, replayed without one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from nbtool.pytest_plugin import MAX_NAME, MAX_REPORTED
from tests.chaos import ChaosServer, Received, Step, serve_by
from tests.providers.replies import Answer, encode_answer

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[1]
KEY = "lab-canary-key-0123456789"
APP = """
import os
from nbtool import Chat, tool

@tool(run="auto")
def price(ticker: str) -> int:
    "The price of a ticker."
    return {"A": 10}[ticker]

def make_chat():
    return Chat("lab-model", base_url=os.environ["LAB_URL"], api_key=os.environ.get("LAB_KEY"), tools=[price])

def ask(prompt):
    return make_chat().send(prompt)
"""
TEST = """
from app import ask

def test_price(nbtool_replay):
    turn = ask("What does A cost?")
    assert turn.text == "It costs 10."
    assert [call.result for call in turn.calls] == [10]
"""
RECORD_IT = "Record it: pytest --nbtool-record"


def respond(request: Received) -> Sequence[Step]:
    """Answer as a model that asks for a price once, and else repeats the prompt."""
    last = request.json["messages"][-1]
    if last["role"] == "tool":
        answer = Answer("It costs 10.")
    elif "cost" in str(last["content"]):
        answer = Answer("", calls=(("price", {"ticker": "A"}),))
    else:
        answer = Answer(f"You said {str(last['content']).split()[0]}, {KEY}.")
    return encode_answer("chat", answer, stream=True)


@pytest.fixture
def server(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChaosServer]:
    """Give a server with a model, and its address and key to the tests of a team."""
    pytester.makepyfile(app=APP)
    with serve_by(respond) as server:
        monkeypatch.setenv("LAB_URL", server.url)
        monkeypatch.setenv("LAB_KEY", KEY)
        monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests" / "no_network"))
        yield server


@pytest.fixture(autouse=True)
def not_on_a_build_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pytest shorten its summary, which has the messages of failures once more in full on a build server."""
    for variable in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(variable, raising=False)


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:hypothesispytest", *options)


def recorded_prompts(path: Path) -> list[str]:
    return [turn["prompt"] for turn in json.loads(path.read_text(encoding="utf-8"))["turns"]]


@pytest.mark.promise("free-replay")
def test_a_test_is_recorded_when_asked_for_and_then_passes_without_a_request_or_a_key(
    pytester: pytest.Pytester, server: ChaosServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile(test_shop=TEST)

    run(pytester, "--nbtool-record").assert_outcomes(passed=1)
    sent = len(server.requests)
    monkeypatch.delenv("LAB_KEY")
    run(pytester).assert_outcomes(passed=1)

    assert (sent, len(server.requests)) == (2, 2)
    assert recorded_prompts(pytester.path / "recordings/test_shop/test_price.nbtool.json") == ["What does A cost?"]


@pytest.mark.sampled(0)
def test_an_unexpected_turn_fails_in_one_line_that_says_how_to_record_it(
    pytester: pytest.Pytester, server: ChaosServer
) -> None:
    pytester.makepyfile(test_shop=TEST)

    result = run(pytester)

    result.assert_outcomes(failed=1)
    line = next(line for line in result.outlines if line.startswith("Not recorded:"))
    assert line.startswith("Not recorded: 'What does A cost?'. The file ")
    assert line.endswith(f"test_price.nbtool.json does not exist. {RECORD_IT}")
    result.stdout.no_fnmatch_line("*AssertionError*")
    assert server.requests == []


@pytest.mark.sampled(0)
def test_a_test_that_ignores_the_error_of_a_turn_fails_too(pytester: pytest.Pytester, server: ChaosServer) -> None:
    pytester.makepyfile(
        test_shop="""
        import pytest
        from app import ask

        def test_many(nbtool_replay):
            for number in range(7):
                ask(f"Prompt {number}")

        def test_expected(nbtool_replay):
            assert ask("Hello").error
            assert [turn.prompt for turn in nbtool_replay.unrecorded] == ["Hello"]
            nbtool_replay.unrecorded.clear()

        def test_skipped_later(nbtool_replay):
            ask("Hello")
            pytest.skip("not today")
        """
    )

    result = run(pytester)

    result.assert_outcomes(failed=2, passed=1)
    assert sum(line.startswith("Not recorded: 'Prompt ") for line in result.outlines) == MAX_REPORTED
    result.stdout.fnmatch_lines(["2 more turns are not recorded."])
    assert server.requests == []


@pytest.mark.nightly
def test_new_turns_are_added_and_recorded_ones_are_not_sent_again(
    pytester: pytest.Pytester, server: ChaosServer
) -> None:
    pytester.makepyfile(test_shop=TEST)
    run(pytester, "--nbtool-record")
    pytester.makepyfile(test_shop=TEST + '    assert ask("Hello").text.startswith("You said Hello")\n')

    changed = run(pytester)
    changed.assert_outcomes(failed=1)
    changed.stdout.fnmatch_lines([f"Not recorded: 'Hello'. This prompt is not in test_price.nbtool.json. {RECORD_IT}"])
    once = run(pytester, "--nbtool-record-mode=once")
    once.assert_outcomes(failed=1)
    before = len(server.requests)
    run(pytester, "--nbtool-record-mode=new_episodes").assert_outcomes(passed=1)

    path = pytester.path / "recordings/test_shop/test_price.nbtool.json"
    assert (before, len(server.requests)) == (2, 3)
    assert recorded_prompts(path) == ["What does A cost?", "Hello"]


@pytest.mark.nightly
def test_once_records_a_test_that_has_no_recording_and_rewrite_drops_what_is_no_longer_used(
    pytester: pytest.Pytester, server: ChaosServer
) -> None:
    pytester.makepyfile(test_shop=TEST)
    run(pytester, "--nbtool-record-mode=once").assert_outcomes(passed=1)
    pytester.makepyfile(test_shop=TEST.replace("What does A cost?", "What is the cost of A?"))
    run(pytester, "--nbtool-record").assert_outcomes(passed=1)
    path = pytester.path / "recordings/test_shop/test_price.nbtool.json"
    both = recorded_prompts(path)

    run(pytester, "--nbtool-record-mode=rewrite").assert_outcomes(passed=1)

    assert both == ["What does A cost?", "What is the cost of A?"]
    assert recorded_prompts(path) == ["What is the cost of A?"]
    assert len(server.requests) == 6


@pytest.mark.promise("no-secret-told")
def test_no_key_is_in_a_recording_or_in_the_text_that_a_model_gets(
    pytester: pytest.Pytester, server: ChaosServer
) -> None:
    pytester.makepyfile(
        test_shop="""
        import os
        from app import ask

        def test_key(nbtool_replay):
            assert ask(f"Say {os.environ['LAB_KEY']}").status == "completed"
        """
    )

    run(pytester, "--nbtool-record").assert_outcomes(passed=1)
    run(pytester).assert_outcomes(passed=1)

    assert KEY not in server.requests[0].body.decode()
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    text = (pytester.path / "recordings/test_shop/test_key.nbtool.json").read_text(encoding="utf-8")
    assert "You said" in text
    assert KEY not in text


@pytest.mark.sampled(0)
@pytest.mark.usefixtures("server")
def test_a_turn_that_cannot_be_recorded_fails_while_recording(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_shop="""
        import threading
        from app import make_chat

        def test_lock(nbtool_replay):
            chat = make_chat()
            chat.expose(lock=threading.Lock())
            assert chat.send("What is in $VAR_REF{{lock}}?").status == "completed"

        def test_refused(nbtool_replay, monkeypatch):
            monkeypatch.setenv("LAB_URL", "http://127.0.0.1:9/v1")
            make_chat().send("Hello")
        """
    )

    result = run(pytester, "--nbtool-record")

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "Not recorded: 'What is in $VAR_REF{{lock}}?'. * `lock` cannot be compared (*).",
            "Not recorded: 'Hello'. The turn did not complete (*",
        ]
    )


@pytest.mark.nightly
@pytest.mark.usefixtures("server")
def test_recordings_are_named_by_class_test_and_parameters_below_a_folder_of_choice(pytester: pytest.Pytester) -> None:
    long = "x" * MAX_NAME
    pytester.makepyfile(
        test_names=f"""
        import unittest
        import pytest
        from app import ask

        @pytest.fixture(scope="module")
        def nbtool_recording_dir(request):
            return request.path.parent / "data"

        @pytest.mark.parametrize("said", ["a/b:c"])
        def test_said(nbtool_replay, said):
            assert ask(said).text

        def test_{long}_1(nbtool_replay):
            assert ask("Hello").text

        def test_{long}_2(nbtool_replay):
            assert ask("Hello").text

        @pytest.mark.usefixtures("nbtool_replay")
        class TestGreeting:
            def test_hello(self):
                assert ask("Hello").text

        @pytest.mark.usefixtures("nbtool_replay")
        class Old(unittest.TestCase):
            def test_hello(self):
                assert ask("Hello").text
        """
    )

    run(pytester, "--nbtool-record").assert_outcomes(passed=5)
    run(pytester).assert_outcomes(passed=5)

    names = {path.name.removesuffix(".nbtool.json") for path in (pytester.path / "data").iterdir()}
    assert names > {"test_said[a-b-c]", "TestGreeting.test_hello", "Old.test_hello"}
    assert len(names) == 5
    assert max(map(len, names)) == MAX_NAME


@pytest.mark.nightly
def test_processes_that_a_test_starts_and_maps_replay_from_its_recording(
    pytester: pytest.Pytester, server: ChaosServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile(
        test_deep="""
        import subprocess, sys
        from app import make_chat

        def test_child(nbtool_replay):
            code = "from app import ask; print(ask('Hello').text)"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            assert "You said Hello" in done.stdout

        def test_map(nbtool_replay):
            assert len([text for text in make_chat().map(["One", "Two"]).values if "You said" in text]) == 2
        """
    )

    run(pytester, "--nbtool-record").assert_outcomes(passed=2)
    monkeypatch.delenv("LAB_KEY")
    run(pytester).assert_outcomes(passed=2)

    assert len(server.requests) == 3


@pytest.mark.sampled(0)
def test_tests_without_the_fixture_send_their_turns(pytester: pytest.Pytester, server: ChaosServer) -> None:
    pytester.makepyfile(test_shop=TEST.replace("nbtool_replay", ""))

    run(pytester).assert_outcomes(passed=1)

    assert len(server.requests) == 2
    assert not (pytester.path / "recordings").exists()


def test_nothing_of_nbtool_but_the_plugin_is_imported_before_a_test_asks_for_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_none="""
        import sys

        def test_nothing():
            assert sorted(name for name in sys.modules if name.split(".")[0] == "nbtool") == [
                "nbtool", "nbtool.pytest_plugin"
            ]
        """
    )

    run(pytester).assert_outcomes(passed=1)


def test_an_unknown_mode_is_refused_with_the_modes_that_there_are(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--nbtool-record-mode=all")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*invalid choice: 'all' (choose from *none*once*new_episodes*rewrite*"])

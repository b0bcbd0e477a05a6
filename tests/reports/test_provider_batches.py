"""What other projects reported: batches of providers that were lost, paid twice, or whose results were not read."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat
from nbtool.errors import BadUsage, Cancelled, ProviderError
from tests.contract.notebook import process_environment
from tests.contract.simulator import Provider, Refusal, simulate

ROWS = [{"text": f"review {number}"} for number in range(3)]


@pytest.fixture
def model(own_journal: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Provider]:  # noqa: ARG001 - it begins with a journal of its own
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    with simulate() as provider:
        provider.always(lambda request: f"answer {request.text.split('review ')[1][0]}")
        yield provider


def map_rows(model: Provider, wire: str = "chat", rows: Any = ROWS, **options: Any) -> Any:
    chat = Chat("tiny", wire=wire, base_url=model.url, api_key=options.pop("api_key", "key"))
    return chat.map("Is it kind? {text}", rows, batch="provider", progress=False, **options)


def test_a_batch_of_errors_only_has_no_file_of_answers(model: Provider) -> None:
    """BerriAI/litellm#33987, ProjectTech4DevAI/kaapi-backend#723: every line fails, the output file is null.

    Right: the error of each line. Before: wrong.
    """
    model.always(Refusal(400, "No such parameter."))

    assert all("No such parameter." in str(answer.error) for answer in map_rows(model).answers)


def test_errors_in_a_file_of_their_own_are_read_too(model: Provider) -> None:
    """567-labs/instructor#2657: failed lines are in another file. Right: both are read. Before: wrong."""
    model.always(lambda request: Refusal(400, "no") if "review 1" in request.text else "yes")

    assert [str(value)[:3] for value in map_rows(model).values][::2] == ["yes", "yes"]
    assert len(map_rows(model).errors) == 1


def test_an_empty_id_of_a_file_is_no_file(model: Provider) -> None:
    """tobert/kaibo#93: a clean batch has the error file "". Right: nothing is fetched. Before: wrong."""
    assert map_rows(model).errors == []
    assert ("GET", "/files//content") not in model.batches.asked


def test_counts_that_are_texts_are_numbers(model: Provider) -> None:
    """tobert/kaibo#8: Gemini's counts are texts, and a cancel ends at once. Right: counted. Before: wrong."""
    assert map_rows(model, "gemini").values == ["answer 0", "answer 1", "answer 2"]


PROGRAM = """
from nbtool import Chat
chat = Chat("tiny", wire="{wire}", base_url="{url}", api_key="key")
chat.map("Is it kind? {{text}}", [{{"text": f"review {{number}}"}} for number in range(3)], batch="provider")
"""


def run_and_kill(model: Provider, wire: str) -> None:
    """Start a process with such a map, and kill it while its batch runs."""
    model.batches.before_end = 1_000
    code = PROGRAM.format(wire=wire, url=model.url)
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=process_environment(Path(os.environ["NBTOOL_HOME"])),
        stderr=subprocess.DEVNULL,
    )
    try:
        model.wait_for(lambda: any(one.looks for one in model.batches.created()))
    finally:
        process.kill()
        process.wait()
    model.batches.before_end = 0


@pytest.mark.sampled(1)
@pytest.mark.parametrize("wire", ["chat", "anthropic"])
def test_a_restart_orphans_no_batch(model: Provider, wire: str) -> None:
    """EugeneButusov/kvorum#617: the handles were in memory, batches were paid twice. Right: once. Before: wrong."""
    run_and_kill(model, wire)

    assert map_rows(model, wire).values == ["answer 0", "answer 1", "answer 2"]
    assert len(model.batches.created()) == 1


def test_answers_of_an_expired_batch_are_used_and_only_the_rest_is_sent_again(model: Provider) -> None:
    """bespokelabsai/curator#226: a batch expires in part. Right: what it has is kept. Before: wrong."""
    model.batches.unrun, model.batches.end = ("review 2",), "expired"
    first = map_rows(model)
    model.batches.unrun, model.batches.end = (), "completed"

    assert first.values[:2] == ["answer 0", "answer 1"]
    assert map_rows(model).values == ["answer 0", "answer 1", "answer 2"]
    assert [len(one.lines) for one in model.batches.created()] == [3, 1]


@pytest.mark.sampled(0)
def test_a_batch_of_another_key_is_named_and_not_paid_again(model: Provider) -> None:
    """bespokelabsai/curator#190: with another key the batch is not found. Right: said, not resent. Before: wrong."""
    run_and_kill(model, "chat")
    model.batches.refuse = lambda request: (
        (404, {"error": {"message": "No batch"}}) if "batch-" in request.path else None
    )

    batch = map_rows(model, api_key="another")

    assert all(isinstance(answer.error, BadUsage) for answer in batch.answers)
    assert len(model.batches.created()) == 1


def test_equal_prompts_are_lines_with_ids_of_their_own(model: Provider) -> None:
    """sgl-project/sglang#1415: equal custom ids hang a batch. Right: they differ. Before: wrong."""
    assert map_rows(model, rows=[ROWS[0]] * 3).values == ["answer 0"] * 3
    assert len({line["custom_id"] for line in model.batches.created()[0].lines}) == 3


def test_results_that_are_cut_off_are_read_again_by_a_later_map(model: Provider) -> None:
    """xoai/sage-wiki#124: a truncated file of results was final. Right: it is read again. Before: wrong."""
    cut: list[bool] = [True]

    def refuse(request: Any) -> Any:
        if "/content" in request.path and cut:
            return 200, b'{"custom_id": "1", "resp'
        return None

    model.batches.refuse = refuse
    assert len(map_rows(model).errors) == 3
    cut.clear()

    assert map_rows(model).values == ["answer 0", "answer 1", "answer 2"]
    assert len(model.batches.created()) == 1


def test_a_failed_download_of_results_is_not_an_empty_batch(model: Provider) -> None:
    """experientiallabs/experiential#783: it was taken for "nothing was served". Right: kept. Before: wrong."""
    model.batches.refuse = lambda request: (403, {"error": {"message": "no"}}) if "/content" in request.path else None
    assert all(isinstance(answer.error, ProviderError) for answer in map_rows(model).answers)
    model.batches.refuse = lambda _: None

    assert map_rows(model).values == ["answer 0", "answer 1", "answer 2"]
    assert len(model.batches.created()) == 1


@pytest.mark.parametrize("wire", ["chat", "anthropic", "gemini"])
def test_a_creation_that_is_not_answered_is_not_repeated(model: Provider, wire: str) -> None:
    """QwenLM/qwen-code#11874: a retried creation makes two batches. Right: it is looked for. Before: wrong."""
    model.batches.loses_answer = True

    assert map_rows(model, wire).errors == []
    assert len(model.batches.created()) == 1


def test_lines_that_failed_for_lack_of_credit_are_sent_when_asked_for_again(model: Provider) -> None:
    """bespokelabsai/curator#296: thousands of lines failed for low credit. Right: only they go again. Before: wrong."""
    low = Refusal(400, "Your credit balance is too low to access the Anthropic API.")
    model.always(lambda request: low if "review 2" in request.text else "yes")
    assert len(map_rows(model, "anthropic").errors) == 1
    model.always("yes")

    assert map_rows(model, "anthropic").values == ["yes"] * 3
    assert [len(one.lines) for one in model.batches.created()] == [3, 1]


def test_a_cancelled_batch_has_the_answers_that_it_had(model: Provider) -> None:
    """RooCodeInc/Roo-Code#8672: what a cancelled batch has done is billed. Right: it is read. Before: wrong."""
    model.batches.before_end = 1_000
    chat = Chat("tiny", wire="anthropic", base_url=model.url, api_key="key")
    batch = chat.start_map("Is it kind? {text}", ROWS, batch="provider", progress=False)
    model.wait_for(lambda: any(one.looks for one in model.batches.created()))
    model.batches.ran_before_cancel = ("review 0",)
    batch.cancel()

    assert batch.wait().values[0] == "answer 0"
    assert isinstance(batch.values[1], Cancelled)

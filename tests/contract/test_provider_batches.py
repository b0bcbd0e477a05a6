"""A map with `batch="provider"` hands its prompts over once, in a batch, and takes what the provider returns."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nbtool import tool
from nbtool.errors import BadUsage, Cancelled, InvalidAnswer, LimitReached, ProviderError
from nbtool.plugins import Privacy
from tests.contract.dialects import DIALECTS
from tests.contract.notebook import run_process
from tests.contract.simulator import Provider, Refusal, Request

FEATURE = "run a prompt over a table at a lower price, within a day"
FILE_FEATURE = "run a prompt over more rows than fit in memory, and continue after a crash"
ROWS = [{"text": f"review {number}"} for number in range(4)]
NO_BATCH = {"error": {"message": "No batch"}}
ANSWERS = [f"answer {number}" for number in range(4)]

pytestmark = pytest.mark.usefixtures("home")


def echo(request: Request) -> str:
    """Answer with the number of the review."""
    return f"answer {request.text.split('review ')[1][0]}"


def name_mask(request: Request) -> str:
    """Answer with the mask in a prompt."""
    return f"{re.findall(r'__MASK_[A-Z]+_[0-9]+__', request.text)[-1]} is kind."


def has_left(model: Provider, text: str) -> bool:
    return any(text.encode() in request.content for request in (*model.others, *model.requests))


def map_rows(model: Provider, wire: str = "chat", rows: Any = ROWS, **options: Any) -> Any:
    return model.chat(wire=wire).map("Is it kind? {text}", rows, batch="provider", progress=False, **options)


@pytest.mark.feature(FEATURE)
@pytest.mark.parametrize("wire", DIALECTS)
def test_all_prompts_are_one_batch_whose_results_may_come_in_any_order(model: Provider, wire: str) -> None:
    model.always(echo)
    model.batches.before_end = 2
    model.batches.change = lambda lines: lines[::-1]

    batch = map_rows(model, wire)

    assert batch.values == ANSWERS
    assert batch.usage.total_tokens == 4 * 15
    assert len(model.batches.created()) == 1
    assert {request.method for request in model.requests} == {"BATCH"}


@pytest.mark.feature(FEATURE)
@pytest.mark.parametrize("wire", DIALECTS)
def test_nothing_of_the_prompts_and_answers_remains_at_the_provider(model: Provider, wire: str) -> None:
    model.always(echo)

    batch = map_rows(model, wire)

    left = {one.id for one in model.batches.created()} - set(model.batches.deleted)
    assert model.batches.files == {}
    assert not left or wire in ("chat", "responses")
    assert [one in batch.remains[0] for one in left] == [True] * len(batch.remains)


@pytest.mark.feature(FEATURE)
@pytest.mark.parametrize("wire", DIALECTS)
def test_a_line_that_failed_is_an_error_in_its_place(model: Provider, wire: str) -> None:
    model.always(lambda request: Refusal(400, "No reviews.") if "review 1" in request.text else echo(request))

    batch = map_rows(model, wire)

    assert [answer.index for answer in batch.errors] == [1]
    assert isinstance(batch.values[1], ProviderError)
    assert "No reviews." in str(batch.values[1])
    assert batch.values[2] == "answer 2"


@pytest.mark.feature(FEATURE)
@pytest.mark.parametrize("wire", DIALECTS)
def test_a_line_that_was_not_run_is_sent_when_the_same_map_is_asked_for_again(model: Provider, wire: str) -> None:
    model.always(echo)
    model.batches.unrun = ("review 2",)
    first = map_rows(model, wire)
    assert [answer.index for answer in first.errors] == [2]
    assert len(model.batches.created()) == 1
    model.batches.unrun = ()

    second = map_rows(model, wire)

    assert second.values == ANSWERS
    assert [len(one.lines) for one in model.batches.created()] == [4, 1]


@pytest.mark.feature(FEATURE)
@pytest.mark.parametrize("wire", DIALECTS)
def test_a_result_that_is_missing_is_an_error_and_one_that_comes_twice_counts_once(model: Provider, wire: str) -> None:
    model.always(echo)
    model.batches.change = lambda lines: [lines[1], *lines[:3]]

    with pytest.warns(UserWarning, match="twice"):
        batch = map_rows(model, wire)

    assert batch.values[:3] == ANSWERS[:3]
    assert isinstance(batch.values[3], ProviderError)


@pytest.mark.feature(FEATURE)
@pytest.mark.parametrize("wire", ["chat", "gemini"])
def test_a_batch_that_failed_as_a_whole_says_why_for_each_prompt(model: Provider, wire: str) -> None:
    model.batches.end = "failed"

    batch = map_rows(model, wire)

    assert all("The file is wrong." in str(answer.error) for answer in batch.answers)


@pytest.mark.feature(FEATURE)
def test_a_batch_without_the_file_of_its_results_is_an_error_of_each_prompt(model: Provider) -> None:
    model.always(echo)
    model.batches.hides_output = True

    batch = map_rows(model)

    assert all(isinstance(answer.error, ProviderError) for answer in batch.answers)
    assert len(batch.answers) == 4


@pytest.mark.feature(FEATURE)
@pytest.mark.parametrize("wire", DIALECTS)
def test_answers_have_the_type_that_was_asked_for_and_an_invalid_one_is_not_asked_for_twice(
    model: Provider, wire: str
) -> None:
    model.always(lambda request: '{"value": 1}' if "review 0" in request.text else "kind")

    batch = map_rows(model, wire, ROWS[:2], as_=int)

    assert batch.values[0] == 1
    assert isinstance(batch.values[1], InvalidAnswer)
    assert len(model.requests) == 2


@pytest.mark.feature(FEATURE)
@pytest.mark.promise("masked")
@pytest.mark.parametrize("wire", DIALECTS)
def test_private_values_are_masked_before_anything_is_handed_over(model: Provider, wire: str) -> None:
    model.always(name_mask)
    chat = model.chat(wire=wire, plugins=[Privacy(names=["Ada Lovelace"])])

    batch = chat.map("The review of {text} .", [{"text": "Ada Lovelace"}], batch="provider", progress=False)

    assert batch.values == ["Ada Lovelace is kind."]
    assert not has_left(model, "Lovelace")


@pytest.mark.feature(FEATURE)
def test_no_more_prompts_are_handed_over_than_the_budget_has_room_for(model: Provider) -> None:
    model.always(echo)

    batch = map_rows(model, tokens=250, options={"max_tokens": 50})

    assert isinstance(batch.stop_reason, LimitReached)
    assert 1 <= len(model.requests) < 4
    assert batch.values[0] == "answer 0"


@pytest.mark.feature(FEATURE)
@pytest.mark.promise("policy-limits")
def test_the_budget_of_a_policy_is_kept_before_anything_is_handed_over(model: Provider, home: Path) -> None:
    (home / "policy.toml").write_text("[budget]\ntokens = 100\n", encoding="utf-8")

    printed = run_process(CODE.format(wire="chat", url=model.url), home, NBTOOL_POLICY=str(home / "policy.toml"))

    assert printed.count("LimitReached") == 4
    assert model.batches.created() == []
    assert model.batches.files == {}


@pytest.mark.feature(FEATURE)
@pytest.mark.promise("policy-values")
def test_no_rows_are_handed_over_where_a_policy_lets_no_values_leave(model: Provider, home: Path) -> None:
    (home / "policy.toml").write_text("[values]\nmay_leave = false\n", encoding="utf-8")

    run_process(CODE.format(wire="chat", url=model.url), home, fails=True, NBTOOL_POLICY=str(home / "policy.toml"))

    assert model.others == []


@pytest.mark.feature(FEATURE)
@pytest.mark.feature(FILE_FEATURE)
@pytest.mark.parametrize("wire", DIALECTS)
def test_answers_are_written_into_a_file_before_the_provider_deletes_them(
    model: Provider, wire: str, tmp_path: Path
) -> None:
    model.always(echo)
    path = tmp_path / "answers.parquet"

    totals = model.chat(wire=wire).map_into(path, "Is it kind? {text}", ROWS, batch="provider", progress=False)

    assert list(pd.read_parquet(path)["value"]) == ANSWERS
    assert totals.answered == 4
    assert model.batches.files == {}
    with closing(sqlite3.connect(f"{path}.sqlite")) as answers:
        assert answers.execute("SELECT count(*) FROM answers").fetchone() == (4,)


@pytest.mark.feature(FEATURE)
def test_a_map_that_cannot_write_its_answers_leaves_them_at_the_provider(model: Provider) -> None:
    model.always(echo)
    chat = model.chat()

    def fail(_: object) -> None:
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        chat.map_into(fail, "Is it kind? {text}", ROWS, batch="provider", progress=False)

    assert model.batches.files


@pytest.mark.feature(FEATURE)
def test_what_has_no_place_in_a_batch_is_refused_before_anything_leaves(model: Provider) -> None:
    @tool
    def price() -> int:
        "Give a price."
        return 1

    for options in ({"tools": [price]}, {"per_minute": 10}, {"executor": object()}, {"on": object()}):
        with pytest.raises(BadUsage):
            map_rows(model, **options)
    chat = model.chat()
    chat.record("recording.nbtool.json")
    with pytest.raises(BadUsage):
        chat.map(["Tell me a word."], batch="provider", progress=False)

    assert model.others == []


@pytest.mark.feature(FEATURE)
def test_a_server_without_batches_is_named(model: Provider) -> None:
    model.batches.refuse = lambda _: (404, {"detail": "Not Found"})

    batch = map_rows(model)

    assert all("batch=" in str(answer.error) for answer in batch.answers)


@pytest.mark.feature(FEATURE)
@pytest.mark.promise("stops")
@pytest.mark.parametrize("wire", DIALECTS)
def test_a_stopped_map_has_its_batch_cancelled_and_goes_on_later(model: Provider, wire: str) -> None:
    model.batches.before_end = 1_000
    batch = model.chat(wire=wire).start_map("Is it kind? {text}", ROWS, batch="provider", progress=False)
    model.wait_for(lambda: any(one.looks for one in model.batches.created()))

    batch.cancel()
    batch.wait()

    assert [one.is_cancelled for one in model.batches.created()] == [True]
    assert all(isinstance(answer.error, Cancelled) for answer in batch.answers)
    model.batches.before_end = 0
    model.always(echo)
    assert map_rows(model, wire).values == ANSWERS
    assert len(model.batches.created()) == 2


CODE = """
import os
from nbtool import Chat
chat = Chat("tiny", wire={wire!r}, base_url={url!r}, api_key=f"process-{{os.getpid()}}")
rows = [{{"text": f"review {{number}}"}} for number in range(4)]
print(chat.map("Is it kind? {{text}}", rows, batch="provider", progress=False).values)
"""


def killing(model: Provider, *parts: str, when_done: bool) -> None:
    """Kill the process that sends a request whose method and path have these parts, before or after it is answered."""
    killed: list[int] = []

    def refuse(request: Request) -> Any:
        process = re.search(r"process-(\d+)", str(request.headers))
        if not killed and process and all(part in f"{request.method} {request.path}" for part in parts):
            killed.append(int(process[1]))
            if not when_done:
                os.kill(killed[0], signal.SIGKILL)
                return 500, {}
            model.batches.after = lambda: os.kill(killed[0], signal.SIGKILL)
        return None

    model.batches.refuse = refuse


@pytest.mark.sampled(1)
@pytest.mark.feature(FEATURE)
@pytest.mark.promise("handed-over-once")
@pytest.mark.parametrize("wire", DIALECTS)
@pytest.mark.parametrize(
    "parts", [("POST", "atch"), ("GET", "/batch-0")], ids=["while it was created", "while it was looked at"]
)
def test_a_batch_of_a_killed_process_is_taken_over_and_not_paid_again(
    model: Provider, home: Path, wire: str, parts: tuple[str, ...]
) -> None:
    model.always(echo)
    code = CODE.format(wire=wire, url=model.url)
    killing(model, *parts, when_done=True)
    run_process(code, home, fails=True)

    printed = run_process(code, home)

    assert str(ANSWERS) in printed
    assert len(model.batches.created()) == 1
    assert len(model.requests) == 4


@pytest.mark.sampled(1)
@pytest.mark.feature(FEATURE)
@pytest.mark.promise("handed-over-once")
@pytest.mark.parametrize("wire", DIALECTS)
def test_prompts_of_a_process_that_was_killed_before_the_batch_was_there_are_sent_with_a_warning(
    model: Provider, home: Path, wire: str
) -> None:
    model.always(echo)
    code = CODE.format(wire=wire, url=model.url)
    killing(model, "POST", "atch", when_done=False)
    run_process(code, home, fails=True)

    printed = run_process(code, home)

    assert str(ANSWERS) in printed
    assert "was interrupted" in printed
    assert len(model.batches.created()) == 1
    assert model.batches.files == {}


@pytest.mark.sampled(0)
@pytest.mark.feature(FEATURE)
@pytest.mark.promise("handed-over-once")
def test_a_batch_of_somebody_else_of_the_same_size_and_time_is_not_taken(model: Provider, home: Path) -> None:
    model.always(echo)
    foreign = [{"custom_id": f"f{number}", "params": {"prompt": f"review {number}"}} for number in range(4)]
    model.batches.add("anthropic", foreign)
    code = CODE.format(wire="anthropic", url=model.url)
    killing(model, "POST", "atch", when_done=True)
    run_process(code, home, fails=True)

    printed = run_process(code, home)

    assert str(ANSWERS) in printed
    assert len(model.batches.created()) == 2
    assert model.batches.deleted == ["batch-1"]


@pytest.mark.feature(FEATURE)
@pytest.mark.promise("handed-over-once")
@pytest.mark.parametrize("wire", DIALECTS)
def test_a_batch_whose_creation_was_not_answered_is_looked_for(model: Provider, wire: str) -> None:
    model.always(echo)
    model.batches.loses_answer = True

    batch = map_rows(model, wire)

    assert batch.values == ANSWERS
    assert len(model.batches.created()) == 1


@pytest.mark.feature(FEATURE)
@pytest.mark.promise("handed-over-once")
def test_a_batch_that_this_key_does_not_know_is_not_sent_again_unless_that_is_asked_for(
    model: Provider, home: Path
) -> None:
    model.always(echo)
    killing(model, "GET", "/batch-0", when_done=True)
    run_process(CODE.format(wire="chat", url=model.url), home, fails=True)
    model.batches.refuse = lambda request: (404, NO_BATCH) if "/batch-0" in request.path else None

    unknown = map_rows(model)

    assert all("resume=False" in str(answer.error) for answer in unknown.answers)
    assert len(model.batches.created()) == 1
    assert map_rows(model, resume=False).values == ANSWERS
    assert len(model.batches.created()) == 2


@pytest.mark.sampled(0)
@pytest.mark.feature(FEATURE)
@pytest.mark.promise("handed-over-once")
@pytest.mark.promise("masked")
def test_masked_prompts_of_a_killed_process_are_taken_over_with_their_values(model: Provider, home: Path) -> None:
    model.always(name_mask)
    code = f"""
import os
from nbtool import Chat
from nbtool.plugins import Privacy
plugins = [Privacy(names=["Ada Lovelace", "Bo"])]
chat = Chat("tiny", wire="chat", base_url={model.url!r}, api_key=f"process-{{os.getpid()}}", plugins=plugins)
print(chat.map("The review of {{text}} .", [{{"text": "Bo"}}, {{"text": "Ada Lovelace"}}], batch="provider").values)
"""
    killing(model, "GET", "/batch-0", when_done=True)
    run_process(code, home, fails=True)

    printed = run_process(code, home)

    assert "['Bo is kind.', 'Ada Lovelace is kind.']" in printed
    assert len(model.batches.created()) == 1
    assert not has_left(model, "Lovelace")

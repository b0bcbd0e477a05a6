"""What a reference promises, as a person and a model see it: cells go in, bytes go out, tools get objects."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from nbtool import Approved, Chat
from nbtool.testing import call
from nbtool.tools.approval import Question
from tests.security.conftest import Say, world
from tests.security.model import answers, model, offered_tools, sent_text


def total(data: pd.DataFrame) -> int:
    """Add up the masses."""
    return int(data["mass"].sum())


def count(data: Any) -> int:
    """Count rows."""
    return len(data)


@pytest.mark.promise("by-reference")
def test_a_mentioned_frame_leaves_its_name_type_and_columns_and_none_of_its_cells(run_chat_cell: Say) -> None:
    with model("Penguins.") as server:
        run_chat_cell(server, "What is in $`df`?")

    assert "$VAR_REF{{df}}: DataFrame, 2 rows by 2 columns: who (" in sent_text(server)
    assert "mass (int64)" in sent_text(server)
    assert "SENTINEL" not in sent_text(server)
    assert "5076" not in sent_text(server)


def test_values_leave_only_where_they_were_opened(run_chat_cell: Say, shell: Any) -> None:
    read = call("ReadVar", name="df")
    with model(read, "I may not.") as server:
        run_chat_cell(server, "Read $`df`.")
        assert answers(server) == {"call_0": shell.user_ns["turn"].calls[0].shown}
        assert shell.user_ns["turn"].calls[0].status == "withheld"
        assert "SENTINEL" not in sent_text(server)
    with model(read, "I see.") as server:
        run_chat_cell(server, "Read it.", "--read df")

    withheld, opened = answers(server).values()  # of the turn before, which is sent again, and of this one
    assert "SENTINEL" not in withheld
    assert "SENTINEL" in opened


@pytest.mark.promise("same-object")
def test_a_function_gets_the_very_object(run_chat_cell: Say, shell: Any) -> None:
    with model(call("keep", data="$VAR_REF{{df}}"), "Kept.") as server:
        turn = run_chat_cell(server, "Hand $`df` to &`keep`.")

    assert shell.user_ns["got"][0] is shell.user_ns["df"]
    assert str(turn.calls[0].resolved["data"]).startswith("$VAR_REF{{df}}: DataFrame, 2 rows")


def test_a_large_result_stays_here_under_a_name_and_the_model_gets_a_preview_that_says_so(
    run_chat_cell: Say, shell: Any
) -> None:
    shell.run_cell("@tool(run='auto')\ndef rows() -> pd.DataFrame:\n    return pd.DataFrame({'n': range(1_204_332)})")
    shell.run_cell(
        "@tool(run='auto', store_as='even')\ndef half(f: pd.DataFrame):\n    got.append(f)\n    return f[::2]"
    )
    steps = (call("rows"), call("half", f="$VAR_REF{{rows_1_result}}"), call("keep", data="$VAR_REF{{even}}"))
    with model(*steps, "Done.") as server:
        turn = run_chat_cell(server, "Go.", "-t rows half keep")

    actual = [call.shown for call in turn.calls]
    assert "[preview: 5 of 1,204,332 rows; this is not the full data]" in actual[0]
    assert actual[0].endswith("1 column: n (int64)): $VAR_REF{{rows_1_result}}]")
    assert "[preview: 5 of 602,166 rows" in actual[1]
    assert [len(one) for one in shell.user_ns["got"]] == [1_204_332, 602_166]
    assert shell.user_ns["got"][0] is turn.calls[0].result
    assert max(len(request.body) for request in server.requests) < 8_000


def test_references_work_inside_lists_and_by_literal_keys(run_chat_cell: Say, shell: Any) -> None:
    shell.run_cell("other = pd.DataFrame({'who': ['SENTINEL']}); both = {'frames': [df, other]}")
    inside = {"frames": ["$VAR_REF{{df}}", {"second": "$VAR_REF{{both['frames'][1]}}"}]}
    with model(call("keep", data=inside), call("keep", data="$VAR_REF{{df['mass']}}"), "Kept.") as server:
        run_chat_cell(server, "Go.", "-t keep -v df both")

    stored, column = shell.user_ns["got"]
    assert stored["frames"][0] is shell.user_ns["df"]
    assert stored["frames"][1]["second"] is shell.user_ns["other"]
    assert list(column) == [3700, 5076]
    assert "SENTINEL" not in sent_text(server)


@pytest.mark.promise("only-exposed")
@pytest.mark.parametrize(
    "reference",
    [
        "df.__class__",
        "df['mass'].sum()",
        "df[0:1]",
        "__import__('os')",
        "df[got.append(1)]",
        "df.values",
        "df[mass]",
        "df ",
    ],
)
def test_a_reference_evaluates_nothing(run_chat_cell: Say, shell: Any, reference: str) -> None:
    with model(call("keep", data=f"$VAR_REF{{{{{reference}}}}}"), "No.") as server:
        turn = run_chat_cell(server, "Go.", "-t keep -v df")

    assert turn.calls[0].status == "invalid"
    assert shell.user_ns["got"] == []
    assert "SENTINEL" not in sent_text(server)


def test_prices_formulas_and_escaped_references_stay_as_they_were_typed(run_chat_cell: Say, shell: Any) -> None:
    body = r"It costs $5 to $10, $x^2$, {df}, `df`, \$`df` and $df, in $`df`."
    with model(call("keep", data=r"\$VAR_REF{{df}} costs $5"), "Kept.") as server:
        run_chat_cell(server, body, "-t keep")

    assert server.requests[0].json["messages"][-1]["content"].startswith(body)
    assert shell.user_ns["got"] == ["$VAR_REF{{df}} costs $5"]


def test_an_unknown_reference_is_an_error_that_names_near_ones_and_never_a_value(
    run_chat_cell: Say, shell: Any
) -> None:
    shell.run_cell("penguins = df")
    with model(call("keep", data="$VAR_REF{{pengiuns}}"), "Sorry.") as server:
        turn = run_chat_cell(server, "Go.", "-t keep -v df penguins")

    assert turn.calls[0].status == "invalid"
    assert "no variable 'pengiuns'. Variables: penguins, df" in answers(server)["call_0"]
    assert shell.user_ns["got"] == []


def test_a_parameter_for_a_frame_refuses_a_list_before_anybody_is_asked() -> None:
    def nobody(question: Question) -> Approved:
        raise AssertionError(question)

    with model(call("total", data="$VAR_REF{{masses}}"), "No.") as server:
        chat = Chat("ollama:tiny", base_url=server.url, tools=[total], approver=nobody)
        chat.expose(masses=[3700, 5076])
        turn = chat.send("Go.")

    assert turn.calls[0].status == "invalid"
    assert "$VAR_REF{{masses}} is a list, 2 items" in answers(server)["call_0"]
    assert "DataFrame" in str(offered_tools(server)["total"]["parameters"]["properties"]["data"])


def test_the_question_shows_the_current_object_of_the_reference_and_a_new_object_is_asked_about_again(
    shell: Any,
) -> None:
    names = shell.user_ns
    asked: list[str] = []

    def approve(question: Question) -> Approved:
        asked.append(str(question.resolved["data"]))
        if len(asked) == 1:
            names["df"] = names["df"].head(1)
        return Approved()

    with model(call("count", data="$VAR_REF{{df}}"), "One.") as server:
        chat = Chat("ollama:tiny", base_url=server.url, tools=[count], approver=approve, notebook=names)
        chat.variables.expose("df")
        turn = chat.send("Go.")

    assert [text.partition(":")[2].split(" by ")[0] for text in asked] == [" DataFrame, 2 rows", " DataFrame, 1 row"]
    assert turn.calls[0].result == 1


@pytest.mark.promise("dead-reference")
def test_after_a_restart_a_reference_is_dead_and_no_other_object_takes_its_name(
    run_chat_cell: Say, shell: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "@tool(run='auto')\ndef rows(n: int) -> list[int]:\n    return list(range(n))"
    shell.run_cell(rows)
    with model(call("rows", n=900), "There.") as server:
        assert run_chat_cell(server, "Go.", "-t rows keep -v df").calls[0].reference == "rows_1_result"
    again = world()
    again.run_cell(rows)
    frame = again.user_ns.pop("df")
    capsys.readouterr()
    again.run_cell("%chat history chats")
    again.run_cell(f"%chat open {capsys.readouterr().out.split()[0]}")
    again.user_ns["df"] = frame  # defined after the chat was opened: exposed again at its next cell, which says so
    capsys.readouterr()
    old = [call("keep", data="$VAR_REF{{rows_1_result}}"), call("keep", data="$VAR_REF{{df}}"), call("rows", n=901)]
    with model(*old, "Gone.") as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        again.run_cell("%%chat -m ollama:tiny -t rows keep -o turn\nGo on.")

    calls = again.user_ns["turn"].calls
    assert [made.status for made in calls] == ["invalid", "ok", "ok"]
    assert "it belongs to an earlier kernel" in calls[0].shown
    assert [one is frame for one in again.user_ns["got"]] == [True]
    assert "Exposed again, by reference: df;" in capsys.readouterr().out
    assert calls[2].reference == "rows_2_result"


@pytest.mark.promise("only-exposed")
def test_only_what_was_exposed_can_be_referred_to(run_chat_cell: Say, shell: Any) -> None:
    shell.run_cell("key = 'SENTINEL-KEY'")
    steps = [call("keep", data=f"$VAR_REF{{{{{name}}}}}") for name in ("key", "got", "In", "_")]
    with model(*steps, call("ListVars"), "No.") as server:
        turn = run_chat_cell(server, "Go.", "-t keep -v df")

    assert [made.status for made in turn.calls] == ["invalid"] * 4 + ["ok"]
    assert turn.calls[4].shown.splitlines()[0].startswith("- df (exposed, by reference only): DataFrame")
    assert "Page 1 of 1, 1 variable." in turn.calls[4].shown
    assert "SENTINEL-KEY" not in sent_text(server)
    assert shell.user_ns["got"] == []

"""Situations of public reports: loops of calls, limits, values in prompts, commands, and what ends without a word."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import count
from typing import Any

import IPython
import pytest

from nbtool import Chat, Denied, tool
from nbtool.chat.chat import wait_for_turn
from nbtool.chat.turn import Turn
from nbtool.ids import short_id
from nbtool.magics.cell.approver import CellApprover
from nbtool.testing import ScriptedReply, ScriptedWire, call
from tests.hosts import prompts_of, two_hosts
from tests.magics.commands.saying import run_command
from tests.magics.parking import SECONDS
from tests.shells import end_shell, new_shell


@pytest.fixture
def shell() -> Iterator[Any]:
    """Give an IPython with the extension loaded."""
    shell = new_shell()
    shell.run_line_magic("load_ext", "nbtool")
    shell.run_cell("def price(ticker: str) -> float:\n    'Price.'\n    return 1.5")
    yield shell
    end_shell()


def send(replies: list[ScriptedReply], *tools: Any, **settings: Any) -> Turn:
    with ScriptedWire([*replies, "Done."]) as wire:
        return Chat(wire=wire, tools=tools, **{"max_rounds": 60, **settings}).send("Go.")


@tool(run="auto")
def read_output(handle: str) -> str:
    "Output of a process so far."
    return f"{handle}: building"


@tool(run="auto")
def sleep(seconds: int) -> str:
    "Wait."
    return f"{seconds} s later"


# --- flags beside a text ---------------------------------------------------------------------------------------


@pytest.mark.skipif(IPython.version_info < (9,), reason="this IPython keeps no errors of earlier cells")
@pytest.mark.parametrize("line", ["fix -m beta:m", "fix --dry-run -m beta:m", "fix be brief --model=beta:m"])
def test_a_model_that_is_named_beside_words_gets_the_failed_cell_and_no_other_host(
    shell: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """BaseIntelligence/bounty-challenge#49872: flags after the first word of a prompt become words of the prompt.

    Right: they are flags wherever they stand, or the line is refused; no other host gets the cell. Before: wrong.
    """
    with two_hosts(monkeypatch) as hosts:
        hosts.set_keys("alpha", "beta")
        shell.user_ns["mine"] = Chat("alpha:m")
        shell.run_cell("secret_of_beta", store_history=True)
        capsys.readouterr()

        shell.run_cell(f"%chat -c mine {line}")

        printed = "".join(capsys.readouterr())
        assert hosts.asked == ((0, 0) if "--dry-run" in line else (0, 1))
        assert "--dry-run" not in line or f"POST {hosts.beta.url}" in printed
        assert all("beta:m" not in text for prompt in prompts_of(hosts.beta) for text in prompt)


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("deny --wiat", "Did you mean --wait?"),
        ("deny 0123abcd use -m instead", "quotation marks"),
        ('deny "use -m instead, not -1" - please', "pending"),
    ],
)
def test_an_option_of_deny_that_does_not_exist_is_not_sent_as_a_reason(shell: Any, line: str, fix: str) -> None:
    """BaseIntelligence/bounty-challenge#49872: flags beside a text become words of it, here of the reason of a denial.

    Right: the line is refused, and the call waits. Before: wrong.
    """
    error = shell.run_cell(f"%chat {line}").error_in_exec

    assert fix in str(error)


# --- loops of calls --------------------------------------------------------------------------------------------


def test_a_poll_that_alternates_with_a_sleep_goes_on() -> None:
    """macanderson/stella#359: `read_output` and `sleep 5` in turn, 30 s into a build of 10 minutes, abort the run.

    Right: other calls between equal ones are no loop. Before: wrong.
    """
    turn = send([call("read_output", handle="a"), call("sleep", seconds=5)] * 12, read_output, sleep)

    assert (turn.text, turn.end_reason) == ("Done.", "")


def test_a_poll_whose_results_change_goes_on() -> None:
    """macanderson/stella#359, QwenLM/qwen-code#9450, dimetron/pi-go#102: equal calls whose results differ are aborted.

    Right: a new result is progress. Before: right.
    """
    states = count()

    @tool(run="auto")
    def task_list(status: str) -> str:
        "Tasks."
        return f"{status}: {next(states)} done"

    assert send([call("task_list", status="open")] * 12, task_list).end_reason == ""


def test_the_number_of_repeats_is_a_setting_and_the_notice_names_it() -> None:
    """StartupHakk/OpenMonoAgent.ai#47, bytedance/deer-flow#2517: a monitor of a job is stopped, and no setting helps.

    Right: the notice names the calls and the setting, and a larger one lets it go on. Before: wrong.
    """
    poll = [call("read_output", handle="a")]
    stopped, allowed = send(poll * 3, read_output), send(poll * 12, read_output, max_repeats=None)

    assert "`read_output`" in stopped.notices[0].text
    assert "max_repeats" in stopped.notices[0].text
    assert (stopped.end_reason, allowed.end_reason) == ("repetition", "")


def test_a_real_loop_ends_long_before_the_limit_of_rounds() -> None:
    """openclaw/openclaw#16808: one call with the same result, 1,535 times in two hours, for 150 dollars.

    Right: it ends. Before: right.
    """
    turn = send([call("read_output", handle="a")] * 3, read_output, max_rounds=200)

    assert (turn.end_reason, turn.stats.rounds) == ("repetition", 4)


def test_a_denied_call_that_is_tried_again_does_not_end_the_task() -> None:
    """anomalyco/opencode#35569, kurrent-io/kcap-cli#732: a denial ends the whole job, and its context is lost.

    Right: the model is told, and goes on. Before: wrong.
    """

    @tool
    def deploy(name: str) -> str:
        "Deploy."
        return name

    turn = send([call("deploy", name="a")] * 4, deploy, approver=lambda _: Denied("Not today."))

    assert ([record.status for record in turn.calls], turn.end_reason) == (["denied"] * 4, "")


# --- limits ----------------------------------------------------------------------------------------------------


def test_a_limit_of_rounds_gives_a_final_answer_and_names_its_setting() -> None:
    """openai/openai-agents-python#844, openai/openai-agents-python#2054, crewAIInc/crewAI#65: only an exception.

    Right: the model is asked for a final answer without tools. Before: right.
    """
    turn = send([call("sleep", seconds=n) for n in range(4)], sleep, max_rounds=5)

    assert (turn.text, turn.end_reason) == ("Done.", "rounds")
    assert "max_rounds" in turn.notices[0].text


def test_the_number_of_calls_has_a_limit_of_its_own_which_is_named() -> None:
    """pydantic/pydantic-ai#2593, mikekelly/AgentK#13: no limit of calls, or one whose setting nobody finds.

    Right: `max_calls`, and the notice names it. Before: right.
    """
    turn = send([call("sleep", seconds=1), call("sleep", seconds=2)], sleep, max_calls=2)

    assert "max_calls" in turn.notices[0].text


def test_a_call_in_the_final_answer_advises_the_setting_of_the_limit_that_was_reached() -> None:
    """danny-avila/LibreChat#14181, NVIDIA/NeMo-Agent-Toolkit#1720: the advice names a setting that changes nothing.

    Right: the setting of this limit. Before: wrong.
    """
    turn = send([call("read_output", handle="a")] * 4, read_output)

    assert all("max_rounds" not in notice.text for notice in turn.notices)


def test_an_approval_by_a_line_of_input_ends_when_its_time_is_over() -> None:
    """cognizant-ai-lab/neuro-san-studio#1023, allenai/super-benchmark#6: a prompt for input hangs for ever.

    Right: where a line cannot be closed in time, none is asked for, and the call is denied. Before: wrong.
    """

    @tool
    def deploy(name: str) -> str:
        "Deploy."
        return name

    with ScriptedWire([call("deploy", name="a"), "Done."]) as wire:
        chat = Chat(wire=wire, tools=[deploy])
        turn = chat.compose("Go.")
        turn.approver = CellApprover(turn, chat.approvals, can_input=True, timeout=0.2)
        thread = threading.Thread(target=wait_for_turn, args=(turn,))  # no main thread: its line cannot be closed
        thread.start()
        thread.join(SECONDS)

    assert turn.calls[0].status == "denied"
    assert "Leave out `answer_within`." in turn.calls[0].reason


# --- values in prompts -----------------------------------------------------------------------------------------

TYPED = {
    "a comprehension": "{v:k for k,v in dic.items()}\n\nrepeat the above",
    "a dict": "explain this code\n\nprint({'foo': 'bar'})",
    "TypeScript": "for (const { name, widget } of this._toolbar) {\n  add(name);\n}",
    "a set of LaTeX": r"A = \{1; 2; 3\}, \frac{a}{b}, {1; 2; 3; 4}",
    "JSON": '{\n "name": "Jasmine Green Tea",\n "quantity": 2,\n}',
    "empty braces": "can be empty {} or { }",
}


@pytest.mark.parametrize("kind", TYPED)
def test_braces_in_a_prompt_are_sent_as_they_were_typed(shell: Any, kind: str) -> None:
    """jupyterlab/jupyter-ai#967, jupyterlab/jupyter-ai#27, langchain-ai/langchain#2757: braces break the prompt.

    Right: nothing is put in for them. Before: right.
    """
    shell.run_cell(f"%%chat -q -m practice:fast -o turn\n{TYPED[kind]}")

    assert shell.user_ns["turn"].prompt.text == TYPED[kind].strip()


@pytest.mark.parametrize("kind", ["a dict", "TypeScript", "JSON", "empty braces"])
def test_braces_without_a_name_stay_beside_values_too(shell: Any, kind: str) -> None:
    """langchain-ai/langchain#1914, langfuse/langfuse#14721, run-llama/llama_index#14310: JSON beside a value breaks.

    Right: only fields with a name are replaced. Before: wrong.
    """
    typed = TYPED[kind].replace("{ name, widget }", "[name, widget]")
    shell.user_ns["who"] = "Ada"

    shell.run_cell(f"%%chat -q -m practice:fast -o turn --set fill_prompt=true\n{typed}\nFor {{who}}")

    assert shell.user_ns["turn"].prompt.text == f"{typed}\nFor Ada".strip()


def test_a_value_with_braces_is_put_in_as_it_is(shell: Any) -> None:
    """jupyterlab/jupyter-ai#1260: `{In[3]}` whose text has braces is formatted once more, and fails.

    Right: a value is not read again. Before: wrong.
    """
    shell.user_ns["In"] = ["", "print({'foo': 'bar'})"]

    shell.run_cell("%%chat -q -m practice:fast -o turn --set fill_prompt=true\nexplain {In[1]}")

    assert shell.user_ns["turn"].prompt.text == "explain print({'foo': 'bar'})"


def test_a_variable_in_the_body_of_a_magic_has_a_way_and_a_hint(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """googlecolab/colabtools#3803: no way to put a variable into the body of a cell magic.

    Right: a flag, and a hint without it. Before: wrong.
    """
    shell.user_ns["SUFFIX"] = "_202306"
    shell.run_cell("%%chat -q -m practice:fast -o turn --set fill_prompt=true\nFrom foo.bar.baz_{SUFFIX}")
    capsys.readouterr()
    shell.run_cell("%%chat -m practice:fast\nFrom {SUFFIX}")

    assert shell.user_ns["turn"].prompt.text == "From foo.bar.baz__202306"
    assert "`--set fill_prompt=true`" in capsys.readouterr().out


@pytest.mark.parametrize("typed", ["{100}", "{8}", "$HOME"])
def test_the_line_of_a_command_is_not_expanded(shell: Any, typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    """ipython/ipython#10072, ipython/ipython#11195, joerick/pyinstrument#277: IPython strips braces of a magic's line.

    Right: the line is taken as it was typed. Before: right.
    """
    assert typed in run_command(shell, f"history search x{typed}", capsys)


# --- commands and what ends ------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", ["history erase", "history vacuum", "undo", "serve", "export md", "open"])
def test_a_flag_of_help_runs_nothing(shell: Any, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """cluesmith/codev#1259, manaflow-ai/cmux#650, syncable-dev/memtrace-public#28: `--help` runs the subcommand.

    Right: the help, and nothing else. Before: wrong.
    """
    shell.run_cell("%%chat -q -m practice:fast\nHello")

    assert run_command(shell, f"{line} --help", capsys) == run_command(shell, f"help {line.split()[0]}", capsys)
    assert len(shell.magics_manager.registry["ChatMagics"].chats["main"].tree.active_path) == 1


def test_what_a_reload_ends_is_named(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """earendil-works/pi#8798: a reload silently loses the history of prompts.

    Right: each chat with the command that continues it. Before: wrong.
    """
    shell.run_cell("%%chat -q -m practice:fast\nHello")
    chat_id = short_id(shell.magics_manager.registry["ChatMagics"].chats["main"].chat_id)
    capsys.readouterr()

    shell.run_line_magic("reload_ext", "nbtool")

    assert f"`%chat open {chat_id}`" in capsys.readouterr().out


def test_a_removed_tool_is_no_tool_of_later_turns_and_is_one_again_when_it_is_back(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """langgenius/dify#11291, ratel-ai/ratel#55: an old chat keeps a removed tool, and none says what happens then.

    Right: it goes with a line, and comes back when it is defined again. Before: wrong.
    """
    tools = lambda: set(shell.magics_manager.registry["ChatMagics"].chats["main"].tools.tools())  # noqa: E731 - one line
    shell.run_cell("%%chat -q -m practice:fast -t price\nHello")
    shell.run_cell("del price")
    capsys.readouterr()
    shell.run_cell("%%chat -m practice:fast\nHello")
    said, left = capsys.readouterr().out, tools()
    shell.run_cell("def price(ticker: str) -> float:\n    'Price.'\n    return 2.5")
    shell.run_cell("%%chat -q -m practice:fast\nHello")

    assert ("`price` no longer exists" in said, left, tools()) == (True, set(), {"price"})


def test_undo_says_what_it_cannot_bring_back(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """mito-ds/mito#572, mito-ds/mito#2043: what was changed in place does not come back, and undo does not say so.

    Right: the line of the turn names it. Before: wrong.
    """
    shell.run_cell(
        "from nbtool.tools import tool\nframe, new = [1], 0\n"
        "@tool(run='auto')\ndef grow() -> str:\n    'Grow.'\n    global new\n    frame.append(2)\n    new = 1\n"
        "    return 'done'"
    )
    with ScriptedWire([call("grow"), "Done."]) as wire:
        shell.user_ns["growing"] = Chat(wire=wire, tools=[shell.user_ns["grow"]])
        shell.run_cell("%%chat -c growing\nGrow.")

    said = " ".join(capsys.readouterr().out.split())
    assert "`frame` changed in place: no former state is kept. `%chat -c growing undo" in said
    assert "takes back the rest" in said


def test_a_request_that_never_left_is_not_counted_as_sent(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """pydantic/pydantic-ai#409: requests are counted before they are made, so that refused ones count.

    Right: a request whose server's name does not resolve was not sent. Before: wrong.
    """
    Chat("openai:m", base_url="https://never.invalid/v1", api_key="k", wire="chat").send("Hello")

    assert "never.invalid" not in run_command(shell, "status", capsys)


@pytest.mark.usefixtures("own_journal")
def test_numbers_and_nouns_agree(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Automattic/woocommerce-services#1883, statamic/seo-pro#156: a plural for one item.

    Right: 1 turn. Before: wrong.
    """
    shell.run_cell("%%chat -q -m practice:fast\nHello")

    assert run_command(shell, "history frame own", capsys) == "own is a data frame of 1 turn.\n"
    assert run_command(shell, "history vacuum 0", capsys).startswith("1 turn deleted;")


def test_a_new_conversation_keeps_what_the_chat_was_given(shell: Any) -> None:
    """openinterpreter/openinterpreter#1095, OpenHealthForAll/open-health#69: a new chat forgets the model and the
    settings of the former one. Right: it has its tools and its model, and none of its messages. Before: wrong."""
    shell.run_cell("%%chat -q -m practice:fast -t price\nHello")
    shell.run_cell("%%chat -q --new -o turn\nUse &`price` with ticker=A.")
    turn = shell.user_ns["turn"]

    assert [called.name for called in turn.calls] == ["price"]
    assert turn.model == "practice:fast"
    assert len(turn.messages.context) == 1

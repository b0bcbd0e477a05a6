"""Situations of public reports: replies that a person stops, calls that one edits, keys that one types."""

from __future__ import annotations

import threading

from IPython.utils.capture import capture_output

from nbtool import Approved, Chat, tool
from nbtool.chain.hooks import EventContext
from nbtool.chat.turn.compact import BREAK_NOTES
from nbtool.events import TextDelta
from nbtool.testing import ScriptedApprover, ScriptedWire, call
from nbtool.tools.calls.result import EDITED_NOTICE
from tests.contract.simulator import KEY, held, simulate
from tests.shells import end_shell, new_shell


def test_the_model_learns_that_a_person_stopped_its_reply() -> None:
    """brightwave-inc/tidebreak#1335, fjutxiake/android-vibe-design#45, truffle-ai/dexto#455, nesquena/hermes-webui#893:
    what was received before a stop is lost, or is sent as if the model had ended there. Right: it is sent, with a note
    that the person stopped it. Before: wrong."""
    has_text = threading.Event()

    class Listener:
        def on_event(self, context: EventContext) -> None:
            if isinstance(context.event, TextDelta):
                has_text.set()

    with simulate(held("Once upon a time there was a notebook."), "Of course.") as model:
        chat = model.chat(plugins=[Listener()])
        turn = chat.start("Tell me a story.")
        assert has_text.wait(60)
        turn.cancel()
        turn.done.result(60)
        chat.send("A shorter one, please.")

    sent = model.requests[1].json["messages"][1]["content"]
    assert sent == f"{turn.text.strip()}\n\n{BREAK_NOTES['cancelled']}"


def test_the_model_keeps_its_own_call_and_learns_that_a_person_edited_it() -> None:
    """langchain-ai/langchain#33787, langchain-ai/langchain#33784, langchain-ai/langchain#40463: after an edit the call
    in the history is another one than the model made, or nothing says why the result is of other arguments, and the
    model makes its call again. Right: its call stays, and the result says that it was edited. Before: right."""
    ran: list[str] = []

    @tool
    def send_mail(to: str) -> str:
        "Send a mail."
        ran.append(to)
        return "sent"

    wire = ScriptedWire([call("send_mail", to="alice@example.com"), "Sent."])
    with ScriptedApprover([Approved({"to": "alice@work.example"})]) as person:
        Chat(wire=wire, tools=[send_mail], approver=person).send("Write to Alice.")

    _, made, result = wire.prompts[1].messages
    assert [one.arguments for one in made.calls] == ['{"to": "alice@example.com"}']
    assert [one.text for one in result.results] == [f"{EDITED_NOTICE}\nsent"]
    assert ran == ["alice@work.example"]


def test_a_key_in_a_prompt_is_in_no_list_of_prompts() -> None:
    """Reallyeasy1/Oculith#388: traces and exports had no key that was pasted into a prompt, and the list of runs showed
    it. Right: no list, no page and no file has a key of this kernel. Before: wrong."""
    shell = new_shell()
    try:
        shell.run_line_magic("load_ext", "nbtool")
        with simulate("Hello.") as model:
            shell.user_ns["lab"] = model.chat()
            shell.run_cell(f"%%chat -q -c lab\nMy key is {KEY}")
        with capture_output() as captured:
            shell.run_cell("%chat -c lab history\n%chat -c lab explore --static\n%chat -c lab show")
    finally:
        end_shell()

    assert captured.stdout.count("My key is •••") == 3
    assert KEY[:9] not in captured.stdout

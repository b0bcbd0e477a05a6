"""A conversation of several turns, for what writes and reads conversations."""

from __future__ import annotations

from nbtool import Approved, Chat, Denied, Released, Withheld, tool
from nbtool.chat.chat import TurnSettings
from nbtool.messages import Media
from nbtool.testing import ScriptedApprover, ScriptedWire, call, cut, thinking
from tests.samples import PNG

SECRET = "SENTINEL-VALUE"


@tool(run="auto")
def double(n: int) -> int:
    "Twice a number."
    return 2 * n


@tool
def rows(n: int) -> int:
    "How many rows there are."
    return n


@tool(run="auto", result="always")
def secret(text: str) -> str:
    "Say something that may be held back."
    return f"{SECRET} {text}"


def make_chat() -> Chat:
    """Make a chat with calls of every fate, versions, a branch, a broken reply, and a turn that was deleted."""
    approver = ScriptedApprover([Approved(arguments={"n": 5}), Denied("no"), Released(text="less"), Withheld("mine")])
    replies = [
        [thinking("Hm."), call("double", n=4), call("rows", n=1), call("rows", n=2), call("nothing")],
        [call("secret", text="a"), call("secret", text="b")],
        "All ```` done\n## 9. Prompt",
        "Another.",
        ["Broken", cut()],
        "Elsewhere.",
        "Gone.",
    ]
    with ScriptedWire(replies) as wire, approver:
        chat = Chat(wire=wire, tools=[double, rows, secret], approver=approver)
        chat.send("First *thing*", settings=TurnSettings(cell_id="a"), attach=[Media("image/png", PNG)])
        chat.send("Second", settings=TurnSettings(cell_id="b"))
        chat.send("Third", settings=TurnSettings(cell_id="b"))
        chat.branch(chat.tree.active_path[0].turn)
        chat.send("Fourth \u202e\u2028 \U0001f600 \U000e0001")
        chat.delete(chat.send("Fifth"))
    chat.hide(chat.tree.active_path[0].turn)
    chat.pin(chat.tree.active_path[-1].turn)
    return chat

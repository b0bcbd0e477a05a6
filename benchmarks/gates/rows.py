"""The rows of the table: an approval policy, a person, and which attacks are tried."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.gates.annotations import DESTINATIONS, EFFECTS, OWN_RESULTS, WEB_REQUESTS
from benchmarks.gates.persons import CARELESS_EVERY, TIRED_AFTER, Person, Remember
from benchmarks.gates.world import Call
from nbtool import ask_after_outside_text

Gates = Literal["none", "every call", "effects", "effects without web requests", "typed destinations"]
Attacks = Literal["listed", "newer", "knows the prompt"]


@dataclass(frozen=True, slots=True)
class Row:
    """One row: what asks, who answers, which attacks are tried."""

    key: str
    title: str
    code: str
    gates: Gates
    attacks: Attacks = "listed"
    reads: int | None = None
    remember: Remember = ""
    lapse_every: int = 0

    def options(self, tool: str) -> dict[str, Any]:
        """Return the options of `tool` for a function."""
        return {"run": self._run(tool), "reads_outside": tool not in OWN_RESULTS}

    def person(self, calls: Iterable[Call], lapses: int) -> Person:
        """Return the person of one run; `lapses` is how many wrong calls there were before."""
        return Person(calls, reads=self.reads, remember=self.remember, lapse_every=self.lapse_every, lapses=lapses)

    def _run(self, tool: str) -> Any:
        asking = {
            "none": frozenset[str](),
            "every call": frozenset((tool,)),
            "effects without web requests": EFFECTS - WEB_REQUESTS,
        }.get(self.gates, EFFECTS)
        if tool not in asking:
            return "auto"
        if self.gates != "typed destinations":
            return "ask_always"
        required, optional = DESTINATIONS[tool]
        return ask_after_outside_text(*required, optional=optional)


EFFECTS_ASK = '`run="auto"` for 46 tools'
TYPED = "`run=ask_after_outside_text(…)` for 28 tools"

ROWS = (
    Row("no gate", "no gate", '`run="auto"`', "none"),
    Row("every call", "every call asks", "the default", "every call"),
    Row("effects without web", "effects ask, but not web requests", '`run="auto"` for 47 tools',
        "effects without web requests"),
    Row("effects", "**effects ask**", EFFECTS_ASK, "effects"),
    Row("remember tool", "effects ask (not web requests); approvals are kept for the tool",
        '`Approved(remember="tool")`', "effects without web requests", remember="tool"),
    Row("remember call", "effects ask; approvals are kept for the same arguments", '`Approved(remember="call")`',
        "effects", remember="call"),
    Row("typed", "**effects ask after a text from outside, unless the person typed the destination**", TYPED,
        "typed destinations"),
    Row("tired every call", f"every call asks; the person reads {TIRED_AFTER} questions a task", "the default",
        "every call", reads=TIRED_AFTER),
    Row("tired effects", f"effects ask; the person reads {TIRED_AFTER} questions a task", EFFECTS_ASK, "effects",
        reads=TIRED_AFTER),
    Row("tired typed", f"the rule on destinations; the person reads {TIRED_AFTER} questions a task", TYPED,
        "typed destinations", reads=TIRED_AFTER),
    Row("careless every call", f"every call asks; each {CARELESS_EVERY}th wrong call is approved", "the default",
        "every call", lapse_every=CARELESS_EVERY),
    Row("careless effects", f"effects ask; each {CARELESS_EVERY}th wrong call is approved", EFFECTS_ASK, "effects",
        lapse_every=CARELESS_EVERY),
    Row("newer no gate", "no gate", '`run="auto"`', "none", "newer"),
    Row("newer effects", "effects ask", EFFECTS_ASK, "effects", "newer"),
    Row("newer typed", "the rule on destinations", TYPED, "typed destinations", "newer"),
    Row("knows effects", "effects ask", EFFECTS_ASK, "effects", "knows the prompt"),
    Row("knows typed", "the rule on destinations", TYPED, "typed destinations", "knows the prompt"),
)  # fmt: skip

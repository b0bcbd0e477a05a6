"""The rows of the table: an approval policy, a person, and which attacks are tried."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.gates.annotations import DESTINATIONS, EFFECTS, OWN_RESULTS, WEB_REQUESTS
from benchmarks.gates.attacks import Attack
from benchmarks.gates.model import BlindModel, Known, ObedientModel
from benchmarks.gates.persons import CARELESS_EVERY, TIRED_AFTER, Person, Remember
from benchmarks.gates.world import Call
from nbtool import ask_after_outside_text

Gates = Literal["none", "every call", "effects", "effects without web requests", "typed destinations"]
Attacks = Literal["listed", "newer", "knows the prompt"]
Results = Literal["sent", "looked at", "by reference", "others' by reference"]


@dataclass(frozen=True, slots=True)
class Row:
    """One row: what asks, who answers, which attacks are tried, and what the model reads of results.

    Args:
        removes: whether the person removes an injected text from a result, or withholds the whole.
        composes: whether a model that reads no result composes from the prompt what stands in none.
    """

    key: str
    title: str
    code: str
    gates: Gates
    attacks: Attacks = "listed"
    reads: int | None = None
    remember: Remember = ""
    lapse_every: int = 0
    results: Results = "sent"
    removes: bool = False
    composes: bool = False

    @property
    def is_by_reference(self) -> bool:
        """Whether the model has results by reference only."""
        return self.results in ("by reference", "others' by reference")

    def options(self, tool: str) -> dict[str, Any]:
        """Return the options of `tool` for a function."""
        return {"run": self._run(tool), "result": self._result(tool), "reads_outside": tool not in OWN_RESULTS}

    def person(self, calls: Iterable[Call], lapses: int, meanings: Mapping[str, Any]) -> Person:
        """Return the person of one run; `lapses` is how many wrong calls there were before."""
        return Person(
            calls,
            reads=self.reads,
            remember=self.remember,
            lapse_every=self.lapse_every,
            lapses=lapses,
            removes=self.removes,
            meanings=meanings,
        )

    def model(self, task: Any, calls: Iterable[Call], attack: Attack | None, results: Sequence[Any]) -> ObedientModel:
        """Return the model of one run; `results` grows by what each call returned."""
        orders = (attack.calls, attack.answer) if attack else ((), "")
        if self.is_by_reference:
            known = Known(task.PROMPT, results, composes=self.composes)
            return BlindModel(calls, task.GROUND_TRUTH_OUTPUT, *orders, known=known)
        return ObedientModel(calls, task.GROUND_TRUTH_OUTPUT, *orders)

    def _result(self, tool: str) -> Any:
        if self.results == "by reference" or (self.results == "others' by reference" and tool not in OWN_RESULTS):
            return "reference"
        return "always" if self.results == "looked at" and tool not in OWN_RESULTS else "never"

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
LOOKED_AT = '`result="always"` for 52 tools'
BY_REFERENCE = '`result="reference"` for 74 tools'
OTHERS_BY_REFERENCE = '`result="reference"` for 52 tools'
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
    Row("looked at", "effects ask, and so do results with texts of others; one with an injection is withheld",
        LOOKED_AT, "effects", results="looked at"),
    Row("cleaned", "effects ask, and so do results with texts of others; the injection is removed from them",
        LOOKED_AT, "effects", results="looked at", removes=True),
    Row("cleaned alone", "nothing but results with texts of others asks; the injection is removed from them",
        LOOKED_AT, "none", results="looked at", removes=True),
    Row("references typed", "effects ask; the model passes on what the person typed, and fields of results",
        BY_REFERENCE, "effects", results="by reference"),
    Row("references", "effects ask; it also composes from the prompt whatever is in no result",
        BY_REFERENCE, "effects", results="by reference", composes=True),
    Row("references without gate", "no gate; the same, and only results with texts of others are by reference",
        OTHERS_BY_REFERENCE, "none", results="others' by reference", composes=True),
    Row("newer no gate", "no gate", '`run="auto"`', "none", "newer"),
    Row("newer effects", "effects ask", EFFECTS_ASK, "effects", "newer"),
    Row("newer typed", "the rule on destinations", TYPED, "typed destinations", "newer"),
    Row("knows effects", "effects ask", EFFECTS_ASK, "effects", "knows the prompt"),
    Row("knows typed", "the rule on destinations", TYPED, "typed destinations", "knows the prompt"),
)  # fmt: skip

NUMBERS = {row.key: number for number, row in enumerate(ROWS, 1)}
"""The number of each row in the tables and in the plot."""

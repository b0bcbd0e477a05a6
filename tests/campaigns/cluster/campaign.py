"""Send prompts to a cluster whose processes are killed, and compare what came of them with what must come."""

from __future__ import annotations

import os
import random
import resource
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from nbtool import Chat
from nbtool.chat.batch import Answer
from nbtool.chat.batch.sinks.sqlite_sink import SqliteSink
from nbtool.errors import WorkerLost
from nbtool.plugins.budget import Budget
from nbtool.tools.approval import Approved, Decision, Question
from tests.campaigns.cluster.cluster import KillableCluster, start_provider, stop_process
from tests.campaigns.cluster.effects import FILE, count_effects, create_file, record
from tests.campaigns.cluster.provider import TOKENS

STATED = "may be done"
"""What the error of a prompt says whose call may have run."""

SCHEDULER_KILLS = 4
"""One kill in so many is of the scheduler."""


@dataclass
class CampaignResult:
    """What came of a campaign; `violations` is empty if everything holds."""

    prompts: int
    answered: int = 0
    unknown: int = 0
    effects: int = 0
    doubles: int = 0
    approvals: int = 0
    tokens: int = 0
    lost: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    kills: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    def table(self) -> str:
        """Return the figures as a table."""
        figures = {
            "prompts": f"{self.prompts:,}",
            "kills of a worker": self.kills["worker"],
            "kills of the scheduler": self.kills["scheduler"],
            "answered": f"{self.answered:,}",
            "stated as unknown": f"{self.unknown:,}",
            "effects": f"{self.effects:,}",
            "doubles": self.doubles,
            "approvals": f"{self.approvals:,}",
            "tokens": f"{self.tokens:,}",
            "lost": self.lost,
            "seconds": f"{self.seconds:,.0f}",
            "CPU seconds": f"{self.cpu:,.0f}",
        }
        lines = [f"| {' | '.join(figures)} |", f"|{'--:|' * len(figures)}"]
        return "\n".join([*lines, f"| {' | '.join(map(str, figures.values()))} |"])


class KillingSink(SqliteSink):
    """A file that kills a process of the cluster after some of the answers, by their count."""

    def __init__(self, path: Path, cluster: KillableCluster, kills: Sequence[tuple[int, str]], choose: random.Random):
        super().__init__(path)
        self.cluster, self.choose = cluster, choose
        self.left = list(kills)
        self.done: Counter[str] = Counter()
        self.count = 0
        self.acknowledged: dict[int, str | None] = {}
        self.violations: list[str] = []

    def write(self, answers: Sequence[Answer]) -> None:
        """Store answers, and kill what is due."""
        super().write(answers)
        self.count += len(answers)
        self.acknowledged |= {one.index: one.value for one in answers if not one.error}
        if not self.left or self.left[0][0] > self.count or self.cluster.is_dead:
            return
        kind = self.left[0][1]
        if kind == "scheduler":
            self.cluster.kill_scheduler()
        elif not self.cluster.kill_worker(self.choose):
            return  # with one of the next answers
        self.done[kind] += 1
        self.left.pop(0)
        tell(f"killed the {kind} after {self.count:,} answers")

    def compare(self) -> None:
        """Note the answers that were stored and are not there any more, or are others."""
        stored = {row: value for row, value, _ in read_rows(self.path)}
        changed = [row for row, value in self.acknowledged.items() if stored.get(row) != value]
        self.violations += [f"the stored answer of row {row} is lost or changed" for row in changed]


@dataclass
class Person:
    """Approves each call, and counts the approvals by row."""

    approved: Counter[int] = field(default_factory=Counter)

    def approve(self, question: Question) -> Decision:
        """Approve a call."""
        self.approved[question.arguments["n"]] += 1
        return Approved()


def run_campaign(folder: Path, prompts: int, kills: int, seed: str, *, compared: int) -> CampaignResult:
    """Run the campaign in a folder; the first `compared` answers are compared with those of one process."""
    began, choose = time.monotonic(), random.Random(seed)
    effects, result = folder / "effects.sqlite", CampaignResult(prompts)
    create_file(effects)
    environment = {**os.environ, FILE: str(effects), "NBTOOL_HOME": str(folder / "workers")}
    provider, url = start_provider(environment)
    try:
        person = Person()
        budget = Budget(tokens=1_000 * prompts)
        chat = Chat("tiny", base_url=url, tools=[record], approver=person.approve, plugins=[budget])
        cluster = KillableCluster(folder, environment)
        sink = KillingSink(folder / "answers.sqlite", cluster, _plan(prompts, kills, choose), choose)
        _send_all(chat, sink, prompts)
        result.violations += sink.violations
        approved = Counter(person.approved)
        result.approvals, result.tokens = approved.total(), budget.spent.total_tokens
        expected = _answer_here(chat, folder, compared)
        tell(f"{compared:,} prompts were answered in this process")
    finally:
        provider.terminate()
        stop_process(provider)
    result.kills = sink.done
    for _, kind in sink.left:  # nobody was there to be killed at that moment, nor with a later answer
        tell(f"did not kill the {kind}: the answers were all there")
    effects_of = count_effects(effects)
    _check(result, sink.path, effects_of, expected)
    unasked = [row for row in effects_of if not approved[row]]
    result.violations += [f"the effect of row {row} happened, and nobody had approved it" for row in unasked]
    if result.tokens < 2 * TOKENS * result.answered:
        result.violations.append(f"the budget counted {result.tokens} tokens for {result.answered} answers")
    result.seconds = time.monotonic() - began
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    result.cpu = sum(one.ru_utime + one.ru_stime for one in usages)
    return result


def tell(what: str) -> None:
    """Print what happened, with the time: a long run is watched by its log."""
    print(f"{time.strftime('%H:%M:%S')} {what}", flush=True)  # noqa: T201 - the log of the program


def read_rows(path: Path) -> list[tuple[int, str | None, str | None]]:
    """Return the rows of a file of answers: row, value and error."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT row, value, error FROM answers ORDER BY row").fetchall()


def _plan(prompts: int, kills: int, choose: random.Random) -> list[tuple[int, str]]:
    """Return after how many answers what is killed."""
    moments = sorted(choose.sample(range(1, prompts * 19 // 20), kills))
    kinds = ["scheduler"] * (kills // SCHEDULER_KILLS) + ["worker"] * (kills - kills // SCHEDULER_KILLS)
    choose.shuffle(kinds)
    return list(zip(moments, kinds, strict=True))


def _send_all(chat: Chat, sink: KillingSink, prompts: int) -> None:
    """Send the prompts, and continue with a new cluster as often as the scheduler is lost."""
    while True:
        client = sink.cluster.start()
        tell("a cluster is there")
        lost = sink.done["scheduler"]
        try:
            chat.map_into(sink, _prompts(prompts), on=client, progress=False)
            tell("the map is at its end")
            return
        except WorkerLost as error:
            tell(f"the map raised: {error}")
            if sink.done["scheduler"] == lost:
                sink.violations.append(f"the map ended, and no scheduler was killed: {error}")
                return
        finally:
            sink.cluster.stop()
            sink.compare()


def _answer_here(chat: Chat, folder: Path, count: int) -> dict[int, str | None]:
    """Answer prompts in this process, with effects of its own, and return the answers by row."""
    path, effects = folder / "here.sqlite", folder / "effects-here.sqlite"
    create_file(effects)
    os.environ[FILE] = str(effects)
    chat.map_into(path, _prompts(count), progress=False, resume=False)  # not with the answers of the cluster
    return {row: value for row, value, _ in read_rows(path)}


def _prompts(count: int) -> Iterator[str]:
    return (f"p{n}" for n in range(count))


def _check(result: CampaignResult, path: Path, effects: Mapping[int, int], expected: Mapping[int, str | None]) -> None:
    """Count what came of the prompts, and note what must not be."""
    rows = {row: (value, error) for row, value, error in read_rows(path)}
    for row in range(result.prompts):
        value, error = rows.get(row, (None, None))
        if value is not None and error is None:
            result.answered += 1
            if value != expected.get(row, f"p{row}: recorded {row}"):
                result.violations.append(f"row {row} has another answer than in one process: {value[:80]!r}")
            if not effects.get(row):
                result.violations.append(f"row {row} has an answer, and no effect")
        elif error is not None and STATED in error:
            result.unknown += 1
        else:
            result.lost += 1
            result.violations.append(f"row {row} has neither an answer nor a stated error: {error}")
    result.effects, result.doubles = sum(effects.values()), sum(count > 1 for count in effects.values())
    result.violations += [
        f"the effect of row {row} happened {count} times" for row, count in effects.items() if count > 1
    ]

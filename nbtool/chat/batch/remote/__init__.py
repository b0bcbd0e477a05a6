"""Run the turns of a batch on an engine of the user's: a Dask cluster, or a pool of processes.

engine.py           what an engine does for a batch; which one an object is
executor_engine.py  a `concurrent.futures.Executor`: its workers reach home by a socket
dask_engine.py      a Dask client: they reach it by a queue in the scheduler
sealed.py           what is sent: pickled, without secrets, and without a text in logs
chunk.py            one task: some prompts, and how many of them run at a time
worker_message.py   what workers say
packed_error.py     errors and earlier turns on their way
chunk_source.py     at home: send chunks, stop, say what is lost
recorded_source.py  at home: replay what a recording has, and add the other turns to it
home_turns.py       at home: write what workers say to the journal, and say what may start
asked_question.py   a question on its way home, and its decision on the way back
home_questions.py   at home: ask what workers ask
lost_worker.py      the errors of prompts whose worker was lost
home_link.py        on a worker: the channel home; without it no call starts
home_budgets.py     at home: the budgets that the turns of workers use
shared_rates.py     both: when a request is sent, by the limits that all workers share
home_meter.py       on a worker: ask home before a request whether they have room for it
home_writer.py      on a worker: send the events of a turn home, and wait there before a call starts
home_approver.py    on a worker: the approver that asks at home

A worker keeps nothing: the process of the map has the journal, and writes the start of a call there before it allows
it. So it knows of each prompt of a lost worker whether a call may have run, and what its results are: a prompt is sent
again, or goes on from these results, unless a call was allowed to start and its outcome is not known.
"""

from nbtool.chat.batch.remote.chunk import Chunk
from nbtool.chat.batch.remote.chunk_source import ChunkSource
from nbtool.chat.batch.remote.engine import WorkerLine, find_engine
from nbtool.chat.batch.remote.home_approver import HomeApprover
from nbtool.chat.batch.remote.home_budgets import HomeBudgets, MeteredPrices
from nbtool.chat.batch.remote.home_link import HomeCheck, HomeLink
from nbtool.chat.batch.remote.home_meter import HomeMeter
from nbtool.chat.batch.remote.home_questions import HomeQuestions
from nbtool.chat.batch.remote.home_turns import HomeTurns
from nbtool.chat.batch.remote.home_writer import HomeWriter
from nbtool.chat.batch.remote.packed_error import PackedError, pack_error, unpack_versions
from nbtool.chat.batch.remote.recorded_source import RecordedSource
from nbtool.chat.batch.remote.sealed import Sealed, seal
from nbtool.chat.batch.remote.shared_rates import HomeRates, WorkerBackoff

__all__ = [
    "Chunk",
    "ChunkSource",
    "HomeApprover",
    "HomeBudgets",
    "HomeCheck",
    "HomeLink",
    "HomeMeter",
    "HomeQuestions",
    "HomeRates",
    "HomeTurns",
    "HomeWriter",
    "MeteredPrices",
    "PackedError",
    "RecordedSource",
    "Sealed",
    "WorkerBackoff",
    "WorkerLine",
    "find_engine",
    "pack_error",
    "seal",
    "unpack_versions",
]

"""Run the turns of a batch on an engine of the user's: a Dask cluster, or a pool of processes.

engine.py           what an engine does for a batch; which one an object is
executor_engine.py  a `concurrent.futures.Executor`
dask_engine.py      a Dask client: claims in its scheduler, because it runs tasks of dead workers again by itself
sealed.py           what is sent: pickled, without secrets, and without a text in logs
packed_answer.py    an answer on its way home: the events of its turn, and its error
chunk.py            one task: some prompts, and how many of them run at a time
chunk_source.py     at home: send chunks, receive answers, stop, say what is lost
asked_question.py   a question on its way home, and its decision on the way back
home_questions.py    at home: ask what workers ask, and send the decisions back
home_approver.py    on a worker: the approver that asks at home
lost_prompts.py     at home: write to the journal which prompts may have had effects on a lost worker
worker_journal.py   on a worker: what its journal has of the turns of a map
worker_turns.py     at home: take from there what the workers did for a process that is gone
call_claim.py       on a worker: no call starts that may have started on another worker, or whose map is gone

A prompt is sent again after its worker was lost only if no call of it can have started: before the first call of a
prompt starts, its worker takes the only ticket of that prompt from the scheduler, and a second run that finds none
ends in an error instead. A pool of processes has no place for tickets and never repeats; what a lost worker did not
return is an error.
"""

from nbtool.chat.batch.remote.call_claim import CallClaim, HomeCheck
from nbtool.chat.batch.remote.chunk import Chunk
from nbtool.chat.batch.remote.chunk_source import ChunkSource
from nbtool.chat.batch.remote.engine import WorkerLink, find_engine
from nbtool.chat.batch.remote.home_approver import HomeApprover
from nbtool.chat.batch.remote.home_questions import HomeQuestions
from nbtool.chat.batch.remote.lost_prompts import LostPrompts
from nbtool.chat.batch.remote.packed_answer import PackedAnswer, pack_answer, pack_error, unpack_versions
from nbtool.chat.batch.remote.sealed import Sealed, seal
from nbtool.chat.batch.remote.worker_turns import WorkerTurns

__all__ = [
    "CallClaim",
    "Chunk",
    "ChunkSource",
    "HomeApprover",
    "HomeCheck",
    "HomeQuestions",
    "LostPrompts",
    "PackedAnswer",
    "Sealed",
    "WorkerLink",
    "WorkerTurns",
    "find_engine",
    "pack_answer",
    "pack_error",
    "seal",
    "unpack_versions",
]

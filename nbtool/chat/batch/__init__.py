"""Run many independent prompts: `Chat.map`, `Chat.start_map` and `Chat.map_into`.

prompts.py          parse prompts, columns and templates
rows.py             rows of a template: dicts, frames, Arrow tables and files, queries, cursors
answer_frame.py     the answers as a frame of pandas or Polars
answers.py          an answer, and what gives answers from elsewhere
batch.py            the running batch: limited concurrency, answers on arrival and in order at the end
batch_driver.py     what it gets from its chat
turn_facts.py       what the turn of an answer says of its calls
running_prompts.py  which prompts maps are sending now
claim_file.py       which ones the maps of other processes are sending
shared_backoff.py   the delays that all requests of a map share: a busy provider, a limit per minute
rate_limiter.py     what a connection may send: requests and tokens, as its provider reports them
prompt_retries.py   the retries of one prompt: of a refused request, of a turn whose reply broke off
finished_results.py which results of calls are kept
streamed_map.py     any number of prompts in constant memory, a chunk at a time
write_failure.py    the errors of files that a map writes
map_counts.py       the counts of a running map, for those who show its progress
status_line.py      how far a map is, in one line
progress.py         how that is shown: a view of the front end, or a line
settings.py         concurrency, retries, budget, and where the turns run
earlier_maps/       what earlier maps have left in the journal, and what is done with it
sinks/              where the answers of a streamed map go: a file or a function
provider/           batches of the provider, at a lower price
remote/             whole turns on a Dask cluster or in a pool of processes
"""

from nbtool.chat.batch.answers import Answer
from nbtool.chat.batch.batch import Batch, MapInterrupted
from nbtool.chat.batch.batch_driver import BatchDriver
from nbtool.chat.batch.earlier_maps.answer_cache import BatchKey, answer_value
from nbtool.chat.batch.prompts import PromptItem, parse_prompts
from nbtool.chat.batch.settings import MapSettings
from nbtool.chat.batch.shared_backoff import SharedBackoff
from nbtool.chat.batch.sinks.answer_sink import AnswerSink
from nbtool.chat.batch.sinks.sqlite_sink import SqliteSink
from nbtool.chat.batch.streamed_map import MapTotals

__all__ = [
    "Answer",
    "AnswerSink",
    "Batch",
    "BatchDriver",
    "BatchKey",
    "MapInterrupted",
    "MapSettings",
    "MapTotals",
    "PromptItem",
    "SharedBackoff",
    "SqliteSink",
    "answer_value",
    "parse_prompts",
]

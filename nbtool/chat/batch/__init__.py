"""Run many independent prompts: `Chat.map`, `Chat.start_map` and `Chat.map_into`.

prompts.py          parse prompts, columns and templates
rows.py             rows of a template: dicts, frames, Arrow tables and files, queries, cursors
answers.py          an answer, and what gives answers from elsewhere
batch.py            the running batch: limited concurrency, answers on arrival and in order at the end
batch_driver.py     what it gets from its chat
turn_facts.py       what the turn of an answer says of its calls
running_prompts.py  which prompts maps are sending now
earlier_turns.py    what earlier maps have left of a prompt, and what is done with it
lost_turns.py       what a map that was killed has left of prompts without an answer in the file
own_changes.py      inputs that calls of maps changed
other_inputs.py     calls of earlier maps with other inputs
shared_backoff.py   the delays that all requests of a map share: a busy provider, a limit per minute
prompt_retries.py   the retries of one prompt: of a refused request, of a turn whose reply broke off
answer_cache.py     the keys of prompts, and which turns of the journal answer them
finished_results.py which results of calls are kept
turn_index.py       the turns of a map in the journal, by the keys of its prompts
streamed_map.py     any number of prompts in constant memory, a chunk at a time
answer_sink.py      where the answers of those go: a file or a function
sqlite_sink.py      the SQLite file, which a later map continues
write_failure.py    the errors of a full disk
columnar_export.py  writing of Parquet and Arrow
map_counts.py       the counts of a running map, for those who show its progress
status_line.py      how far a map is, in one line
progress.py         how that is shown: a view of the front end, or a line
settings.py         concurrency, retries, budget, and where the turns run
remote/             whole turns on a Dask cluster or in a pool of processes
"""

from nbtool.chat.batch.answer_cache import BatchKey, answer_value
from nbtool.chat.batch.answer_sink import AnswerSink
from nbtool.chat.batch.answers import Answer
from nbtool.chat.batch.batch import Batch
from nbtool.chat.batch.batch_driver import BatchDriver
from nbtool.chat.batch.prompts import PromptItem, parse_prompts
from nbtool.chat.batch.settings import MapSettings
from nbtool.chat.batch.shared_backoff import SharedBackoff
from nbtool.chat.batch.sqlite_sink import SqliteSink
from nbtool.chat.batch.streamed_map import MapTotals

__all__ = [
    "Answer",
    "AnswerSink",
    "Batch",
    "BatchDriver",
    "BatchKey",
    "MapSettings",
    "MapTotals",
    "PromptItem",
    "SharedBackoff",
    "SqliteSink",
    "answer_value",
    "parse_prompts",
]

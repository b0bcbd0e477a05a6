"""Run many independent prompts: `Chat.map` and `Chat.start_map`.

prompts.py         parse prompts, columns and templates
batch.py           the running batch: limited concurrency, answers on arrival and in order at the end
shared_backoff.py  the back-off that all requests of a batch share
answer_cache.py    answers that the journal has already
progress.py        the progress line
settings.py        concurrency, retries and budget
"""

from nbtool.chat.batch.answer_cache import BatchKey, answer_value
from nbtool.chat.batch.batch import Answer, Batch, BatchDriver
from nbtool.chat.batch.prompts import PromptItem, parse_prompts
from nbtool.chat.batch.settings import MapSettings
from nbtool.chat.batch.shared_backoff import SharedBackoff

__all__ = [
    "Answer",
    "Batch",
    "BatchDriver",
    "BatchKey",
    "MapSettings",
    "PromptItem",
    "SharedBackoff",
    "answer_value",
    "parse_prompts",
]

"""Many prompts, each asked on its own: `Chat.map` and `Chat.start_map`.

made.py      a chat and its prompts → a batch of turns
asked.py     prompts, columns and templates → what is asked
batch.py     the questions on their way: a few at a time, answers as they come and in order at the end
pace.py      one patience with the provider for all of them
kept.py      answers that the journal has already
progress.py  a line that says how far it is
settings.py  how many at a time, how often again, for how much
"""

from nbtool.chat.batch.answer_cache import BatchKey, answer_value
from nbtool.chat.batch.batch import Answer, Batch, BatchDriver
from nbtool.chat.batch.prompts import PromptItem, parse_prompts
from nbtool.chat.batch.rate_limit import SharedBackoff
from nbtool.chat.batch.settings import MapSettings
from nbtool.chat.batch.start import start_batch

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
    "start_batch",
]

"""`batch="provider"`: the prompts of a map as batches of their provider, which answers within a day at a lower price.

provider_source.py  hand over, wait, answer: the source of the answers of a map
line_collector.py   the requests of the prompts as lines of a batch, within the budget
batch_log.py        which batches are handed over, in the journal
batch_watch.py      wait for the end of a batch, and what is said meanwhile
batch_reply.py      the endpoint of a turn whose reply came in a batch
"""

from nbtool.chat.batch.provider.batch_reply import BatchReplyEndpoint
from nbtool.chat.batch.provider.line_collector import BATCH_BUDGET_FIX, LineBudget
from nbtool.chat.batch.provider.provider_source import ProviderSource

__all__ = ["BATCH_BUDGET_FIX", "BatchReplyEndpoint", "LineBudget", "ProviderSource"]

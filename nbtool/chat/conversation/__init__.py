"""A conversation.

tree.py          nodes, versions, the active branch     restore.py  turns and trees read back from events
conversation.py  changes of the tree, journalled first
"""

from nbtool.chat.conversation.conversation import BRANCH_MARK, Conversation, TurnRef, open_conversations

__all__ = ["BRANCH_MARK", "Conversation", "TurnRef", "open_conversations"]

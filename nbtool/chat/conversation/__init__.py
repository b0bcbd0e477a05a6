"""A conversation.

tree.py          nodes, versions, the active branch     restore.py  turns and trees read back from events
conversation.py  changes of the tree, journalled first
"""

from nbtool.chat.conversation.conversation import Conversation, TurnRef

__all__ = ["Conversation", "TurnRef"]

"""A conversation: the tree of its turns, the changes of the tree, and both read back from a journal."""

from nbtool.chat.conversation.conversation import Conversation, TurnRef

__all__ = ["Conversation", "TurnRef"]

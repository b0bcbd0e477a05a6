"""Conversations with history: chats, turns, the tree of versions, the journal."""

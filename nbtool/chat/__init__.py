"""The conversation remembers: chats, turns, the tree, the journal."""

"""Commands about the journal: chats and turns of earlier kernels, and the explorer."""

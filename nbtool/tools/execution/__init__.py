"""Where a tool runs: the caller's thread, a worker thread, an executor."""

"""Where a tool runs: caller thread, worker, executor."""

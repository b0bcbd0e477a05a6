"""How work reaches a thread, and comes back.

| what runs | where | who brings it there |
|---|---|---|
| nbtool's own work: turns, requests, the journal's answers | nbtool's loop, on a thread of its own | `loop` |
| a synchronous tool, a synchronous approver | the thread that called and waits for the turn | `caller_thread` |
| a tool with `thread=True`, a synchronous hook, a slow repr | a worker; idle ones are reused | `thread_pool` |
| an async tool | the loop that awaits the turn, else the loop of async tools | `nbtool.tools.execution.async_loop` |
| a tool with an executor | that executor: a pool, another process, a cluster | `nbtool.tools.execution.executors` |

Where no thread can be started, as in a browser, everything shares one loop: `threadless`.
"""

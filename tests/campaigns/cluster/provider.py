"""A provider on loopback whose answers depend on the prompt alone, in a process of its own.

    python -m tests.campaigns.cluster.provider        prints `PORT <n>` and serves until it is stopped

A prompt `pN` gets a call of `record` with n=N; the request with its result gets the text `pN: ` and the result. Each
reply used `TOKENS` tokens.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from benchmarks.server import HEAD, Connection
from tests.campaigns.cluster.effects import TOOL
from tests.chaos import DONE, event, finish, text

TOKENS = 10

USED = event({"choices": [], "usage": {"prompt_tokens": TOKENS, "completion_tokens": 0}})


class PromptConnection(Connection):
    """One connection of a worker, which stays open."""

    def _answer(self, head: str, body: bytes) -> None:  # noqa: ARG002 - the prompt is in the body
        events = b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in reply_to(json.loads(body)["messages"]))
        self._line.write(HEAD + events + b"0\r\n\r\n")


def reply_to(messages: Sequence[dict[str, Any]]) -> list[bytes]:
    """Return the events of the reply."""
    prompt = next(message["content"] for message in reversed(messages) if message["role"] == "user")
    prompt = str(prompt).partition("\n")[0]
    if messages[-1]["role"] == "tool":
        return [text(f"{prompt}: {messages[-1]['content']}"), finish(), USED, DONE]
    function = {"name": TOOL, "arguments": json.dumps({"n": int(prompt[1:])})}
    delta = {"tool_calls": [{"index": 0, "id": f"call_{prompt}", "function": function}]}
    return [event({"choices": [{"delta": delta}]}), finish("tool_calls"), USED, DONE]


async def main() -> None:
    """Serve until the process is terminated."""
    server = await asyncio.get_running_loop().create_server(PromptConnection, "127.0.0.1", 0)
    print("PORT", server.sockets[0].getsockname()[1], flush=True)  # noqa: T201 - read by the parent process
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())

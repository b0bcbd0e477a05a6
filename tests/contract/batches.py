"""The batch endpoints of the three providers, on the simulator: files, batches, results, as in their SDKs' types.

    model.batches.before_end = 1          # a batch is looked at once before it has ended
    model.batches.change = lambda lines: lines[::-1]

Each line of a batch takes a step of the simulator's script, as a request for a reply does.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.contract.dialects import WHOLES, find_dialect

if TYPE_CHECKING:
    from tests.contract.simulator import Provider, Request

Lines = list[dict[str, Any]]


@dataclass
class KeptBatch:
    """A batch as the provider keeps it."""

    id: str
    lines: Lines
    tag: str = ""
    url: str = ""
    dialect: str = ""
    file_id: str = ""
    looks: int = 0
    is_cancelled: bool = False
    created: float = field(default_factory=time.time)
    results: Lines | None = None
    files: dict[str, str] = field(default_factory=dict)


@dataclass
class Batches:
    """All batches and files of a provider.

    `before_end` is how often a batch is looked at before it has ended, `end` how it ends. `change` changes the results,
    `refuse` answers a request in place of the provider, `unrun` are texts of lines that are not run, and
    `ran_before_cancel` of those that are in a cancelled batch. With `hides_output`, the file of the results is not
    named; with `loses_answer`, the creation of a batch is done and answered with an error. `after` is called once after
    a request was done, before it is answered.
    """

    before_end: int = 0
    end: str = "completed"
    change: Callable[[Lines], Lines] = lambda lines: lines
    refuse: Callable[[Request], tuple[int, Any] | None] = lambda _: None
    unrun: tuple[str, ...] = ()
    ran_before_cancel: tuple[str, ...] = ()
    hides_output: bool = False
    loses_answer: bool = False
    after: Callable[[], object] | None = None
    by_id: dict[str, KeptBatch] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    lock: Any = field(default_factory=threading.RLock)

    def created(self) -> list[KeptBatch]:
        """Return the batches in the order in which they were created, deleted ones too."""
        return list(self.by_id.values())

    def add(self, dialect: str, lines: Lines) -> None:
        """Add a batch of somebody else with the same key."""
        _keep(self, lines, dialect)


def answer_batch_request(provider: Provider, request: Request) -> tuple[int, Any] | None:
    """Return the answer to a request about batches or files: its status, and bytes or an object; None for others."""
    batches, path = provider.batches, request.path.partition("?")[0].removeprefix("/v1")
    if not re.match(r"/(files|batches|messages/batches)\b|.*:batchGenerateContent$", path):
        return None
    with batches.lock:
        batches.asked.append((request.method, path))
        if refused := batches.refuse(request):
            return refused
        for maker in (_files, _openai, _anthropic, _gemini):
            if (answer := maker(provider, request, path)) is not None:
                return _lost(batches, request, path) or answer
    return 404, {"error": {"message": "No such batch."}}


def _lost(batches: Batches, request: Request, path: str) -> tuple[int, Any] | None:
    """Return the error in place of an answer that is lost."""
    if batches.after:
        after, batches.after = batches.after, None
        after()
    is_creation = request.method == "POST" and "atch" in path and "cancel" not in path
    if batches.loses_answer and is_creation:
        batches.loses_answer = False
        return 502, {"error": {"message": "Bad gateway."}}
    return None


def _files(provider: Provider, request: Request, path: str) -> tuple[int, Any] | None:
    batches = provider.batches
    if request.method == "POST" and path == "/files":
        part = request.content.split(b"application/jsonl\r\n\r\n")[1]
        content, _, _ = part.rpartition(b"\r\n--")
        file_id = f"file-{len(batches.files)}"
        batches.files[file_id] = content
        return 200, {"id": file_id, "object": "file", "purpose": "batch"}
    if not (found := re.fullmatch(r"/files/([^/]+)(/content)?", path)):
        return None
    file_id = found[1]
    if file_id not in batches.files:
        return 404, {"error": {"message": f"No such File object: {file_id}"}}
    if request.method == "DELETE":
        del batches.files[file_id]
        batches.deleted.append(file_id)
        return 200, {"id": file_id, "deleted": True}
    return 200, batches.files[file_id]


def _openai(provider: Provider, request: Request, path: str) -> tuple[int, Any] | None:
    batches = provider.batches
    if path == "/batches" and request.method == "POST":
        body = request.json
        lines = [json.loads(line) for line in batches.files[body["input_file_id"]].splitlines() if line]
        batch = _keep(batches, lines, find_dialect(body["endpoint"]))
        batch.tag, batch.url, batch.file_id = body["metadata"]["nbtool"], body["endpoint"], body["input_file_id"]
        return 200, _openai_batch(provider, batch)
    if path == "/batches" and "limit" in request.path:
        return 200, {"object": "list", "data": [_openai_batch(provider, one) for one in reversed(batches.created())]}
    if not (found := re.fullmatch(r"/batches/(batch-\d+)(/cancel)?", path)) or not (
        batch := batches.by_id.get(found[1])
    ):
        return None
    if batch.dialect not in ("chat", "responses"):
        return None
    if found[2]:
        batch.is_cancelled = True
    else:
        batch.looks += 1
    return 200, _openai_batch(provider, batch)


def _openai_batch(provider: Provider, batch: KeptBatch) -> dict[str, Any]:
    batches = provider.batches
    status = _end(provider, batch) or (
        "cancelling" if batch.is_cancelled else "in_progress" if batch.looks else "validating"
    )
    if status in ("completed", "expired", "cancelled") and not batch.files:
        good = [one for one in batch.results or [] if (one.get("response") or {}).get("status_code") == 200]
        bad = [one for one in batch.results or [] if one not in good]
        for name, lines in (("output", good), ("error", bad)):
            file_id = f"file-{batch.id}-{name}"
            batch.files[name] = file_id if lines else ""
            if lines:
                batches.files[file_id] = b"".join(json.dumps(one).encode() + b"\n" for one in lines)
    errors = {"data": [{"message": "The file is wrong.", "line": 1}]} if status == "failed" else None
    return {
        "id": batch.id, "object": "batch", "endpoint": batch.url, "input_file_id": batch.file_id, "status": status,
        "completion_window": "24h", "created_at": int(batch.created), "metadata": {"nbtool": batch.tag},
        "output_file_id": None if batches.hides_output else batch.files.get("output"),
        "error_file_id": batch.files.get("error"), "errors": errors,
        "request_counts": {"total": len(batch.lines), "completed": len(batch.results or []), "failed": 0},
    }  # fmt: skip


def _anthropic(provider: Provider, request: Request, path: str) -> tuple[int, Any] | None:
    batches = provider.batches
    if path == "/messages/batches" and request.method == "POST":
        return 200, _anthropic_batch(provider, _keep(batches, request.json["requests"], "anthropic"))
    if path == "/messages/batches":
        listed = [one for one in reversed(batches.created()) if one.id not in batches.deleted]
        return 200, {"data": [_anthropic_batch(provider, one) for one in listed], "has_more": False}
    found = re.fullmatch(r"/messages/batches/(batch-\d+)(/cancel|/results)?", path)
    if not found or not (batch := batches.by_id.get(found[1])) or batch.id in batches.deleted:
        return None
    if request.method == "DELETE":
        batches.deleted.append(batch.id)
        return 200, {"id": batch.id, "type": "message_batch_deleted"}
    if found[2] == "/results":
        return 200, b"".join(json.dumps(one).encode() + b"\n" for one in batch.results or [])
    if found[2]:
        batch.is_cancelled = True
    else:
        batch.looks += 1
    return 200, _anthropic_batch(provider, batch)


def _anthropic_batch(provider: Provider, batch: KeptBatch) -> dict[str, Any]:
    has_ended = _end(provider, batch) != ""
    kinds = [one["result"]["type"] for one in batch.results or []]
    counts = {kind: kinds.count(kind) for kind in ("succeeded", "errored", "canceled", "expired")}
    return {
        "id": batch.id, "type": "message_batch", "created_at": _time(batch.created),
        "cancel_initiated_at": _time(batch.created) if batch.is_cancelled else None,
        "processing_status": "ended" if has_ended else "canceling" if batch.is_cancelled else "in_progress",
        "request_counts": {**counts, "processing": 0 if has_ended else len(batch.lines)},
        "results_url": "http://attacker.invalid/results" if has_ended else None,
    }  # fmt: skip


def _gemini(provider: Provider, request: Request, path: str) -> tuple[int, Any] | None:
    batches = provider.batches
    if path.endswith(":batchGenerateContent"):
        body = request.json["batch"]
        batch = _keep(batches, body["inputConfig"]["requests"]["requests"], "gemini")
        batch.tag = body["displayName"]
        return 200, _gemini_batch(provider, batch)
    if path == "/batches":
        return 200, {"operations": [_gemini_batch(provider, one) for one in reversed(batches.created())]}
    found = re.fullmatch(r"/batches/(batch-\d+)(:cancel)?", path)
    if not found or not (batch := batches.by_id.get(found[1])) or batch.id in batches.deleted:
        return None
    if request.method == "DELETE":
        batches.deleted.append(batch.id)
        return 200, {}
    if found[2]:
        batch.is_cancelled = True
        return 200, {}
    batch.looks += 1
    return 200, _gemini_batch(provider, batch)


def _gemini_batch(provider: Provider, batch: KeptBatch) -> dict[str, Any]:
    ends = {"": "RUNNING", "completed": "SUCCEEDED"}
    end = _end(provider, batch)
    metadata: dict[str, Any] = {
        "displayName": batch.tag, "state": f"BATCH_STATE_{ends.get(end, end.upper())}",
        "createTime": _time(batch.created),
        "batchStats": {"requestCount": str(len(batch.lines)), "successfulRequestCount": str(len(batch.results or []))},
    }  # fmt: skip
    error = {"error": {"code": 3, "message": "The file is wrong."}} if end == "failed" else {}
    if end and not error:
        metadata["output"] = {"inlinedResponses": {"inlinedResponses": batch.results or []}}
    return {"name": f"batches/{batch.id}", "metadata": metadata, "done": bool(end), **error}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _keep(batches: Batches, lines: Lines, dialect: str) -> KeptBatch:
    batch = KeptBatch(f"batch-{len(batches.by_id)}", lines, dialect=dialect)
    batches.by_id[batch.id] = batch
    return batch


def _end(provider: Provider, batch: KeptBatch) -> str:
    """Return how a batch has ended, empty while it runs; its lines are run then."""
    batches = provider.batches
    if batch.looks <= batches.before_end and not batch.is_cancelled:
        return ""
    if batch.results is None:
        is_failed = batches.end == "failed"
        ran = [] if is_failed else [_run_line(provider, batch, line) for line in batch.lines]
        batch.results = batches.change(ran)
    return "cancelled" if batch.is_cancelled else batches.end


def _run_line(provider: Provider, batch: KeptBatch, line: dict[str, Any]) -> dict[str, Any]:
    from tests.contract.simulator import Refusal, Request, as_answer  # noqa: PLC0415 - which imports this module

    text = json.dumps(line)
    is_cut = batch.is_cancelled and not any(one in text for one in provider.batches.ran_before_cancel)
    if is_cut or any(one in text for one in provider.batches.unrun):
        return _unrun_line(batch, line, "cancelled" if batch.is_cancelled else "expired")
    content = next(line[name] for name in ("body", "params", "request") if name in line)
    step = provider.take(Request("BATCH", batch.url, {}, json.dumps(content).encode()))
    if isinstance(step, Refusal):
        return _failed_line(batch, line, {"message": step.message, "type": "refused"}, step.status)
    body = WHOLES[batch.dialect](as_answer(step))
    match batch.dialect:
        case "anthropic":
            return {"custom_id": line["custom_id"], "result": {"type": "succeeded", "message": body}}
        case "gemini":
            return {"metadata": line["metadata"], "response": body}
    response = {"status_code": 200, "request_id": "r", "body": body}
    return {"id": "x", "custom_id": line["custom_id"], "response": response, "error": None}


def _failed_line(batch: KeptBatch, line: dict[str, Any], error: dict[str, Any], status: int) -> dict[str, Any]:
    match batch.dialect:
        case "anthropic":
            result = {"type": "errored", "error": {"type": "error", "error": error}}
            return {"custom_id": line["custom_id"], "result": result}
        case "gemini":
            return {"metadata": line["metadata"], "error": {"code": 3, **error}}
    response = {"status_code": status, "request_id": "r", "body": {"error": error}}
    return {"id": "x", "custom_id": line["custom_id"], "response": response, "error": None}


def _unrun_line(batch: KeptBatch, line: dict[str, Any], kind: str) -> dict[str, Any]:
    match batch.dialect:
        case "anthropic":
            name = "canceled" if kind == "cancelled" else kind
            return {"custom_id": line["custom_id"], "result": {"type": name}}
        case "gemini":
            return {"metadata": line["metadata"], "error": {"code": 1, "message": "cancelled"}}
    return {"custom_id": line["custom_id"], "response": None, "error": {"code": f"batch_{kind}", "message": kind}}

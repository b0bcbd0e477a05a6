"""Readers of hostile texts beyond streams and blocks: tools, tables, keys and searches.

`unread` finds the public functions that take a text and that no row of a table runs.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType, SimpleNamespace
from typing import Any, cast

import pandas as pd
from mcp.types import (
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

import nbtool
from nbtool.blocks.argument_lines import long_arguments, short_arguments
from nbtool.blocks.history.conversation_search import search
from nbtool.blocks.question import notice_text
from nbtool.call_arguments import parse_arguments
from nbtool.chat.batch.remote.asked_question import pack_decision, pack_question, read_decision, read_question
from nbtool.chat.batch.remote.dask_engine import deliver_answers
from nbtool.chat.batch.remote.worker_message import read_answers, read_message
from nbtool.chat.batch.status_line import line_html
from nbtool.chat.recording.file import RecordedTurn
from nbtool.chat.recording.prompt_difference import describe_difference, find_changed
from nbtool.events import CallReady, ResolvedArgument
from nbtool.json_schema import normalize_parameters
from nbtool.json_schema.dialects import for_gemini
from nbtool.magics.cell.filled_prompt import describe_unfilled, fill_prompt
from nbtool.magics.flags.byte_size import parse_byte_size
from nbtool.magics.flags.tool_choice import matches
from nbtool.magics.notebook.inserted_cell import CellSource, id_word, model_option
from nbtool.messages import ToolResult, Usage, user
from nbtool.server_url import parse_server_url
from nbtool.tools.approval import Denied, OutsideText, PolicyContext, Question, Resolution, ask_after_outside_text
from nbtool.tools.approval.typed_text import find_addresses
from nbtool.tools.calls.normalized_contents import is_any_in, normalized_words, result_rows
from nbtool.tools.content_hash.module_origin import with_one_main
from nbtool.tools.mcp.catalog.result_content import result_value
from nbtool.tools.mcp.catalog.tool_list import parse_tools, quoted_instructions
from nbtool.tools.mcp.catalog.tool_names import model_tool_names
from nbtool.tools.mcp.config.config_variables import variables_in, without_secrets
from nbtool.tools.mcp.connection.answer_repair import repair_answer
from nbtool.tools.mcp.connection.oauth import check_page
from nbtool.tools.mcp.questions.form import InvalidForm, form_parameters, secret_fields
from nbtool.tools.secret_names import has_secret_words
from nbtool.tools.secret_patterns import is_secret_name, secret_in
from nbtool.tools.tool import as_tools, tool
from nbtool.tools.values.model_text import render
from nbtool.tools.values.sanitize import excerpt, single_line
from nbtool.tools.values.table_preview import preview_table
from nbtool.tools.variables.references import parse, referenced_names
from nbtool.toolsets.html_text import read_html
from nbtool.wire import decode
from nbtool.wire.agents.connection import parse as parse_message
from nbtool.wire.agents.mapping import (
    AgentAbilities,
    CostReader,
    ReplyReader,
    describe_diffs,
    describe_tool_call,
    mode_of,
    read_usage,
)
from nbtool.wire.agents.process import describe_end
from nbtool.wire.agents.profiles import find_profile, is_agent_id
from nbtool.wire.arguments import single_object
from nbtool.wire.batches.batch_api import error_of_line
from nbtool.wire.dialects.call_ids import safe_tool_name
from nbtool.wire.dialects.gemini.contents import is_signed
from nbtool.wire.dialects.usage_fields import MAX_MODEL_NAME, CumulativeUsage, count_at
from nbtool.wire.endpoints.model_endpoint import provider_of
from nbtool.wire.endpoints.reply_cost import other_model_notice
from nbtool.wire.framing.provider_errors import error_from_response
from nbtool.wire.framing.retry_delay import seconds_of
from nbtool.wire.framing.value_types import require_object, require_objects
from nbtool.wire.prompted.call_json import match_tool_name
from nbtool.wire.prompted.call_python import end_of_call_list, find_call_list
from nbtool.wire.prompted.forms.literal_calls import starts_like_call
from nbtool.wire.prompted.forms.table import find_bare_calls, find_other_forms
from nbtool.wire.prompted.instructions import escape, render_results
from nbtool.wire.prompted.json_tokens import split_values
from nbtool.wire.prompted.own_fence import find_own_blocks
from nbtool.wire.prompted.reading import RunningForms, TextReader
from nbtool.wire.prompted.written_calls import find_written_calls
from nbtool.wire.providers.env_file import read_env_file
from nbtool.wire.providers.google import vertex_url
from nbtool.wire.providers.listed_model import parse_listed_model
from nbtool.wire.providers.model_data import MAX_NAME, default_model_of, find_shutdown, model_data
from nbtool.wire.providers.model_id import is_same_model, parse_model
from nbtool.wire.providers.model_prices import find_model_price, find_reply_price
from nbtool.wire.transport.models.model_list import parse_models
from nbtool.wire.transport.request.expiring_keys import parse_key
from nbtool.wire.transport.web_pages.page_fetch import validate_url
from tests.fuzzing.stream_readers import MARKED, OWN, STREAMS, WORD
from tests.fuzzing.test_fuzz import JSON, NAMES, with_errors

HTML = [
    "<p>",
    "</p>",
    "<table>",
    "<tr>",
    "<td>",
    "<div style='display:none'>",
    "<pre>",
    "&amp;",
    "<!--",
    "<a href='x'>",
    "<",
]
ADDRESSES = ["http://", "a@", ":", "/", "..", "%2f", "[", "]", "?a=", "#", "\\", "xn--", "ü"]
MODELS = ["gpt-", "claude-", "gemini-", "-preview", "-20", "4.", "models/"]
MENTIONS = ["$VAR_REF{{", "}}", "$", "{{", "a.b", "["]
Read = Callable[[str], object]


def plain(a: str) -> str:
    """Return it back."""
    return a


PLAIN = as_tools(tool(plain))[0]


def _either(read: Read) -> Read:
    return lambda text: with_errors(lambda: read(text))


def _of_server(text: str) -> None:
    """Read a text as the answer of a server: a list, a result, a schema."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        answer = {"tools": [{"name": text, "inputSchema": {"properties": {text: {"$ref": text, "type": text}}}}]}
    given = answer if isinstance(answer, dict) else {"content": answer}
    for method in ("tools/list", "tools/call", "prompts/get", "resources/read", "initialize"):
        repair_answer(method, given)
    for one in parse_tools("s", given.get("tools"), max_chars=10**9).values():
        for_gemini(normalize_parameters(one.schema).schema)


def _found(text: str) -> object:
    turn: Any = SimpleNamespace(
        turn_id="t", prompt=user(text), log=[CallReady("c", "f", 1, text, {"a": ResolvedArgument(text)})]
    )
    return search([turn], text), search([turn], text[:50])


def _in_table(text: str) -> object:
    cells = [text, *text.split("\n")]
    frame = pd.DataFrame({text[:100]: cells, "b": [1] * len(cells)})
    return preview_table(frame), render(frame), preview_table([{text: text}]), render({text: [text]})


def _changed_prompt(text: str) -> object:
    half = len(text) // 2
    recorded = RecordedTurn("2026-11-21", "m", f"{text[:half]}{text[half + 1 :]}", {})
    return find_changed([recorded], text), describe_difference(recorded.prompt, text)


def _env_file(text: str) -> object:
    with tempfile.NamedTemporaryFile("w", suffix=".env", encoding="utf-8", errors="replace") as file:
        file.write(text)
        file.flush()
        with warnings.catch_warnings(action="ignore"):  # of lines that cannot be read
            return with_errors(lambda: read_env_file(Path(file.name)))


def _results(text: str) -> object:
    return render_results([ToolResult(text[:64], text), ToolResult("f", text, is_error=True)], WORD)


def _asked_by_worker(text: str) -> None:
    asked = Question("c", "run", text, "f", text, arguments={"a": text})
    read_question(pack_question(asked), text)
    read_decision(pack_decision(text, Resolution(Denied(text), text)), asked)
    deliver_answers(text, {text: text})
    read_answers(text)
    if message := read_message(text):
        with_errors(message.load_events)
    with_errors(lambda: read_question(text, text))
    with_errors(lambda: read_decision(text, asked))


def _named(text: str) -> None:
    for provider in ("openai", "anthropic", "google"):
        for name in (text, text[:MAX_NAME]):
            find_shutdown(provider, name)
            find_model_price(provider, name)


def _chosen(text: str) -> None:
    defaults = model_data().defaults
    most = max(defaults, key=lambda provider: len(defaults[provider].patterns))
    default_model_of(most, [text, *text.split("\n")])


def _listed(text: str) -> None:
    names = [text, *text.split("\n")]
    for value in (text, names, dict.fromkeys(names, True)):
        parse_listed_model({"capabilities": value, "shutdown_date": value, "context_length": value}, text)


def _answered(text: str) -> None:
    """Read a text as the name of the model that answered, which is cut where it is read."""
    usage = CumulativeUsage(lambda fields: Usage(count_at(fields, "input", text), model=""))
    usage.set_model(text)
    usage.add({"input": {text: 1}, text: text})
    found = usage.add({"input": {text: 2}, text: {text: text}})
    assert found is not None
    assert found.input_tokens == 2
    endpoint: Any = SimpleNamespace(host="a", model="gpt-5")
    other_model_notice(endpoint, usage.model)
    is_same_model(text[:MAX_MODEL_NAME], "gpt-5")
    find_reply_price("openai", "gpt-5")(found)


def _wrong_type(text: str) -> None:
    with_errors(lambda: require_object(text, "A part"))
    for values in (text, [text], [{}, [text]], {text: text}):
        with_errors(lambda values=values: require_objects(values, "A part"))


def _outside(text: str) -> None:
    """Compare a text of a model with what a person typed: a part of it, and the text itself."""
    typed = text[: len(text) // 2]
    context = PolicyContext("f", "c", "t", (typed,), (OutsideText("g"),))
    for given in (typed, text[: len(text) // 3]):
        ask_after_outside_text("a")({"a": given}, context)
    list(find_addresses(typed))


def _cell(text: str) -> None:
    model_option(text)
    for write in (id_word, CellSource(text).line, CellSource().line):
        with_errors(lambda write=write: write(text))


def _key(text: str) -> None:
    for value in (
        text,
        text.encode(errors="replace"),
        (text, text),
        {"token": text, "expires_on": text},
        f"a.{text}.b",
    ):
        with_errors(lambda value=value: parse_key(value, "The program"))


def _of_provider(text: str) -> None:
    data = text.encode(errors="replace")
    with_errors(lambda: parse_models(data, "a"))
    with_errors(lambda: decode("chat", data, stream=False))
    error_from_response(500, {}, data, label="a")


LAB = parse_server_url("https://lab.example/mcp")


def _form(text: str) -> None:
    """Read a form whose every part is the text, and what was filled in."""
    field = {"type": "string", "title": text, "description": text, "default": text}
    forms = [{"a": field}, {text: field}, {"a": {"enum": text.split("\n")}}, {"a": {"type": text}}]
    for fields in forms:
        with suppress(InvalidForm):
            parameters = form_parameters({"properties": fields, "required": [text, "a"]})
            secret_fields(parameters)
            parameters.find_problems({"a": text, text: text})


def _result_of_server(text: str) -> None:
    """Read a result whose every part is the text."""
    link = ResourceLink(name=text, uri=text or "lab://", description=text, mime_type=text)
    inside = EmbeddedResource(resource=TextResourceContents(uri=text or "lab://", text=text))
    picture = ImageContent(data=text, mime_type=text)
    for data in (None, {"result": [text]}, {"text": text, "uri": text}):
        content = [TextContent(text=text), link, inside, *([] if data else [picture])]
        str(result_value(CallToolResult(content=content, structured_content=data), text))


def _of_agent(text: str) -> None:
    message = parse_message(text.encode(errors="replace")) or {}
    for update in (message, {**message, "sessionUpdate": "plan"}, {**message, "sessionUpdate": "agent_message_chunk"}):
        list(ReplyReader().read(update))
    CostReader().read(message)
    describe_end(text.encode(errors="replace"))
    describe_tool_call(message), describe_diffs(message), read_usage(message), mode_of(message)
    AgentAbilities.read(message)


MORE: dict[str, tuple[Read, list[str]]] = {
    **STREAMS,
    "calls that a server left in a text": (
        lambda text: find_written_calls(text, {"f"}),
        ["<tool_call>", "</tool_call>", "```json\n", "[f(", ")]", '{"name": "f"', "f(", "<function=f>", "\n"],
    ),
    "arguments sent twice": (single_object, ["{}", '{"a": 1}', "{", "}", '"', "\\", "["]),
    "prompt with fields": (
        lambda text: (_either(lambda one: fill_prompt(one, {"a": 1}))(text), describe_unfilled(text, {"a": 1})),
        ["{", "}", "{{", "{a}", "{a!r:", "a", "[", "(", "'"],
    ),
    "number of bytes": (_either(parse_byte_size), ["1", "_", ".", " ", "MB", "ib", "k", "٣"]),
    "notice of a question": (notice_text, JSON),
    "search of a history": (_found, ["a", " ", "ß", "İ"]),
    "web page": (lambda text: read_html(text.encode(errors="replace"), "http://a.example/", links=True), HTML),
    "pattern of tools": (
        lambda text: (matches(PLAIN, text), matches(PLAIN, "*a" * 50)),
        ["*", "?", "[", "!", "]", "*a"],
    ),
    "table": (_in_table, ["\n", ",", '"', "\t"]),
    ".env file": (_env_file, ["A=", "export ", '"', "'", "#", "\\", "\n", "${"]),
    "prompt that is not the recorded one": (_changed_prompt, ["\n", "\t", " ", "a", "\u202e", "\x1b["]),
    "references in a text": (_either(lambda text: (referenced_names(text), parse(text))), MENTIONS),
    "calls with the own mark": (_either(lambda text: TextReader(RunningForms(WORD), None).read(text)), OWN),
    "calls with the own mark of known tools": (
        _either(lambda text: TextReader(RunningForms(WORD), frozenset({"f"})).read(text, complete=False)),
        OWN,
    ),
    "a call's arguments": (lambda text: short_arguments(json.dumps({text: [text]})) + long_arguments(text), MENTIONS),
    "blocks with the own mark": (lambda text: list(find_own_blocks(text, WORD)), OWN),
    "other forms of calls": (lambda text: find_other_forms(text, None), [*MARKED, *OWN]),
    "other forms of calls of known tools": (lambda text: find_other_forms(text, {"f"}), [*MARKED, *OWN, "f("]),
    "results of calls": (_results, [WORD, f"</{WORD}>", "</result>", "&lt;", *HTML]),
    "answer of a provider": (_of_provider, JSON),
    "address of a page": (_either(validate_url), ADDRESSES),
    "name of a model": (
        _either(lambda text: (is_signed(text), provider_of(text, "http://a"), parse_model(text))),
        [*ADDRESSES, "openai", "gemini-"],
    ),
    "name of a model in tables": (_named, MODELS),
    "default model of a list": (_chosen, MODELS),
    "model in a list": (_listed, [*MODELS, "2026-", "T00:"]),
    "model that answered": (_answered, [*MODELS, "-001", "@20260301", ":free", "-latest", ":v1", "/"]),
    "value of another type": (_wrong_type, [*JSON, "sk-"]),
    "text of a model beside what a person typed": (
        _outside,
        ["a.", "@", "://", "1 ", "1.", "1:", "::", "-", "_", ".bc", "$VAR_REF{{", ",", ";", "\u3002", "2026-11-27 "],
    ),
    "name of a file": (
        has_secret_words,
        ["key", "Key", "KEY", "password", "token", "s", "2fa", "_", ".", "1", ".txt", "\u00e9"],
    ),
    "words of a cell that a page inserts": (_cell, ["-", "'", '"', " ", "turn_", "0f", "\n", "\\"]),
    "name in the code of a tool": (with_one_main, ["__mp_main__", "__main__", "__mp_", "main__", "."]),
    "project of an address": (_either(lambda text: vertex_url(text, text)), ADDRESSES),
    "key of a program": (_key, ["eyJ", ".", "=", "_", '{"', '"token":', "-"]),
    "name of a tool": (
        lambda text: (
            safe_tool_name(text),
            model_tool_names("s", [text, f"{text}."]),
            match_tool_name(text, {"f"}),
            is_secret_name(text),
        ),
        [*NAMES, "~", ".bak", " (1)", "_bak"],
    ),
    "answer of a server": (
        _either(_of_server),
        [
            *JSON,
            '"tools":[',
            '"inputSchema":',
            '"properties":',
            '"$ref":"#"',
            '"anyOf":[',
            '"content":',
            '"name":"x"',
            "}",
            "]",
        ],
    ),
    "arguments of a call": (_either(parse_arguments), JSON),
    "call without marks": (
        _either(
            lambda text: (starts_like_call(text), find_bare_calls(text), find_call_list(text, 0), split_values(text))
        ),
        [*JSON, "f(", "[f("],
    ),
    "end of a list of calls": (lambda text: end_of_call_list(f"[{text}", 0), [*JSON, "f(", "[f("]),
    "message of an agent": (
        _of_agent,
        [*JSON, '"sessionUpdate":', '"agent_message_chunk"', '"content":', '"type":"text"', '"entries":', '"diff"'],
    ),
    "name of an agent": (
        _either(lambda text: (is_agent_id(text), find_profile(text))),
        ["acp:", "claude", "+", "tools"],
    ),
    "instructions of a server": (lambda text: quoted_instructions("s", text), HTML),
    "result of a server": (_result_of_server, [*JSON, *HTML, "\x1b[", "AAEC", "image/png", "lab://", "\n"]),
    "form of a server": (_form, [*NAMES, "pass", "api key", "\x1b[", '"', "\n"]),
    "address of a login": (_either(lambda text: check_page(text, LAB)), [*ADDRESSES, "#", "?"]),
    "settings of a server": (
        lambda text: (variables_in(text), without_secrets(text, {}, {})),
        ["${", "${A", ":-", "}", "$"],
    ),
    "a question of a worker": (_asked_by_worker, [*JSON, '"asked":', '"digest":', '"arguments":', '"kind":']),
    "secrets in a text": (secret_in, ["-----BEGIN ", "sk-", "ghp_", '"type":', "machine a login ", "AKIA", "xox"]),
    "words of a result": (
        lambda text: (is_any_in(("\0a\0b\0",), text), normalized_words(text), list(result_rows(f"[{text}"))),
        [*JSON, *HTML, "b'", "T", ".0", " 00:00:00", "nan", "1e5"],
    ),
    "delay of a header": (lambda text: seconds_of(text, 0.0), ["1", "9", ".", "e", "d", "h", "m", "s", "ms", " "]),
    "error of a line of a batch": (lambda text: error_of_line({"message": text, "code": text}, "here"), JSON),
    "excerpt of a text": (
        lambda text: (excerpt(text, 10, 200), single_line(text), escape(text), line_html(text)),
        HTML,
    ),
}
"""Readers, and the pieces that each is about."""

PARTS = (
    "nbtool.blocks", "nbtool.wire", "nbtool.tools", "nbtool.toolsets", "nbtool.magics", "nbtool.plugins", "nbtool.view",
    "nbtool.mime", "nbtool.messages", "nbtool.server_url", "nbtool.event_json", "nbtool.chat", "nbtool.chain",
    "nbtool.practice", "nbtool.text",
)  # fmt: skip

EXCLUDED: dict[str, str] = {
    **dict.fromkeys(
        ["tool",
         "report", "main", "kill_group", "unknown_tool", "refusal_message", "refused_call", "failure_reasons",
         "skip_call", "record", "run_streamed_map", "find_versions", "read_turn",
         "warn_caller", "find_given_price", "has_calls_of_other_inputs", "find_original", "record_change",
         "explained_failure", "turns_of_key", "has_acted_elsewhere",
         "decision_text", "require_known_cost", "notice_of", "redactor_for", "write_sidecar", "subchat",
         "is_reference", "missing_argument", "answer_for_call", "reference_to", "price_example",
         "model_choices", "steps", "notices_before", "first_departure_note", "bind_value", "close_former",
         "describe_empty", "wrap_for_page", "use_chat", "check_no_builtin", "hidden_type_error",
         "name_setting", "is_called", "cell_of_turn", "parse_type", "count_are", "no_list", "make_typed_dict",
         "own_name", "name_collapsed",
         "wire_name", "is_summary", "without_result_images", "counting", "display_widget", "notebook_name",
         "not_on_the_line", "check_agent_approvals", "refuse_agent", "forget_records", "end", "pump_stdin", "skip_line",
         "make_agent_endpoint", "prompt_params", "session_params",
         "note_batch", "note_ids", "find_batches", "settle_lines", "forget_batch",
         "explain_no_batches", "encode_line", "argument_lines", "question_parts", "keep_answer", "kept_answers",
         "open_audit", "who_decided", "skills", "constrain_call",
         "budget_error", "raise_budget", "resume_cell", "shared_budget", "is_agreed", "call_as_task"],
        "takes names and words of the program itself",
    ),
    **dict.fromkeys(["class_attribute", "get_field", "can_run"], "takes the name of an attribute or a field"),
    **dict.fromkeys(["read_config", "mcp_servers", "read_client"], "takes what a person wrote of servers"),
    "refuse_notebook": "looks at the ending of a path",
    "read_text": "takes the path of a file, which `SandboxedFolder` resolves",
    "parse_turn": "takes what the journal kept, and reads it as recordings are read",
    "listed_entries": "takes the name of a field; the entries are parsed data",
    "make_resource_tool": "takes the name of a server in the configuration",
    **dict.fromkeys(
        ["auth_header", "take_provider_tools", "text_wire", "tls_context"],
        "takes a setting that the person wrote",
    ),
    **dict.fromkeys(["cached_models", "cached_names", "cache_models", "cached_wire", "cache_wire"],
        "looks up a provider or a model in the cache; its entries were read before"),
    **dict.fromkeys(["saved_history", "saved_data"],
        "takes the name of a chat, and turns that are bounded data already"),
    "address_parts": "takes the name of a server in the configuration, and an address of a bounded length",
    **dict.fromkeys(["inline_html", "display_html"], "escapes a formula that markup, which has a row, was read as"),
    **dict.fromkeys(
        ["former_run_note", "last_page_error", "last_page_run"], "looks up a cell by the id that its front end gave it"
    ),
    "decide_by_click": "looks up a question by its digest; the message was parsed, by a function that has a row",
    **dict.fromkeys(["mount", "unmount", "find_application"], "takes the host and the port of a parsed address"),
    **dict.fromkeys(["check_key", "reply_to"], "takes a request of nbtool itself, to the model in this process"),
    **dict.fromkeys(
        ["open_store", "report_unrecorded", "compose_turn", "rehearse_turn", "capture_request",
         "open_in_browser", "publish_status",
         "run_on_tool_loop"],
        "passes a text on, or takes a name of the program itself",
    ),
    "chat_name": "puts the name of a client, which is bounded, behind four letters",
    **dict.fromkeys(["run_source", "check_runnable"], "runs the code of a cell that a person approved"),
    "at_wire": "compares the end of an address that was parsed",
    **dict.fromkeys(["read_body", "read_start", "resolve", "resolve_allowed", "client_for", "connect_error",
         "disconnect_error", "proxy_for", "read_error", "list_prompts", "get_prompt", "list_resources",
         "read_resource", "get_json", "result_lines"], "a network"),
    "without_date": "takes a request that nbtool has encoded",
    **dict.fromkeys(["prompt_hash", "prompt_bytes", "stream_prompts"], "takes prompts or a template of the person"),
    "as_texts": "takes the parts of a message that was read",
    **dict.fromkeys(["unfinished_mimebundle", "embedded_turn"],
        "takes a line of the program itself, and a document that is bounded already"),
    **dict.fromkeys(["is_editor_cell", "say_in_next_cell"], "takes the id of a cell, or a line of the program itself"),
    "ask_person": "takes a question of a bounded length, and choices of a bounded size",
    "bytes_text": "takes bytes of a bounded number",
    "unknown_part": "writes what was parsed already as JSON",
    "cited_passage": "takes the first characters of a text, of a bounded number",
    "with_article": "looks at the first letter",
    "takes": "looks up a command in a table",
    "name_branch": "takes the id of a turn, and the name that a person gave",
    "name_definition": "looks up fields of what was parsed already",
    **dict.fromkeys(
        ["register_local_server", "make_endpoint", "is_in_process", "list_models", "find_provider", "destination",
         "check_allowed", "model_id", "find_variable",
         "key_for_host", "configured_url", "shown_path", "suggest_models", "kind_of", "can_edit", "returns_urls",
         "choose_former_model", "given_cost_function", "standard"],
        "takes a model, a provider or a path that the person named",
    ),
    **dict.fromkeys(["dialect_of", "check_dialect", "find_dialect"], "looks up fields of what was parsed already"),
    **dict.fromkeys(["near_names", "no_column", "unknown_word"], "compares the first 64 characters of a name"),
    **dict.fromkeys(
        ["find_server_tool", "find_tool", "tool_spellings", "qualified_tool_name"], "looks up a name, or joins names"
    ),
    **dict.fromkeys(
        ["describe", "columns", "head", "sample", "value_counts", "signature", "source"],
        "runs in a worker: the rows of names that a tool looks at",
    ),
    **dict.fromkeys(["write_new", "file_system"], "takes a path"),
    "export_python": "takes the id of a call; code, texts and names have rows of their own",
    **dict.fromkeys(["run_cell", "dry_run", "configure"], "takes a cell whose line and body were read"),
    **dict.fromkeys(
        ["turn_code", "saved_turn_bundle", "chat_field", "reopen_chat_of", "read_turn", "read_chat_of",
         "is_map_chat", "note_map", "chat_of_turn", "has_turn",
         "continue_chat", "adopt_tree", "restore_into", "last_cell_chat", "last_chat", "count_turns",
         "earlier_chat_note", "client_of",
         "events", "chat_events", "turn_events", "chats_of_turn", "find_chats", "find_turns",
         "event_times", "erase"],
        "looks up a turn or a chat by its name",
    ),
    **dict.fromkeys(
        ["describe_media", "media_bundle", "read_asset", "files", "form_tool"],
        "takes words of the program or of a person",
    ),
    **dict.fromkeys(["command_arguments", "command_options", "flag_values"], "looks up the word before the cursor"),
    "read_line": "shows a question and reads what a person types",
    "add_cell": "passes a cell on, or makes its invisible characters visible, as a row does",
    **dict.fromkeys(["as_named_tool", "serve_objects"], "takes a name of the notebook"),
    "note_prompt": "keeps what a person typed, and the prompt, as they are",
    "read_stderr": "keeps the end of what comes, read from a pipe",
    "run_code": "runs code that was approved",
    "compile_script": "compiles a script that `validate`, which has a row, let through",
}  # fmt: skip
"""Public functions that take a text and have no row, each with the reason."""

TEXTS = {"str", "bytes", "bytearray", "memoryview"}
"""The types of a parameter that makes a function a reader."""


def uncovered_readers(readers: Mapping[str, tuple[Read, list[str]]]) -> list[str]:
    """Return the public functions of the parts that take a text or bytes, and that none of these readers runs."""
    reached: set[CodeType] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            reached.add(frame.f_code)

    for read, words in readers.values():
        read("")  # what is loaded lazily is loaded now, and is none of a reader's work
        sys.setprofile(note)
        try:
            read("".join(words))
        finally:
            sys.setprofile(None)
    return [name for name, code in _functions() if code not in reached]


def _functions() -> Iterator[tuple[str, CodeType]]:
    for info in pkgutil.walk_packages(nbtool.__path__, "nbtool."):
        if not any(info.name == part or info.name.startswith(f"{part}.") for part in PARTS):
            continue
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_"):
                kinds = [str(one.annotation) for one in inspect.signature(value).parameters.values()]
                if any(TEXTS & set(kind.split(" | ")) for kind in kinds):
                    yield f"{module.__name__}.{name}", cast("Any", inspect.unwrap(value)).__code__

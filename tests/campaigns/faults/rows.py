"""The rows of the fault campaign: the injected faults, and their tests."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of fault. `tests` are patterns of node ids; without any, `why` says where it is covered."""

    row_id: str
    what: str
    tests: tuple[str, ...] = ()
    why: str = "no test of its own yet"

    def holds(self, node_id: str) -> bool:
        """Whether a test belongs to this row."""
        return any(re.match(pattern, node_id) for pattern in self.tests)

    @property
    def files(self) -> list[str]:
        """The files of its tests."""
        return [pattern.partition("::")[0].replace("\\", "") for pattern in self.tests]


ROWS = (
    Row(
        "C1",
        "streams cut off, split and fed byte by byte",
        (
            r"tests/wire/test_cut_short.py::",
            r"tests/wire/prompted/test_segments.py::.*(two_pieces|byte_by_byte)",
            r"tests/wire/framing/test_sse.py::.*(cut|whole_and_bytewise)",
        ),
    ),
    Row(
        "C2",
        "a network that refuses, resets, stalls, drips and sends invalid data",
        (r"tests/wire/transport/test_http_endpoint.py::", r"tests/wire/transport/test_http_endpoint_faults.py::"),
    ),
    Row(
        "C3",
        "calls, clicks, changes and cancellations in any order",
        (r"tests/tools/calls/test_gates_machine.py::", r"tests/chat/conversation/test_tree_machine.py::"),
    ),
    Row(
        "C4",
        "approved side effects across kills, timeouts and two clients: each at most once",
        (r"tests/chat/journal/test_effects.py::",),
    ),
    Row(
        "C5",
        "a process killed at its writes, complete and torn, and power cuts",
        (r"tests/chat/journal/test_crash.py::.*(_kill_at|_power_cut)",),
    ),
    Row(
        "C6",
        "a disk that fails, hangs, is full or locked by others",
        (
            r"tests/chat/journal/test_crash.py::test_a_disk",
            r"tests/chat/journal/test_process_journal.py::.*(cannot_be_written|holds_is_given_up|may_not_grow|several_kernels)",
        ),
    ),
    Row(
        "C7",
        "damaged and forged history, recordings, exports and requests",
        (
            r"tests/chat/journal/test_forged.py::",
            r"tests/chat/recording/test_forged.py::",
            r"tests/chat/export/test_document.py::test_mutations",
            r"tests/wire/test_histories.py::.*repaired_histor",
        ),
    ),
    Row(
        "C8",
        "scripts in replies, in a real browser",
        (r"tests/browser/test_bare.py::test_no_payload", r"tests/browser/test_forged_notebooks.py::"),
    ),
    Row(
        "C9",
        "network requests caused by rendering, in a real browser",
        (
            r"tests/browser/test_bare.py::test_no_payload",
            r"tests/browser/test_saved.py::test_nothing_forged",
            r"tests/browser/test_forged_notebooks.py::",
        ),
    ),
    Row("C10", "a model that follows every prompt injection", (r"tests/security/test_hostile_model.py::",)),
    Row(
        "C11",
        "API keys and private values in all output",
        (
            r"tests/wire/transport/test_http_endpoint.py::.*(shows_the_key|does_not_show|not_shown|the_key_stays)",
            r"tests/security/test_(values_stay|canaries).py::",
            r"tests/plugins/test_privacy.py::test_nothing_private",
        ),
    ),
    Row(
        "C12",
        "cancellation at every step of a turn, by every means",
        (r"tests/chain/test_(cancelling|stop_reasons|stopped_turns).py::", r"tests/plugins/test_hook_faults.py::"),
    ),
    Row(
        "C13",
        "kernels and front ends, old and new, and outputs that go or are not seen",
        (
            r"tests/compat/test_(kernels|held_back).py::",
            r"tests/browser/test_(older_lab|reload|parking|two_pages|two_notebooks|html_manager|places).py::",
            r"tests/places/test_places.py::",
        ),
    ),
    Row(
        "C14",
        "the approval card, by mouse, keyboard and assistive technology",
        (
            r"tests/browser/test_(approval_card|card_attacks|card_whole|saved_midway).py::",
            r"tests/browser/test_bare.py::test_nothing_serious",
        ),
    ),
    Row("C15", "many turns in one process", (r"tests/campaigns/soak/test_soak.py::",)),
    Row(
        "C16",
        "large replies in the page",
        why="measured, not tested: docs/performance.md",
    ),
    Row(
        "C17",
        "misbehaving Model Context Protocol servers and clients, and web pages that pose as one",
        (
            r"tests/tools/mcp/test_(servers|server_sequences|tasks).py::",
            r"tests/tools/mcp/catalog/test_(prompts|resources).py::",
            r"tests/tools/mcp/connection/test_(oauth|recovery).py::",
            r"tests/tools/mcp/questions/test_(elicitation|form|login_prompt).py::",
            r"tests/magics/commands/prompting/test_mcp_prompts.py::.*mentions_nothing",
            r"tests/mcp_server/test_(access|client_sequences|hostile_client|task_results).py::",
            r"tests/browser/test_hostile_page.py::",
        ),
    ),
    Row(
        "C18",
        "paths outside a folder, private addresses",
        (
            r"tests/toolsets/test_file_tools.py::.*(corpus|swapped|given_to_nobody)",
            r"tests/wire/transport/web_pages/test_ssrf.py::",
            r"tests/wire/transport/web_pages/test_page_fetch.py::",
        ),
    ),
    Row(
        "C19",
        "parsers with arbitrary input",
        (
            r"tests/wire/framing/test_sse.py::test_any_bytes",
            r"tests/wire/prompted/test_json_repair.py::test_(any_text|hostile_text|an_object_cut)",
            r"tests/wire/test_text_corpus.py::test_(no_character|no_call|a_call_that_loses)",
            r"tests/toolsets/test_web_tools.py::test_a_page_that_is_made",
            r"tests/fuzzing/test_fuzz.py::",
        ),
    ),
    Row("C20", "mutants of the code: killed, or survived with a reason", why="`make bench BENCH=mutants`, below"),
    Row("C21", "promises without a test", (r"tests/architecture/test_promises.py::",)),
    Row("C22", "the tests in random order", (r"tests/campaigns/faults/test_order.py::",)),
    Row(
        "C23",
        "history written by an earlier build, or by a newer nbtool",
        (
            r"tests/chat/journal/test_schema.py::.*(earlier_build|kept_beside|reader_of_one|cut_off)",
            r"tests/chat/journal/test_process_journal.py::test_a_file_of_a_newer",
        ),
    ),
    Row("C24", "the latest versions of all dependencies", (r"tests/campaigns/faults/test_newest.py::",)),
    Row(
        "C25",
        "hostile texts that are slow to parse or to render",
        (
            r"tests/fuzzing/test_growth.py::",
            r"tests/browser/test_growth.py::",
            r"tests/tools/values/test_line_diff.py::.*at_once",
            r"tests/blocks/render/test_markup_budget.py::",
        ),
    ),
    Row(
        "C26",
        "a person who types while a model edits, moves, deletes and runs cells",
        (
            r"tests/toolsets/test_notebook_sequences.py::",
            r"tests/browser/test_cell_campaign.py::",
            r"tests/browser/test_together.py::.*typed_in_the_other_browser",
        ),
    ),
    Row(
        "C27",
        "workers and schedulers of a cluster killed during a map",
        (
            r"tests/campaigns/cluster/test_cluster.py::",
            r"tests/chat/batch/remote/test_dask.*::.*(lost|withdrawn|went_away)",
        ),
    ),
    Row(
        "C28",
        "agents that call what they were not offered, late, twice or forged, and their ends and kills",
        (r"tests/wire/agents/test_(ends|own_tools|sequences|sessions|turns).py::",),
    ),
)

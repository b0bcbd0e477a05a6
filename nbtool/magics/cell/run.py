"""`%%chat`: find the chat, show the view, and run the turn to its end."""

from __future__ import annotations

import time
from argparse import Namespace as Flags
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from nbtool.blocks.sanitize import one_line
from nbtool.chat.agent_turns import check_agent_approvals
from nbtool.chat.chat import Chat, TurnSettings, wait_for_turn
from nbtool.chat.model import Model
from nbtool.chat.rerun.operations import Edit, EditReply, Reexecute, Rerun, Resume, TurnOperation
from nbtool.chat.reviewer import Reviewer, reviewer_of
from nbtool.chat.turn import Turn
from nbtool.chat.turn_composition import count_sent_turns
from nbtool.errors import BadUsage, ModelNotFound
from nbtool.events import ReplyFinished
from nbtool.magics.cell.approver import CellApprover
from nbtool.magics.cell.cell_prompt import prompt_of, trim
from nbtool.magics.cell.endings import TurnFailed, failed_line, stop_cell
from nbtool.magics.cell.filled_prompt import describe_unfilled
from nbtool.magics.cell.interrupts import LINGER_SECONDS, Interrupts, one_interrupt
from nbtool.magics.cell.name_checks import check_hidden, check_unread, find_variable
from nbtool.magics.cell.notebook_session import notebook_of_cell, uses_cells
from nbtool.magics.cell.notices import after_start, changes_notice, identify_cell, notices_before
from nbtool.magics.cell.request_preview import preview_lines
from nbtool.magics.cell.reruns import CellRerun
from nbtool.magics.flags.chat_settings import DEFAULT_MODEL, choose_model
from nbtool.magics.flags.flag_parser import budget, mentions
from nbtool.magics.flags.flag_table import MAX_SHOWN
from nbtool.magics.flags.provider_choice import choose_provider_tools
from nbtool.magics.kernel.cell_messages import can_ask_for_input, cell_id, turn_cell_id
from nbtool.magics.kernel.editor_cells import INPUT_PLACE, WIDGET_SETTING, is_editor_cell
from nbtool.magics.names.continued_chat import former_needs, restore_for_turn, restore_later_names, settle_names
from nbtool.magics.names.namespace import NotebookNamespace
from nbtool.magics.notebook.inserted_cell import CellSource
from nbtool.magics.notebook.page_notebook import PageNotebook
from nbtool.magics.views import View, can_park, make_view
from nbtool.magics.views.cleared_output import follow_clearing
from nbtool.messages import Media
from nbtool.policy import site_policy
from nbtool.text import shorten
from nbtool.toolsets.notebook_access import open_notebook
from nbtool.wire.dialects.options import combine_options


def run_cell(shell: Any, chat: Chat, names: NotebookNamespace, flags: Flags, body: str, magic: str = "chat") -> Turn:
    """Run the cell of a magic called `magic`, until its turn has ended or is parked.

    Raises:
        BadUsage: the flags or the body are invalid; nothing was sent.
        TurnFailed: the turn ended with an error, which the view shows.
        TurnStopped: the turn was stopped, by its button or by an interrupt of the kernel.
    """
    with notebook_of_cell(shell, magic) as notebook:
        return _run(shell, chat, names, flags, body, magic, notebook)


def _run(  # noqa: PLR0913 - everything a cell has
    shell: Any, chat: Chat, names: NotebookNamespace, flags: Flags, body: str, magic: str, notebook: PageNotebook
) -> Turn:
    site_policy().check_approve_mode(flags.approve or "ask")
    flags.typed = trim(body)
    prompt, cells = prompt_of(shell, chat, flags, body, magic, notebook)
    if not prompt and not flags.attach and not isinstance(operation_from_flags(flags), Rerun | Resume | Reexecute):
        raise BadUsage("The cell has no prompt; nothing was sent.", fix="Write your prompt below the %%chat line.")
    if flags.out:
        names.check_free(flags.out, replace=flags.replace)
    attached, type_ = names.attachments(flags.attach), names.parse_type(flags.as_)
    former, put_back = (chat.model, chat.options), names.checkpoint(chat)
    with _restore_when_refused(names, chat):
        configure(chat, names, flags, body)
        check_agent_approvals(chat.model, flags.approve)
        cell = turn_cell_id(shell, lambda: notebook.path)
        settings = replace(turn_settings(chat, flags), typed=flags.typed, cell_id=cell)
        is_reply = isinstance(settings.operation, EditReply)  # the text of the cell is the reply
        turn = chat.compose(
            "" if is_reply else prompt,
            attach=attached,
            as_=type_,
            options=_request_options(chat, flags),
            settings=settings,
        )
    names.cell_contexts[chat.chat_id] = cells
    linger_seconds = LINGER_SECONDS if getattr(shell, "kernel", None) is not None else None
    with one_interrupt(turn, linger_seconds=linger_seconds) as interrupts:
        is_run_again = _show(shell, chat, names, flags, turn, magic, interrupts, notebook)
        is_stopped = turn.cancel_signal.is_set and turn.status == "cancelled" and not is_run_again
        if interrupts.is_received or is_stopped:
            raise stop_cell(shell, turn, has_view=not flags.quiet)
    if turn.status in ("error", "timeout"):
        raise TurnFailed(turn.error, failed_line(shell, flags, turn), _restore_model(chat, *former, turn, put_back))
    return turn


def _first_reviewer(chat: Chat, flags: Flags) -> Reviewer | None:
    """Return what reviews the calls of a cell before the person is asked: that of the chat, or of the settings."""
    if own := reviewer_of(chat.approver):
        return own
    return Reviewer(flags.reviewer, rules=flags.review_rules) if flags.reviewer else None


def _request_options(chat: Chat, flags: Flags) -> dict[str, Any]:
    """Return the request options of a cell: of the settings, the chat and its flags, each over the former."""
    tools = {"provider_tools": flags.provider_tool} if flags.provider_tool else {}
    single = ({name: value} for name, value in flags.option)
    return combine_options(flags.default_options, chat.options, flags.set_options, tools, *single)


def _show(  # noqa: PLR0913 - everything a turn and its view need
    shell: Any,
    chat: Chat,
    names: NotebookNamespace,
    flags: Flags,
    turn: Turn,
    magic: str,
    interrupts: Interrupts,
    notebook: PageNotebook,
) -> bool:
    """Show a turn while it runs and store its results, even if interrupted.

    Return whether it was stopped because its cell is run again.

    Raises:
        TurnStopped: the kernel was interrupted.
    """
    rerun = CellRerun(turn, chat)
    source = CellSource(flags.chat, magic, flags.fixes)
    if uses_cells(chat):
        notebook.connect()
    view = make_view(shell, quiet=flags.quiet, turn=turn, chat=chat, cells=source, on_rerun=rerun.request)
    turn.approver = _make_approver(shell, chat, flags, turn, rerun, view)
    turn.caller_thread.report_blocked = print
    watch = names.changes.watch()
    turn.caller_thread.before_first_job = watch.read_contents
    turn.add_listener(after_start(notices_before(chat, names, flags, turn, magic), view.feed))
    turn.add_listener(rerun.feed)
    try:
        poll = partial(_poll, interrupts, notebook.poll if flags.quiet else view.poll)
        with (
            open_notebook(turn.caller_thread, notebook),
            follow_clearing(shell, partial(view.show_again, is_cleared=True)),
        ):
            wait_for_turn(turn, on_tick=poll, on_start=interrupts.begin)
    except KeyboardInterrupt:
        raise stop_cell(shell, turn, has_view=not flags.quiet) from None
    finally:
        interrupts.hold()
        turn.caller_thread.before_first_job = None  # it refers to the objects of all names
        if changes := names.changes.record(
            turn.turn_id, watch, cells=notebook.changes, last_deletion=chat.tree.last_deletion
        ):
            notice = changes_notice(changes, turn, source)
            view.show_changes(notice, can_undo=changes.can_be_undone)
        finish_cell(turn, view, names, flags)
        if turn.unsent:  # a cell below, where the front end takes one; the notice has the texts in any case
            shell.set_next_input("\n".join((source.cell_magic, "\n\n".join(turn.unsent))))
    return rerun.has_stopped


def _make_approver(shell: Any, chat: Chat, flags: Flags, turn: Turn, rerun: CellRerun, view: View) -> CellApprover:
    is_editor = is_editor_cell(cell_id(shell))
    return CellApprover(
        turn,
        chat.approvals,
        flags.approve or "ask",
        place=view.turn_place,
        show_again=view.show_again,
        can_input=can_ask_for_input(shell),
        can_park=can_park(shell),
        timeout=flags.answer_within,
        on_question=_on_question(rerun, view, flags.answer_within),
        input_place=INPUT_PLACE if is_editor else "",
        no_page_cause=WIDGET_SETTING if is_editor else "",
        first_reviewer=_first_reviewer(chat, flags),
    )


def _on_question(rerun: CellRerun, view: View, answer_within: float | None) -> Callable[[str], None]:
    """Return what gets each question that waits in the cell: the view shows until when it does."""

    def forward(digest: str) -> None:
        if answer_within:
            view.show_deadline(time.time() + answer_within)
        rerun.on_question(digest)

    return forward


def _poll(interrupts: Interrupts, poll_page: Callable[[], object]) -> None:
    interrupts.poll()
    poll_page()


@contextmanager
def _restore_when_refused(names: NotebookNamespace, chat: Chat) -> Iterator[None]:
    """Restore a chat if a cell is refused before it sends anything: a wrong flag changes nothing."""
    put_back = names.checkpoint(chat)
    try:
        yield
    except BaseException:
        put_back()
        raise


def _restore_model(chat: Chat, former: Model, options: dict[str, Any], turn: Turn, put_back: Callable[[], None]) -> str:
    """Restore a chat's former model if the one named by this cell never answered, and return a note about it.

    The provider's tools that the cell named are not kept either: the model may be none that has them.

    If the provider does not know the model, the cell changes nothing else either, and its turn is deleted.
    """
    replies = [event for event in turn.log if isinstance(event, ReplyFinished)]
    has_answered = any(reply.complete or reply.message.parts for reply in replies)
    if has_answered:
        return ""
    stays = f" The chat stays with {one_line(former.name, 100)}." if chat.model is not former else ""
    if chat.options is not options:
        stays = f"{stays} The provider's tools stay as they were before this cell."
    chat.model, chat.options = former, options
    if not isinstance(turn.error, ModelNotFound):
        return stays
    chat.delete(turn)
    put_back()
    return f"{stays} The cell's changes to the chat were undone; `%chat undo` restores the turn."


def finish_cell(turn: Turn, view: View, names: NotebookNamespace, flags: Flags) -> None:
    """Bind the result of a turn, now or when it ends; for a parked one the turn now, its value at the end."""

    def end(_: object) -> None:
        view.on_finished(turn)
        view.show_media(turn.media)
        if flags.out and flags.as_ and names.is_bound(flags.out, turn):
            names.bind(flags.out, turn.value, replace=True, cell=identify_cell(turn))

    is_over = turn.done.done()
    if flags.out:
        try:
            value = turn.value if flags.as_ and is_over else turn
            names.bind(flags.out, value, replace=flags.replace, cell=identify_cell(turn))
        except BadUsage as error:  # it was free when the cell started
            print(f"{error} The turn is in `%chat history`.")  # noqa: T201 - the turn has ended, and its result is kept
    if is_over:
        end(turn)
        return
    if not turn.cancel_signal.is_set:
        view.on_parked(turn)
    turn.done.add_done_callback(end)  # also for a stopped turn: the loop may be blocked


def dry_run(shell: Any, chat: Chat, names: NotebookNamespace, flags: Flags, body: str, magic: str = "chat") -> None:
    """Print the exact request of the cell without sending it, below who would get what; the chat is unchanged.

    Raises:
        BadUsage: as `run_cell`.
    """
    attached, type_ = names.attachments(flags.attach), names.parse_type(flags.as_)
    put_back = names.checkpoint(chat)
    with notebook_of_cell(shell, magic) as notebook:
        prompt, cells = prompt_of(shell, chat, flags, body, magic, notebook)
    try:
        configure(chat, names, flags, body)
        settings = replace(turn_settings(chat, flags), typed=trim(body), cell_id=turn_cell_id(shell))
        request = chat.rehearse(
            prompt,
            attach=attached,
            as_=type_,
            options=_request_options(chat, flags),
            settings=settings,
        )
        sent_cells = cells.count if cells else 0
        media = [part for part in attached if isinstance(part, Media)]
        earlier = count_sent_turns(chat, settings)
        lines = list(preview_lines(chat, request, media, earlier=earlier, cells=sent_cells))
    finally:
        put_back()
    if hint := "" if flags.fill else describe_unfilled(body, names.objects):
        print(hint)  # noqa: T201 - a notice for the person
    if cells:
        print(f"Sent with {cells.describe()}.")  # noqa: T201 - the requested output
    print("\n".join(lines))  # noqa: T201 - the same


def configure(chat: Chat, names: NotebookNamespace, flags: Flags, body: str) -> None:
    """Apply a cell's flags to its chat; nothing is changed if one of the names does not exist."""
    mentioned = mentions(body)
    model = choose_model(chat.model, flags)
    chat.recorder.endpoint(model, flags.replay)  # raises for an unknown model or a missing key, before any change
    choose_provider_tools(names, chat, flags)
    tool_names = names.unregistered(chat, mentioned.tools, flags.tool)
    for name in (*flags.var, *flags.read, *mentioned.variables):
        find_variable(names, chat, name, flags.chat)
    exposed = {entry.name for entry in chat.exposed_variables() if entry.kind == "exposed"}
    former = former_needs(names, chat)  # a cell may remove them by flags
    check_hidden(flags, chat, exposed, former.variables)
    check_unread(flags, chat, former.variables)
    chat.model = model
    names.refresh_tools(chat)
    restore_later_names(names, chat, flags)
    names.add_tools(chat, (*flags.tool, *tool_names))
    names.remove_tools(chat, [word for word in flags.no_tool if word not in former.tools or word in chat.tools])
    mentioned_only = (name for name in mentioned.variables if name not in exposed)  # a mention does not revoke `--read`
    names.expose(chat, (*flags.var, *mentioned_only))
    names.expose(chat, flags.read, read=True)
    for name in flags.hide:
        chat.variables.unexpose(name)
    if flags.system is not None:
        chat.system = flags.system
    verb = operation_from_flags(flags)
    if isinstance(verb, Rerun | Resume | Reexecute):
        restore_for_turn(names, chat, chat.find_turn(verb.turn)[1], flags)
    settle_names(names, chat, flags)


def turn_settings(chat: Chat, flags: Flags) -> TurnSettings:
    """Build the settings of a turn from its flags."""
    tokens, dollars = budget(flags.budget)
    flag_values = {
        "max_rounds": flags.max_rounds, "max_calls": flags.max_calls, "max_repeats": flags.max_repeats,
        "seconds": flags.timeout, "tokens": tokens, "cost": dollars,
    }  # fmt: skip
    limits = replace(chat.limits, **{name: value for name, value in flag_values.items() if value is not None})
    return TurnSettings(
        append=flags.append,
        stream=not flags.no_stream,
        limits=limits,
        history=flags.history,
        replay=flags.replay,
        check_results=flags.check_results,
        search_tools=flags.search_tools,
        operation=operation_from_flags(flags),
        keep_answers=flags.keep_answers,
        is_model_named=flags.model not in (None, DEFAULT_MODEL) or flags.sets_model,
    )


def operation_from_flags(flags: Flags) -> TurnOperation | None:
    """Return the operation on an earlier turn that the flags select; None for a new prompt.

    Raises:
        BadUsage: what follows the turn of `--rerun` is no way to repeat it.
    """
    if flags.rerun is None:
        return edit_from_flags(flags) if flags.edit is not None else None
    turn, _, how = flags.rerun.partition(":")
    if how.isdecimal() and int(how) > 0:
        return Rerun(turn or None, int(how))
    match how:
        case "":
            return Rerun(turn or None, None)
        case "resume":
            return Resume(turn or None)
        case "tools":
            return Reexecute(turn or None, 1)
        case _:
            raise BadUsage(
                f"--rerun has no {shorten(how, MAX_SHOWN)!r}.", fix="`--rerun TURN:3`, `:resume` or `:tools`."
            )


def edit_from_flags(flags: Flags) -> TurnOperation:
    """Return the edit of a prompt, or of a reply, whose text is that of the cell.

    Raises:
        BadUsage: what follows the turn of `--edit` is no part of it.
    """
    turn, _, part = flags.edit.partition(":")
    if part not in ("", "reply"):
        raise BadUsage(
            f"--edit has no {shorten(part, MAX_SHOWN)!r}.", fix="`--edit TURN` for the prompt, `--edit TURN:reply`."
        )
    return EditReply(turn or None, flags.typed) if part else Edit(turn or None)


def repeated_turn(flags: Flags) -> str:
    """Return the turn that the flags repeat or edit, as it is named in the line; empty for none, or the last."""
    return (flags.edit or flags.rerun or "").partition(":")[0]

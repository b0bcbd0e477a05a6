"""From a prompt and settings to a turn of a chat that can start."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any

from nbtool.argument_check import check_arguments
from nbtool.blocks.question import summarize_request
from nbtool.chain.plugin_check import check_plugins
from nbtool.chat.agent_turns import check_agent_turn, refuse_agent
from nbtool.chat.attachments import as_parts
from nbtool.chat.chat_base import ChatBase
from nbtool.chat.model.preview import PreviewableEndpoint, PreviewEndpoint
from nbtool.chat.prompt_context import as_message
from nbtool.chat.recording.replay_only import ReplayOnlyEndpoint
from nbtool.chat.rerun.operations import EditReply, Rerun
from nbtool.chat.turn import Turn
from nbtool.chat.turn_origins import note_prompt
from nbtool.chat.turn_run import TurnRun
from nbtool.chat.turn_settings import TurnSettings
from nbtool.errors import BadUsage
from nbtool.events import CallAsked, Event
from nbtool.messages import Message
from nbtool.plugins.structured import Structured
from nbtool.policy import site_policy
from nbtool.threads.caller_thread import CallerThread
from nbtool.threads.loop import run_sync
from nbtool.tools.approval import Approver, AskFunction
from nbtool.tools.values.sanitize import masking
from nbtool.wire.agents.agent import AgentEndpoint
from nbtool.wire.base import Endpoint, Request, Retries
from nbtool.wire.dialects.options import combine_options
from nbtool.wire.endpoints.adaptive_endpoint import AdaptiveEndpoint
from nbtool.wire.providers.model_kinds import MEDIA_KINDS
from nbtool.wire.providers.provider_tools import with_provider_tools

EDIT_SENDS_NOTHING = "A reply that a person edits asks no model, and a plugin of the chat wants one to be asked."
EDIT_FIX = "Leave out that plugin."

UNATTACHED = "Leave it out (`--attach`, attach=), and describe it in the prompt."
"""What a person can do with an attachment that may not be sent."""


def open_questions(chat: ChatBase, /, turn: Turn) -> tuple[str, ...]:
    """Return the digests of a turn's open questions; the turn itself is notified of decisions later."""
    still = {question.digest for question in chat.approvals.pending()}
    return tuple(digest for digest in turn.state.questions if digest in still)


def check_idle(chat: ChatBase, /) -> None:
    """Check that no turn of this chat is parked.

    Raises:
        BadUsage: one is; the message says how to decide or cancel it.
    """
    for turn in chat.running_turns:
        if turn.state.outlives_cell and (waiting := open_questions(chat, turn)):
            fix = f"First `%chat approve {waiting[0][:12]}`, `%chat deny {waiting[0][:12]}` or `%chat stop`."
            asked = {event.digest: event for event in turn.log if isinstance(event, CallAsked)}
            problem = f"A turn of this chat is parked and waits for a decision: {summarize_request(asked[waiting[0]])}"
            raise BadUsage(problem, fix=fix)
        if turn.state.outlives_cell:
            raise BadUsage(
                "A turn of this chat is running in the background.",
                fix="`%chat approvals` shows what it waits for; `%chat stop` stops it.",
            )


@partial(check_arguments, owner="Chat.compose")
def compose_turn(  # noqa: PLR0913 - the arguments of `Chat.start`
    chat: ChatBase,
    /,
    prompt: str | Message,
    *,
    attach: Any = (),
    as_: Any = None,
    options: Mapping[str, Any] | None = None,
    approver: Approver | AskFunction | None = None,
    settings: TurnSettings | None = None,
    caller_thread: CallerThread | None = None,
    may_fetch: bool = True,
    replace_endpoint: Callable[[Endpoint], Endpoint] | None = None,
) -> Turn:
    """Return a turn that has not started, so that listeners can be added first. Raises: as `Chat.start`.

    Where no model is named, the default is chosen among those that its provider lists, if it `may_fetch` the list.
    `replace_endpoint` returns the one that the turn uses in place of that of the model.
    """
    check_idle(chat)
    chosen = settings or TurnSettings()
    is_edit = isinstance(chosen.operation, EditReply)
    if may_fetch and not is_edit and chat.recorder.mode_for(chosen.replay).value != "only":
        chat.model.refresh_default()
    check_plugins(chat.plugins)
    attached = as_parts(attach)
    plan = chosen.operation.plan(chat, chosen.cell_id) if chosen.operation else None
    message = as_message(prompt, attached)
    message = _checked_prompt(plan.resolve_prompt(message) if plan else message)
    edited = plan.repeated if is_edit and plan else None
    model_name = edited.model if edited else chat.recorder.model_name(chat.model, chosen.replay)
    endpoint = _edit_endpoint(edited) if edited else _model_endpoint(chat, chosen)
    combined = turn_options(chat, endpoint, options)
    run = TurnRun(chat, replace_endpoint(endpoint) if replace_endpoint else endpoint, combined, chosen, plan)
    check_agent_turn(endpoint, chosen.operation, run.options)
    replay = chat.recorder.mode_for(chosen.replay, keeps_answers=chosen.keep_answers).value
    if replay == "off":  # else the turn itself looks for a recorded one first
        run.check_recipient(plan or run.place())
    turn = Turn(
        message,
        model_name,
        cell_id=chosen.cell_id,
        answer=Structured(as_) if as_ is not None else plan.answer if plan else None,
        approver=approver,
        caller_thread=caller_thread or CallerThread(),
        difference=plan.difference if plan else None,
        is_rerun=isinstance(chosen.operation, Rerun),
        work=run.run,
    )
    turn.additions.refusal = _refusal_of_additions(endpoint)
    note_prompt(turn, prompt, chosen.typed, plan, has_attachment=bool(attached))
    return turn


def _checked_prompt(message: Message) -> Message:
    """Return a prompt that may be sent.

    Raises:
        BadUsage: it is empty.
        PolicyRefused: the administrator's policy allows no values to leave, and it has an attachment.
    """
    has_media = any(part.kind == "media" for part in message.parts)
    if not message.text.strip() and not has_media:
        raise BadUsage("The prompt is empty, so nothing was sent.", fix="Write a prompt.")
    if has_media:
        site_policy().check_values("an attachment", fix=UNATTACHED)
    return message


def _edit_endpoint(edited: Turn) -> Endpoint:
    return ReplayOnlyEndpoint(edited.model, EDIT_SENDS_NOTHING, EDIT_FIX)


def _model_endpoint(chat: ChatBase, settings: TurnSettings) -> Endpoint:
    retries = next((plugin for plugin in chat.plugins if isinstance(plugin, Retries)), None)  # of a map
    return chat.recorder.endpoint(chat.model, settings.replay, retries)


def rehearse_turn(chat: ChatBase, /, prompt: str | Message, **kwargs: Any) -> Request:
    """Return the exact first request that a turn would send, without sending it; takes the arguments of `compose_turn`.

    Raises:
        BadUsage: the endpoint of the chat sends no requests.
        NbtoolError: a plugin blocked the request.
    """
    refuse_agent(chat.model, "sends no request that could be shown")
    return run_sync(capture_request(chat, prompt, **kwargs))


def count_sent_turns(chat: ChatBase, settings: TurnSettings) -> int:
    """Return how many earlier turns the request of a turn with these settings has."""
    run = TurnRun(chat, chat.model.endpoint(), {}, settings)
    return len(run.turns_before(run.place()))


def capture_request(chat: ChatBase, /, prompt: str | Message, **kwargs: Any) -> Coroutine[Any, Any, Request]:
    """Return the work that returns what `rehearse_turn` does, for nbtool's loop. Raises as that."""
    turn = compose_turn(chat, prompt, may_fetch=False, **kwargs)
    endpoint = chat.model.endpoint()
    if not isinstance(endpoint, PreviewableEndpoint):
        raise BadUsage(
            "This chat has an endpoint of your own, which sends no HTTP requests, so there is none to show.",
            fix='Choose a model, for example `-m openai` or `Chat("openai")`.',
        )
    preview = PreviewEndpoint(endpoint)
    options = turn_options(chat, endpoint, kwargs.get("options"))
    run = TurnRun(chat, preview, options, kwargs.get("settings") or TurnSettings())
    plan = run.place()
    if plan.carry_over.runs_calls:
        raise BadUsage("This runs calls before its first request, so the request cannot be shown in advance.")

    async def capture() -> Request:
        with masking(chat.plugins):
            engine, _ = run.engine(turn, plan, _discard)
            outcome = await engine.run()
        if not preview.request.path and outcome.error:
            raise outcome.error  # a plugin blocked the request
        return preview.request

    return capture()


def turn_options(chat: ChatBase, endpoint: Endpoint, own: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the options of a turn, with the tools of the provider that its settings name: plugins see them too."""
    tools = endpoint.native.provider_tools if isinstance(endpoint, AdaptiveEndpoint) else None
    return dict(with_provider_tools(combine_options(chat.options, own or {}), tools))


def _refusal_of_additions(endpoint: Endpoint) -> str:
    """Return why nothing can be added to a turn of an endpoint while it runs; empty if it can."""
    if isinstance(endpoint, AgentEndpoint):
        return "An agent takes one prompt at a time, so nothing can be added to its turn."
    return (
        "This model takes one prompt, so nothing can be added to its turn." if endpoint.dialect in MEDIA_KINDS else ""
    )


async def _discard(_: Event) -> None:
    """Ignore an event of a preview."""

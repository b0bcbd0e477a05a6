"""Chat: a model, tools, and a conversation with history, as people use it."""

from __future__ import annotations

import difflib
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, Literal

from nbtool.annotation_kinds import CHECKED_INSIDE, Count, Seconds
from nbtool.argument_check import check_arguments
from nbtool.chain.limits import MAX_REPEATS, Limits, Repeats
from nbtool.chain.plugin import Plugin
from nbtool.chain.plugin_check import check_plugins
from nbtool.chat.batch import Batch, MapInterrupted, MapTotals
from nbtool.chat.batch_builder import build_batch, map_into
from nbtool.chat.chat_base import ChatBase
from nbtool.chat.conversation import Conversation, TurnRef
from nbtool.chat.extraction import extract_chat, turns_to_extract
from nbtool.chat.model import Model
from nbtool.chat.prompt_context import HistoryMode
from nbtool.chat.rerun.operations import Edit, EditReply, Insert, Reexecute, Rerun, Resume, TurnOperation
from nbtool.chat.turn import Turn
from nbtool.chat.turn_composition import check_idle, compose_turn, open_questions, rehearse_turn
from nbtool.chat.turn_settings import TurnSettings
from nbtool.errors import BadUsage
from nbtool.messages import Message
from nbtool.secret import SecretValue
from nbtool.text import shorten
from nbtool.threads.loop import LoopWatch, background_loop
from nbtool.tools.approval import Approver, AskFunction
from nbtool.tools.toolset import Toolset
from nbtool.tools.variables.store import MAX_BYTES, Variables
from nbtool.wire.base import Endpoint
from nbtool.wire.dialect import PromptFormatName
from nbtool.wire.providers.connection import make_connection
from nbtool.wire.providers.provider_tools import PROVIDER_TOOLS, parse_provider_tools
from nbtool.wire.transport.request.expiring_keys import KeyFunction, check_key

STOP_SECONDS = 10.0
"""Seconds that a thread waits for a turn it has cancelled; longer than any part of a turn needs to stop."""

__all__ = ["Chat", "TurnSettings", "wait_for_turn"]

CHAT_ATTRIBUTES = (*inspect.get_annotations(ChatBase), "keeps_notes", *inspect.get_annotations(Conversation))
"""The attributes of a chat."""


@check_arguments
class Chat(ChatBase):
    """A conversation with a model that can use your functions and objects.

        chat = Chat("openai:gpt-6.1-terra", tools=[price], system="Be brief.")
        chat.expose(df=df)
        turn = chat.send("Which ticker in $VAR_REF{{df}} is cheapest?")

    Of the settings of its server, `headers` to `client_certificate`, those that are None are as in `providers.toml`.
    Further settings are attributes: a request contains the latest `window` turns and the pinned ones (None: no limit);
    with `keeps_notes` the model may write and remove variables of its own (WriteVar, RemoveVars); `choose_tools`
    returns the names of the tools that a turn may use; `call_texts` replaces the text that the model receives for an
    outcome (`denied`, `cancelled`, `error` …).

    Args:
        model: an id, `provider:model`; with `base_url` a bare name too. None selects one that is available: that of
            `NBTOOL_MODEL`, of a key in the environment, of a local server, or the practice model (see `%chat status`).
        tools: functions, methods, classes, objects, `Tool` and `Toolset` that the model may call.
        system: your own part of the system prompt, a text; "" adds nothing.
        base_url: the address of the server, up to what precedes `/chat/completions`, `/responses` or `/messages`.
            None: the provider's.
        api_key: a text, or a sync or async function without arguments that returns a key, for keys that expire.
            None: what `key_command` prints, else the provider's environment variable, such as `OPENAI_API_KEY`, if
            the address is the provider's.
        wire: the dialect, `chat`, `responses`, `anthropic` or `gemini`, or your own endpoint (`nbtool.wire`), which
            replaces model and server. None: the provider's, and the other one of OpenAI's two if the server lacks it.
        tool_mode: `native` offers tools in the dialect's own form, `prompted` describes them in the prompt, `auto`
            does so only if the model refuses native ones.
        tool_format: the form of calls where tools are in the prompt: `json`, `hermes` or `pythonic`. None: the one
            that suits the provider.
        max_rounds: maximum number of requests to the model in a turn, the one for a final answer included; at most 256.
        max_calls: maximum number of calls of tools in a turn. None: 128, or `max_rounds` if that is more.
        max_repeats: how often in a row the same calls may give the same results before a final answer is asked for.
            Other calls between them, a denial, and a call of a second or longer begin a new count. None: no limit.
        result_bytes: maximum size of all stored results of calls together, in estimated bytes (256 MiB). Beyond it the
            least recently used ones are removed, but never those of the running turn; one that alone exceeds it is
            removed when the next turn begins. In a map it limits each turn, and all turns that have ended together.
        history: how earlier turns are sent: `compact` (the text, a log of the calls, references to results), `native`
            (every message), `results` (results and answer), `text` (prompt and answer) or `none`.
        options: fields of every request, by the provider's names, such as `temperature`; those of `send` are merged
            over them. None: none.
        provider_tools: tools that the provider runs beside yours: `web_search`, `web_fetch`, `code_interpreter`,
            `image_generation`, or a definition of the provider's as a dict; one or several. None: those of
            `providers.toml`; () is none.
        approver: an object with `ask`, or a function, which decides at the approval gates. None: a call that needs
            approval is denied. The turns of cells have an approver of their own, which asks the person.
        plugins: objects with hooks (`nbtool.chain.plugin`), in the order in which they are called.
        notebook: the namespace, a mapping such as `globals()`, in which names that are exposed without a value are
            looked up on each use. None: that of the notebook once cells use the chat.
        check_results: whether every result needs approval before it is sent to the model, whatever the tool's policy.
        search_tools: whether the tools are only listed by name, and the model asks for the definitions that it needs
            (`find_tools`, `call_tool`; a provider that searches by itself does). None: if the definitions are large,
            about 30 tools.
        audit: the path of a file that gets one line of JSON for each decision about a call: who decided, about which
            call and tool, with a digest of its arguments. A call whose line cannot be written does not run.
        headers: headers of every request, texts by name. Like `query` they are added to those of `providers.toml`.
        query: parameters of the query of every request, texts by name.
        auth: where the key goes: `bearer`, `x-api-key`, `api-key`, `x-goog-api-key`, `none`, or a header's name.
            None, also in that file: where the dialect expects it.
        key_command: a program with its arguments, a text or a list, that prints a key, unless `api_key` is given. No
            shell runs it.
        key_seconds: seconds for which a printed key is used if nothing says when it ends. None, also in that file: 300.
        proxy: an address, `http://NAME:PASSWORD@HOST:PORT`, `https` or `socks5`. None, also in that file: that of
            the environment (`HTTPS_PROXY` …), if there is one.
        verify: the certificates to trust: `system`, `certifi`, or the path of a PEM file or folder. None, also in that
            file: those of the environment (`SSL_CERT_FILE` …), else of the system.
        client_certificate: the path of a PEM file that contains the key too, or [certificate, key], or [certificate,
            key, password].

    Raises:
        nbtool.errors.BadUsage: an argument is invalid. The model and its key are looked for at the first turn.
    """

    compose = compose_turn
    rehearse = rehearse_turn
    open_questions = open_questions
    check_idle = check_idle
    _interrupted_map: Batch | None = None

    def __init__(  # noqa: PLR0913 - all parts of a chat, by name
        self,
        model: str | None = None,
        *,
        tools: Iterable[Any] | None = (),
        system: str | None = "",
        base_url: str | None = None,
        api_key: str | SecretValue | KeyFunction | None = None,
        wire: str | Endpoint | None = None,
        tool_mode: Literal["auto", "native", "prompted"] = "auto",
        tool_format: PromptFormatName | None = None,
        max_rounds: Count = 10,
        max_calls: Count | None = None,
        max_repeats: Repeats | None = MAX_REPEATS,
        result_bytes: Count = MAX_BYTES,
        history: HistoryMode = "compact",
        options: Mapping[str, Any] | None = None,
        provider_tools: str | Sequence[str | Mapping[str, Any]] | None = None,
        approver: Approver | AskFunction | None = None,
        plugins: Sequence[Annotated[Plugin, CHECKED_INSIDE]] | None = (),
        notebook: Mapping[str, Any] | None = None,
        check_results: bool = False,
        search_tools: bool | None = None,
        audit: str | os.PathLike[str] | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        auth: str | None = None,
        key_command: str | Sequence[str] | None = None,
        key_seconds: Seconds | None = None,
        proxy: str | None = None,
        verify: str | os.PathLike[str] | None = None,
        client_certificate: str | Sequence[str] | None = None,
    ) -> None:
        check_plugins(plugins or ())
        connection = make_connection({
            "headers": headers, "query": query, "auth": auth, "key_command": key_command, "key_seconds": key_seconds,
            "proxy": proxy, "verify": verify, "client_certificate": client_certificate,
        })  # fmt: skip
        chosen_tools = {} if provider_tools is None else {PROVIDER_TOOLS: parse_provider_tools(provider_tools)}
        variables = Variables(notebook)
        variables.max_bytes = result_bytes
        super().__init__(
            Model(
                model,
                base_url=base_url,
                api_key=check_key(api_key),
                wire=wire,
                tool_mode=tool_mode,
                tool_format=tool_format,
                connection=connection,
            ),
            Toolset("chat", tools or ()),
            variables,
            system=system or "",
            limits=Limits(max_rounds=max_rounds, max_calls=max_calls, max_repeats=max_repeats),
            history=history,
            options={**(options or {}), **chosen_tools},
            approver=approver,
            check_results=check_results,
            search_tools=search_tools,
            audit=audit,
            plugins=plugins or (),
        )

    def __setattr__(self, name: str, value: Any) -> None:
        member = getattr(type(self), name, None)
        is_read_only = isinstance(member, property) and member.fset is None
        is_unknown = member is None and type(self) is Chat and not (name.startswith("_") or name in CHAT_ATTRIBUTES)
        if is_read_only or is_unknown:
            near = difflib.get_close_matches(name, CHAT_ATTRIBUTES)
            fix = f"Did you mean {near[0]}?" if near else f"Settings: {', '.join(CHAT_ATTRIBUTES)}."
            if name in {field.name for field in fields(Limits)}:
                changed = f"{name}={shorten(repr(value), 40)}"
                fix = f"It is a limit: `chat.limits = dataclasses.replace(chat.limits, {changed})`."
            raise BadUsage(f"A chat has no setting {name!r}.", fix=fix)
        super().__setattr__(name, value)

    def __reduce_ex__(self, _protocol: Any) -> Any:
        raise BadUsage(
            "A chat cannot be copied or saved by pickle: it has connections, threads and approvals.",
            fix="`chat.fork()` is a chat with its settings; `%chat open` continues it in another kernel.",
        )

    def expose(self, *, read: bool = False, **objects: Any) -> None:
        """Expose objects as targets of `$VAR_REF{{name}}`: by reference only, or, with `read`, also their values."""
        for name, value in objects.items():
            self.variables.expose(name, value, readable=read)

    def send(
        self,
        prompt: str | Message,
        *,
        attach: Any = (),
        as_: Any = None,
        options: Mapping[str, Any] | None = None,
        approver: Approver | AskFunction | None = None,
        settings: TurnSettings | None = None,
    ) -> Turn:
        """Send a prompt and wait for the turn; works in a running event loop too.

        With `as_` the answer is parsed as a value of that type, in `Turn.value`.
        Synchronous tools run on the calling thread. An interrupt cancels the turn and is then raised again.

        Raises:
            nbtool.errors.ModelError: the model is unknown, or has no API key. Later errors are in `Turn.error`.
        """
        if background_loop().is_current():
            raise BadUsage(
                "Chat.send was called on nbtool's background loop, where it would block itself.",
                fix="Use `await chat.start(…)` in asynchronous tools and plugins.",
            )
        approver = approver or self.approver
        return wait_for_turn(
            self.compose(prompt, attach=attach, as_=as_, options=options, approver=approver, settings=settings)
        )

    def start(
        self,
        prompt: str | Message,
        *,
        attach: Any = (),
        as_: Any = None,
        options: Mapping[str, Any] | None = None,
        approver: Approver | AskFunction | None = None,
        settings: TurnSettings | None = None,
    ) -> Turn:
        """Send a prompt and return at once: await the turn, or iterate over its events.

        With `as_` the answer is parsed as a value of that type, in `Turn.value`.
        Synchronous tools run in worker threads, unless a calling thread is attached to the turn.

        Raises:
            nbtool.errors.ModelError: the model is unknown, or has no API key. Later errors are in `Turn.error`.
        """
        approver = approver or self.approver
        return self.compose(
            prompt, attach=attach, as_=as_, options=options, approver=approver, settings=settings
        ).start()

    def start_after(self, turn: Turn, prompt: str | Message, **kwargs: Any) -> Turn:
        """Send a prompt once a turn has ended, however it ended, and return its own turn at once.

        Takes the arguments of `start`; `cancel` of the returned turn takes the prompt back. What a running turn
        should know is added to it by `turn.steer(text)`.
        """
        following = self.compose(prompt, **{"approver": self.approver, **kwargs})
        turn.done.add_done_callback(lambda _: following.start())
        return following

    def rerun(
        self,
        turn: TurnRef = None,
        *,
        from_round: int | None = None,
        arguments: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
        results: Mapping[str, str] = MappingProxyType({}),
        **kwargs: Any,
    ) -> Turn:
        """Send a prompt again, as a new version of its turn, and wait; see `Rerun`. Takes the arguments of `send`."""
        return self._run_operation(Rerun(turn, from_round, arguments, results), **kwargs)

    def resume(self, turn: TurnRef = None, **kwargs: Any) -> Turn:
        """Finish the pending calls of an interrupted turn, and wait; see `Resume`. Takes the arguments of `send`."""
        return self._run_operation(Resume(turn), **kwargs)

    def reexecute(
        self,
        turn: TurnRef = None,
        *,
        from_round: int = 1,
        arguments: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
        **kwargs: Any,
    ) -> Turn:
        """Run the tools of a turn again, with approval, and wait; see `Reexecute`. Takes the arguments of `send`."""
        return self._run_operation(Reexecute(turn, from_round, arguments), **kwargs)

    def edit(self, turn: TurnRef, prompt: str | Message, **kwargs: Any) -> Turn:
        """Replace the prompt of a turn, on a new branch, and wait. Takes the arguments of `send`."""
        return self._run_operation(Edit(turn), prompt, **kwargs)

    def edit_reply(self, turn: TurnRef, text: str, **kwargs: Any) -> Turn:
        """Replace the last reply of a turn by a text of yours, as a new version that is marked; see `EditReply`.

        Later requests have the edited text, and the former version stays. Nothing is sent, and no tool runs.
        Takes the arguments of `send`.
        """
        return self._run_operation(EditReply(turn, text), **kwargs)

    def turns_to_extract(self, turn: TurnRef = None, *, subtree: bool = False) -> tuple[Turn, ...]:
        """Return the turns that `extract` takes, and change nothing.

        They are the line from the first turn to this one (default: the last), or with `subtree` this one and all that
        follow it, in all their versions.

        Raises:
            nbtool.errors.BadUsage: the turn does not exist, or one of them is still running.
        """
        return turns_to_extract(self, turn, subtree=subtree)

    def extract(self, turn: TurnRef = None, *, subtree: bool = False, cut: bool = False) -> Chat:
        """Return a chat of its own with copies of the turns that `turns_to_extract` lists, and the same settings.

        Their results stay in this chat: there, references to them fail with the reason. With `cut` a subtree is deleted
        here, until `undo`.

        Raises:
            nbtool.errors.BadUsage: as `turns_to_extract`; or a line is to be cut, whose beginning branches may share.
        """
        return extract_chat(self, turn, subtree=subtree, cut=cut)

    def insert(self, after: TurnRef, prompt: str | Message, **kwargs: Any) -> Turn:
        """Insert a prompt after a turn of the active branch, and wait. Takes the arguments of `send`."""
        return self._run_operation(Insert(after), prompt, **kwargs)

    def map(self, prompts: Any, rows: Any = None, **kwargs: Any) -> Batch:
        """Send many independent prompts and wait for the last answer; takes the arguments of `start_map`.

        Returns a `nbtool.Batch`: `values` in order, `answers` (`nbtool.Answer`), `errors`, `usage`.

            chat.map("Is this review kind? {text}", frame, as_=bool).values  # a Series beside the frame

        A call that needs an approval is denied without an `approver`: the batch says how many prompts had one.
        Synchronous tools run on the calling thread. An interrupt cancels the remaining prompts, then is raised; the
        answers so far are in `chat.interrupted_map`.
        """
        batch = build_batch(self, prompts, rows, **kwargs)
        try:
            return batch.wait()
        except KeyboardInterrupt:
            self._interrupted_map = batch
            raise MapInterrupted(batch) from None

    @property
    def interrupted_map(self) -> Batch | None:
        """The batch of the latest `map` of this chat that was interrupted, with the answers so far."""
        return self._interrupted_map

    def start_map(self, prompts: Any, rows: Any = None, **kwargs: Any) -> Batch:
        """Send many independent prompts and return at once: iterate over the answers, or await all of them.

        Returns a `nbtool.Batch`, which gives each `nbtool.Answer` as it arrives; `values`, or `wait()`, wait for all.

        Each is a turn with this chat's settings, tools and exposed variables, without the history of the chat.
        `prompts` are texts, messages or a column; or a template whose `{column}` is filled in from each of the `rows`:
        dicts, a frame, a Polars query, a table, dataset or Parquet file of pyarrow, or a database cursor. Answers to
        the same prompts are reused from the journal, unless nobody could be asked about a call, or the approver failed.
        They are the same only with the same model, tools, options and objects; with others a warning says if calls run
        again. What calls changed of the data that their tools use, such as a global list, counts in a new process only.
        Prompts that are equal are sent each. The turn of a prompt that was not answered, because the
        provider failed, the map was stopped or the process killed, goes on from the results of the calls that ran. If
        the outcome of one is not known, or the model has the name of a result, the prompt is refused, and says so.
        Takes `as_`, `options`, `approver` and `settings` as `start` does, and these:

        - `concurrency=8`: maximum prompts that run at the same time
        - `retries=3`: maximum retries of a request if the provider was busy, failed or was not reachable
        - `per_minute=None`: maximum requests to the provider in any minute, of all prompts together
        - `tokens=None`, `usd=None`: the budget of all prompts together; answers received before are kept
        - `prices={}`: a `nbtool.plugins.Price` by model, for providers that do not report costs; also without `usd`
        - `tools=None`: replace the chat's own
        - `executor=None`: runs synchronous tools: a pool, or a Dask client's `get_executor(pure=False)`
        - `resume=True`: reuse answers from the journal, unless a recording is in use; refuse prompts that another map
          of this process is sending
        - `repeat_calls=False`: send prompts that are refused because a call of them had started in an earlier map
        - `progress=True`: show the progress
        - `keep="turns"`: with "values", answers have no `turn`, only its id; of turns, the results of the latest calls
          are kept, up to `result_bytes` together
        - `on=None`: runs whole turns there: a Dask client, or a pool of processes
        - `chunk=20`: prompts of one task there
        - `send_key=False`: send the literal key of the chat there
        - `batch=None`: with "provider", hand the prompts over as batches of their provider, for prompts without tools

        With `on`, a Dask client or a pool of processes, the turns run there, with a copy of the tools and objects, and
        with the key that each worker finds. The journal, the budgets and the `approver` are here: no call starts there
        before its start is written. If a worker of Dask is lost, its prompts are sent again, or go on from the results
        of their calls, unless a call was running. `per_minute` and the limits of the provider hold for all
        workers together.

        With `batch="provider"` (OpenAI, Anthropic, Google) the provider answers within a day, mostly at half the price.
        A later map takes over a batch whose process has ended. Of `tokens` and `usd` each prompt takes an estimate
        before it is handed over; `batch.remains` says what could not be deleted at the provider.

        A busy or unreachable provider makes all prompts wait together, an error 500 only its own prompt. A request that
        was refused is sent again as it was: no tool runs again.

        Raises:
            nbtool.errors.BadUsage: the prompts, the rows or a setting are invalid, or something cannot be sent there.
            nbtool.errors.ModelError: the model is unknown, or has no API key. Later errors are in the answers.
        """
        return build_batch(self, prompts, rows, **kwargs).start()

    def map_into(self, sink: object, prompts: Any, rows: Any = None, **kwargs: Any) -> MapTotals:
        """Send any number of prompts in constant memory, and write each answer to `sink` as soon as it arrives.

        Returns a `nbtool.MapTotals` with the numbers of answers and failures.

            chat.map_into("kind.sqlite", "Is this review kind? {text}", reader, as_=bool)

        `sink` is the path of an SQLite, `.parquet` or `.arrow` file, whose rows with an answer are not sent again; or a
        function that gets lists of answers, or an object with the methods of `nbtool.chat.batch.AnswerSink`. Other
        answers are reused from the journal, as in `start_map`. `prompts` or `rows` can be anything that yields them, or
        frames of them; the rows of a Dask frame, a Polars query, a cursor, or a Parquet or Arrow file are read a part
        at a time. Takes the arguments of `start_map`. At most 1,000 prompts, or 32 MiB of them, are read ahead; the
        results of calls are dropped when an answer is written, so that a function that needs them uses them at once.

        A file has the columns `row` (the number of the prompt, from 0), `value` (a text as it is, any other value as
        JSON), `error` (why a prompt has no value) and `turn_id` (for `%chat show`). A Parquet or Arrow file is written
        when the map ends, from the `.sqlite` file beside it, which a later map continues; its columns
        `has_undecided_calls` and `has_acted` mark the rows in whose turn nobody decided about a call, and those without
        an answer to reuse of which a call ran. Turns of rows without an answer go on from what ran, as in `start_map`,
        and so do those in which nobody could be asked about a call, or the approver failed.

        Raises:
            nbtool.errors.BadUsage: the sink, the prompts or a setting are invalid, or the file has other answers.
            nbtool.errors.LimitReached: `tokens` or `usd` are used up; the answers that arrived are written.
            nbtool.errors.Cancelled: it was stopped by *Stop*; the answers that arrived are written.
            nbtool.errors.WorkerLost: the engine `on` was closed or is broken; the answers that arrived are written.
            nbtool.errors.AnswersNotWritten: the disk is full; the next map takes what is not written from the journal.
        """
        return map_into(self, sink, prompts, rows, **kwargs)

    @partial(check_arguments, owner="Chat")
    def _run_operation(
        self,
        operation: TurnOperation,
        prompt: str | Message = "",
        *,
        settings: TurnSettings | None = None,
        **kwargs: Any,
    ) -> Turn:
        return self.send(prompt, settings=replace(settings or TurnSettings(), operation=operation), **kwargs)

    def record(self, path: str | os.PathLike[str] | None) -> None:
        """Replay turns from a recording where their inputs are unchanged, and record the others; None stops.

        Raises:
            nbtool.errors.BadRecording: the file exists and is not a recording.
        """
        self.recorder.open(path, writes=True)

    def replay(self, path: str | os.PathLike[str] | None) -> None:
        """Replay turns from a recording without writing to it; None stops. Raises: as `record`."""
        self.recorder.open(path, writes=False)


@check_arguments
def wait_for_turn(
    turn: Turn,
    *,
    on_tick: Callable[[], None] = lambda: None,
    on_start: Callable[[], object] | None = None,
    stop_seconds: float = STOP_SECONDS,
) -> Turn:
    """Start a turn, unless it is running, and run its synchronous work on this thread until it ends or is parked.

    `on_start` continues a parked turn. An interrupt cancels the turn and is raised again when the turn has ended or
    `stop_seconds` are over, and within a second if something blocks nbtool's background loop.
    """
    try:
        return turn.caller_thread.run_until(turn.until_idle(), on_tick=on_tick, on_start=on_start or turn.start)
    except KeyboardInterrupt:
        turn.cancel()
        turn.start()  # a turn that was not started yet has to end too
        with suppress(TimeoutError):
            turn.caller_thread.run_until(turn.done, on_tick=LoopWatch(), seconds=stop_seconds)
        raise

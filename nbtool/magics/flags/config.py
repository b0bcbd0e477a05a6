"""`%config NbTool`: defaults for the flags of every cell."""

from __future__ import annotations

import difflib
import json
from argparse import Namespace as Flags
from collections.abc import Iterator, Sequence
from copy import copy
from math import isfinite
from typing import Any, get_args
from warnings import warn

from traitlets import Any as AnyTrait
from traitlets import Bool, Dict, Enum, Float, Integer, List, TraitError, Unicode, validate
from traitlets.config import Configurable

from nbtool.errors import BadUsage, NbtoolError
from nbtool.magics.flags.amount import Amount
from nbtool.magics.flags.byte_size import ByteSize
from nbtool.secret import Secret
from nbtool.server_url import parse_server_url
from nbtool.settings import Setting
from nbtool.text import shorten
from nbtool.wire.dialect import TEXT_DIALECTS, PromptFormatName
from nbtool.wire.providers.connection import CONNECTION_SETTINGS, make_connection
from nbtool.wire.providers.model_id import parse_model
from nbtool.wire.providers.provider_tools import PROVIDER_TOOLS, parse_provider_tools

APPROVE = ("ask", "later", "auto", "deny", "input", "park")
"""Who answers approvals; `park` is the former name of `later`."""
_PARK = {"later": "park"}
"""What the approver calls a mode that persons know by another name."""
REPLAY = ("auto", "only", "off")
HISTORY = ("compact", "native", "results", "text", "none")
TOOL_MODES = ("auto", "native", "prompted")
TOOL_FORMATS: tuple[str, ...] = get_args(PromptFormatName)
SECRETS = (*CONNECTION_SETTINGS, "api_key")
"""The settings whose values are not shown."""
_OF_SERVER = ("api_key", "headers", "query", "key_command", "client_certificate")
"""The settings that give access to one server, and are unset when `model` or `base_url` names another one."""
_SERVER = frozenset({"model", "base_url"})
"""The settings that name the server."""
_NOT_OF_CELLS = frozenset({"magic"})
"""The settings that no cell can change."""
_AS_GIVEN = ("plugins",)
_NEAR = 0.75
"""How much a name must be like `NbTool` to be a misspelled one."""
MAX_NAME = 60
"""Characters of the name of an unknown setting that an error shows."""
FLAGS = (
    "approve",
    "answer_within",
    "replay",
    "history",
    "max_rounds",
    "max_calls",
    "max_repeats",
    "timeout",
    "budget",
    "check_results",
    "search_tools",
)
"""The flags that are filled from here when a cell does not set them."""


class NbTool(Configurable):
    """The settings of nbtool in this kernel; a cell's flag overrides its setting."""

    model = Unicode("", help="`provider:model`; empty: NBTOOL_MODEL, a key, a local server, the practice model.").tag(
        config=True
    )
    approve = Enum(APPROVE, "ask", help="Who approves calls.").tag(config=True)
    answer_within = Float(
        None, min=0.001, allow_none=True, help="Seconds until an approval is denied; None: a day, once parked."
    ).tag(config=True)
    replay = Enum(REPLAY, None, allow_none=True, help="Whether recorded turns are replayed; None: NBTOOL_REPLAY.").tag(
        config=True
    )
    reviewer = Unicode(
        "", help="`provider:model` that reviews calls before you are asked, by `review_rules`; empty: none."
    ).tag(config=True)
    review_rules = Unicode("", help="What `reviewer` may approve, in your words; it hands on every other call.").tag(
        config=True
    )
    audit = Unicode(
        "", help="File that gets a line of JSON for each decision about a call: who decided, and about what."
    ).tag(config=True)
    keep_answers = Bool(
        False, help="Replay the answer of an unchanged cell that runs for the first time in a kernel."
    ).tag(config=True)
    history = Enum(HISTORY, None, allow_none=True, help="How earlier turns are sent to the model; None: compact.").tag(
        config=True
    )
    max_rounds = Integer(None, min=1, allow_none=True, help="Maximum requests to the model in a turn; None: 10.").tag(
        config=True
    )
    max_calls = Integer(
        None, min=1, allow_none=True, help="Maximum calls of tools in a turn; None: 128, or max_rounds if it is more."
    ).tag(config=True)
    max_repeats = Integer(
        None, min=2, allow_none=True, help="How often in a row the same calls may give the same results; None: 3."
    ).tag(config=True)
    timeout = Float(None, min=0.001, allow_none=True, help="Maximum duration of a turn, in seconds.").tag(config=True)
    budget = Amount(
        None,
        allow_none=True,
        help="What a turn may use: `0.05` US dollars, or whole tokens; its last reply may exceed it.",
    ).tag(config=True)
    result_bytes = ByteSize(
        None, min=1, allow_none=True, help="Maximum total size of stored results, such as `1GB`; None: 256MiB."
    ).tag(config=True)
    check_results = Bool(
        None, allow_none=True, help="Ask for approval of every result before it is sent; None: the chat's setting."
    ).tag(config=True)
    search_tools = Bool(
        None,
        allow_none=True,
        help="List tools by name, and let the model ask for definitions; None: if there are many.",
    ).tag(config=True)
    skills = Bool(
        True, help="Let chats of cells read your skills, and those of the notebook's folder once you allow them."
    ).tag(config=True)
    system = Unicode("", help="System prompt of chats that have none of their own.").tag(config=True)
    options = Dict(help="Request options of every cell; those of a chat and of `--option` are merged over them.").tag(
        config=True
    )
    provider_tools = AnyTrait(
        None, help="Tools that the provider runs in every cell: names, or definitions; None: those of providers.toml."
    ).tag(config=True)
    wire = Enum(TEXT_DIALECTS, None, allow_none=True, help="API dialect; None: the provider's.").tag(config=True)
    tool_mode = Enum(TOOL_MODES, None, allow_none=True, help="Native tool calls, or tools in the prompt.").tag(
        config=True
    )
    tool_format = Enum(TOOL_FORMATS, None, allow_none=True, help="Form of calls where tools are in the prompt.").tag(
        config=True
    )
    plugins: List[Any] = List(help="Plugins of every chat, before its own.").tag(config=True)
    privacy = AnyTrait(None, help="Mask private values in every chat: True, or a list of types.").tag(config=True)
    base_url = Unicode("", help="Address of the server of `model`.").tag(config=True)
    api_key = AnyTrait(None, help="Key for the server of `model`: a text, or a function that returns one.").tag(
        config=True
    )
    headers = AnyTrait(None, help="Headers for the server of `model`, by name.").tag(config=True)
    query = AnyTrait(None, help="Query parameters for the server of `model`, by name.").tag(config=True)
    auth = AnyTrait(None, help="Where the key goes: bearer, x-api-key, api-key, none, or a header.").tag(config=True)
    key_command = AnyTrait(None, help="A program that prints the key of the server of `model`.").tag(config=True)
    key_seconds = AnyTrait(None, help="Seconds for which a printed key is used.").tag(config=True)
    proxy = AnyTrait(None, help="Proxy to the server of `model`.").tag(config=True)
    verify = AnyTrait(None, help="Trusted certificates: system, certifi, or a PEM file or folder.").tag(config=True)
    client_certificate = AnyTrait(None, help="PEM file, or [certificate, key], or with a password.").tag(config=True)
    quiet = Bool(False, help="Show no output; use `-o` for the result.").tag(config=True)
    stream = Bool(True, help="Whether replies are shown as they arrive.").tag(config=True)
    append_turns = Bool(False, help="Add a turn when a cell is run again, instead of a new version.").tag(config=True)
    replace_names = Bool(False, help="Allow `-o` to overwrite an existing variable.").tag(config=True)
    fill_prompt = Bool(False, help="Put the value of each {EXPRESSION} of the notebook into the prompt.").tag(
        config=True
    )
    magic = Unicode("chat", help="The name of the magics, for ipython_config.py: read when the extension loads.").tag(
        config=True
    )

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.set_by_cell: frozenset[str] = frozenset()
        self._set_here: set[str] = set()
        self._watch()

    def _watch(self) -> None:
        """Note what is set from now on, and unset what belongs to another server than the one that is set."""
        self.observe(lambda change: self._set_here.add(change["name"]), names=list(self.class_traits(config=True)))
        self.observe(self._forget_access, names=sorted(_SERVER))

    def update_config(self, config: Any) -> None:
        """Set values from `%config`; objects are not copied, and secrets are not kept in the configuration."""
        _warn_of_other_names(config)
        section = config.get("NbTool", {})
        values = {name: section.pop(name) for name in (*_AS_GIVEN, *SECRETS) if name in section}
        super().update_config(config)
        for name, value in values.items():
            setattr(self, name, value)

    def _forget_access(self, change: Any) -> None:
        """Unset what gives access to the former server if another one is set, and say so: it is not for that one."""
        former, name = change["old"], change["name"]
        if not former or (name == "model" and self.base_url) or _is_same_server(name, former, change["new"]):
            return
        if names := [text for text in _OF_SERVER if getattr(self, text)]:
            for item in names:
                setattr(self, item, None)
            settings = ", ".join(f"NbTool.{item}" for item in names)
            if self.set_by_cell:
                notice = f"Not used in this cell, which sets another server: {settings}."
            else:
                notice = f"Unset, for another server is set: {settings}. Set them again if it needs them."
            print(notice)  # noqa: T201 - a notice

    @validate(*CONNECTION_SETTINGS)
    def _check_access(self, proposal: Any) -> Any:
        """Parse a value, so that it is a secret from here on: IPython prints the values of settings."""
        name, value = proposal["trait"].name, proposal["value"]
        try:
            parsed = getattr(make_connection({name: value}), name) or None
            return tuple(map(Secret, parsed)) if name == "key_command" and parsed else parsed
        except BadUsage as error:
            problem = str(error)
        raise TraitError(problem)  # outside of `except`, so that no traceback holds the value

    @validate("max_rounds", "max_calls", "max_repeats", "timeout", "answer_within")
    def _check_number(self, proposal: Any) -> Any:
        """Refuse what traitlets takes for a number, and is none."""
        name, value = proposal["trait"].name, proposal["value"]
        if isinstance(value, bool) or (isinstance(value, float) and not isfinite(value)):
            raise TraitError(f"{name} cannot be {value!r}. Pass a number, or None.")
        return value

    @validate("plugins")
    def _check_plugins(self, proposal: Any) -> Any:
        from nbtool.chain.plugin_check import check_plugins  # noqa: PLC0415 - loading the extension has to be fast

        try:
            check_plugins(proposal["value"])
        except BadUsage as error:
            raise TraitError(str(error)) from None
        return proposal["value"]

    @validate("api_key")
    def _check_key(self, proposal: Any) -> Any:
        from nbtool.wire.transport.request.expiring_keys import check_key  # noqa: PLC0415 - loading the extension has to be fast

        return check_key(proposal["value"])

    @validate("provider_tools")
    def _check_provider_tools(self, proposal: Any) -> Any:
        try:
            return None if proposal["value"] is None else parse_provider_tools(proposal["value"])
        except BadUsage as error:
            raise TraitError(str(error)) from None

    @validate("privacy")
    def _check_privacy(self, proposal: Any) -> bool | tuple[str, ...] | None:
        value = proposal["value"]
        if value is None or isinstance(value, bool):
            return value or None
        types = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list | tuple) else ()
        from nbtool.plugins.privacy import Privacy  # noqa: PLC0415 - loading the extension has to be fast

        try:
            Privacy(types)
        except NbtoolError as error:
            raise TraitError(str(error)) from None
        if not types:
            raise TraitError("privacy: expected True, or a list of types.")
        return types

    @property
    def set_here(self) -> list[str]:
        """The names of the settings that were set in this kernel, by `%config` or `%chat config`."""
        traits = self.class_traits(config=True)
        return sorted(name for name in self._set_here if getattr(self, name) != traits[name].default(self))

    def setting(self, name: str) -> Setting[Any]:
        """Return a value and its source.

        Raises:
            BadUsage: there is no such setting.
        """
        if name not in self.class_traits(config=True):
            names = sorted(self.class_traits(config=True))
            near = difflib.get_close_matches(name.lower().removeprefix("nbtool.").replace("-", "_"), names, n=1)
            fix = f"Did you mean {near[0]}?" if near else f"Settings: {', '.join(names)}."
            raise BadUsage(f"Unknown setting {shorten(name, MAX_NAME)!r}.", fix=fix)
        if name in self.set_by_cell:
            source = f"--set {name}"
        elif name in self._set_here:
            source = f"%config NbTool.{name}"
        else:
            source = "ipython_config.py" if name in self.config.get("NbTool", {}) else "default"
        return Setting(getattr(self, name), source)

    def for_cell(self, changes: Sequence[tuple[str, str]]) -> NbTool:
        """Return a copy with the changes of a cell, each a name and a text as of `change`: these settings stay.

        Raises:
            BadUsage: as `change`, or a setting is none of cells.
        """
        own = copy(self)
        own._set_here, own.set_by_cell = set(self._set_here), frozenset(name for name, _ in changes)
        own._watch()
        if unfit := own.set_by_cell & _NOT_OF_CELLS:
            raise BadUsage(
                f"--set {min(unfit)} has no effect in a cell: it is read when the extension loads.",
                fix="Set it in ipython_config.py.",
            )
        # The server comes first, so that what gives access to it may be given in any order.
        for name, text in sorted(changes, key=lambda change: change[0] not in _SERVER):
            own.change(name, text)
        return own

    def change(self, name: str, text: str) -> None:
        """Set a value from text, as `%chat config KEY VALUE` does; `default` resets it.

        Raises:
            BadUsage: there is no such setting, or the value is invalid.
        UnknownModel: it is a model of an unknown provider.
        """
        self.setting(name)
        trait = self.class_traits(config=True)[name]
        try:
            value = trait.default(self) if text == "default" else _from_text(trait, text)
            if (name == "model" and value and not self.base_url) or (name == "reviewer" and value):
                parse_model(value)  # reports a wrong id now instead of in the next cell
            _check_least(trait, value)
            setattr(self, name, value)
        except (TraitError, ValueError) as error:
            shown = "this" if name in SECRETS else repr(text)
            raise BadUsage(f"{name} cannot be {shown} ({error}).", fix=str(trait.help)) from None

    def fill(self, flags: Flags) -> Flags:
        """Return the flags of a cell, with defaults from these settings.

        Raises:
            BadUsage: there is a reviewer without rules.
        """
        filled = Flags(**vars(flags))
        for name in FLAGS:
            if getattr(filled, name, None) is None:
                setattr(filled, name, getattr(self, name))
        filled.approve = _PARK.get(filled.approve, filled.approve)
        filled.keep_answers = self.keep_answers
        if self.reviewer and not self.review_rules.strip():
            raise BadUsage("A reviewer needs rules.", fix='`%config NbTool.review_rules = "Approve searches in …"`.')
        filled.reviewer, filled.review_rules = self.reviewer, self.review_rules
        filled.quiet = filled.quiet or self.quiet
        filled.no_stream = filled.no_stream or not self.stream
        filled.append = filled.append or self.append_turns
        filled.replace = filled.replace or self.replace_names
        filled.fill = filled.fill or self.fill_prompt
        tools = {} if self.provider_tools is None else {PROVIDER_TOOLS: self.provider_tools}
        filled.default_options = {**self.options, **tools}
        own_tools = tools if "provider_tools" in self.set_by_cell else {}
        filled.set_options = {**(self.options if "options" in self.set_by_cell else {}), **own_tools}
        filled.sets_model = any(getattr(self, name) for name in self.set_by_cell & _SERVER)
        return filled


def _is_same_server(name: str, former: str, new: str) -> bool:
    """Whether two values of `model`, or of `base_url`, are of one provider, or of one scheme, host and port."""
    if not new:
        return False
    try:
        if name == "model":
            return parse_model(former)[0].name == parse_model(new)[0].name
        return parse_server_url(former).origin == parse_server_url(new).origin
    except NbtoolError:
        return False


def _check_least(trait: Any, value: Any) -> None:
    """Raise ValueError if a number is too small: the message of traitlets names its classes."""
    least = getattr(trait, "min", None)
    if least is not None and isinstance(value, int | float) and value < least:
        raise ValueError(f"the least value is {least:g}")


def _from_text(trait: Any, text: str) -> Any:
    """Return the value of a setting from the text of `%chat config`: JSON where the setting takes any value."""
    if (
        isinstance(trait, Enum)
        and text not in (choices := [str(value) for value in trait.values or ()])
        and text != "None"
    ):
        raise ValueError(f"expected {', '.join(choices)}")
    if not isinstance(trait, Dict | List) and type(trait) is not AnyTrait:
        try:
            return trait.from_string(text)
        except ValueError:
            kinds = ((Integer, "a whole number"), (Float, "a number"), (Bool, "true or false"))
            expected = next((words for kind, words in kinds if isinstance(trait, kind)), "")
            if not expected:
                raise
            raise ValueError(f"expected {expected}") from None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _warn_of_other_names(config: Any) -> None:
    """Warn if settings of a misspelled `NbTool` are set: IPython ignores a name that nothing has."""
    known = {"NbTool", *(kind.__name__ for kind in _subclasses(Configurable))}
    for name in set(config) - known:
        if difflib.get_close_matches(name.casefold(), ["nbtool"], cutoff=_NEAR):
            warn(f"Nothing was set: {shorten(name, MAX_NAME)!r} has no settings. Did you mean NbTool?", stacklevel=2)


def _subclasses(kind: type) -> Iterator[type]:
    subclasses: list[type] = kind.__subclasses__()
    for subclass in subclasses:
        yield subclass
        yield from _subclasses(subclass)

"""`%config NbTool`: defaults for the flags of every cell."""

from __future__ import annotations

from argparse import Namespace as Flags
from typing import Any

from traitlets import Bool, Enum, Float, Integer, TraitError, Unicode
from traitlets.config import Configurable

from nbtool.errors import BadUsage
from nbtool.settings import Setting
from nbtool.wire.providers.catalog import parse_model

APPROVE = ("ask", "input", "park", "auto", "deny")
REPLAY = ("auto", "only", "off")
HISTORY = ("compact", "native", "results", "none")
FLAGS = ("approve", "answer_within", "replay", "history", "max_rounds", "timeout", "budget", "check_results")
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
    history = Enum(HISTORY, None, allow_none=True, help="How earlier turns are sent to the model; None: compact.").tag(
        config=True
    )
    max_rounds = Integer(None, min=1, allow_none=True, help="Maximum requests to the model in a turn; None: 10.").tag(
        config=True
    )
    timeout = Float(None, min=0.001, allow_none=True, help="Maximum duration of a turn, in seconds.").tag(config=True)
    budget = Unicode(None, allow_none=True, help="Maximum cost of a turn: `0.05` US dollars, or whole tokens.").tag(
        config=True
    )
    result_bytes = Integer(
        None, min=1, allow_none=True, help="Maximum total size of stored results, in bytes; None: 268435456."
    ).tag(config=True)
    check_results = Bool(
        None, allow_none=True, help="Ask for approval of every result before it is sent; None: the chat's setting."
    ).tag(config=True)
    quiet = Bool(False, help="Show no output; use `-o` for the result.").tag(config=True)
    magic = Unicode("chat", help="The name of the magics, for ipython_config.py: read when the extension loads.").tag(
        config=True
    )

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._set_here: set[str] = set()
        self.observe(lambda change: self._set_here.add(change["name"]), names=list(self.class_traits(config=True)))

    def setting(self, name: str) -> Setting[Any]:
        """Return a value and its source.

        Raises:
            BadUsage: there is no such setting.
        """
        if name not in self.class_traits(config=True):
            names = ", ".join(sorted(self.class_traits(config=True)))
            raise BadUsage(f"Unknown setting {name!r}.", fix=f"Settings: {names}.")
        if name in self._set_here:
            source = f"%config NbTool.{name}"
        else:
            source = "ipython_config.py" if name in self.config.get("NbTool", {}) else "default"
        return Setting(getattr(self, name), source)

    def change(self, name: str, text: str) -> None:
        """Set a value from text, as `%chat config KEY VALUE` does; `default` resets it.

        Raises:
            BadUsage: there is no such setting, or the value is invalid.
        UnknownModel: it is a model of an unknown provider.
        """
        self.setting(name)
        trait = self.class_traits(config=True)[name]
        try:
            value = trait.default(self) if text == "default" else trait.from_string(text)
            if name == "model" and value:
                parse_model(value)  # reports a wrong id now instead of in the next cell
            setattr(self, name, value)
        except (TraitError, ValueError) as error:
            raise BadUsage(f"{name} cannot be {text!r} ({error}).", fix=str(trait.help)) from None

    def fill(self, flags: Flags) -> Flags:
        """Return the flags of a cell, with defaults from these settings."""
        filled = Flags(**vars(flags))
        for name in FLAGS:
            if getattr(filled, name, None) is None:
                setattr(filled, name, getattr(self, name))
        filled.quiet = filled.quiet or self.quiet
        return filled

"""`%config NbTool`: what a person wants of every cell, unless the cell says otherwise."""

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
"""What is taken from here where a cell's flags say nothing."""


class NbTool(Configurable):
    """The settings of nbtool in this kernel; a flag of a cell wins over each of them."""

    model = Unicode("", help="`provider:model`; empty: NBTOOL_MODEL, a key, a local server, the practice model.").tag(
        config=True
    )
    approve = Enum(APPROVE, "ask", help="Who answers when a call has to be approved.").tag(config=True)
    answer_within = Float(
        None, min=0.001, allow_none=True, help="Seconds until an open question is refused; None: a day, once parked."
    ).tag(config=True)
    replay = Enum(
        REPLAY, None, allow_none=True, help="Whether a recorded turn is reused; None: as NBTOOL_REPLAY says."
    ).tag(config=True)
    history = Enum(HISTORY, None, allow_none=True, help="How finished turns are told to the model; None: compact.").tag(
        config=True
    )
    max_rounds = Integer(None, min=1, allow_none=True, help="Requests to the model in a turn, at most; None: 10.").tag(
        config=True
    )
    timeout = Float(None, min=0.001, allow_none=True, help="Seconds that a turn may take, at most.").tag(config=True)
    budget = Unicode(None, allow_none=True, help="What a turn may spend: `0.05` US dollars, or whole tokens.").tag(
        config=True
    )
    result_bytes = Integer(
        None, min=1, allow_none=True, help="Bytes that kept results may take together; None: 268435456."
    ).tag(config=True)
    check_results = Bool(
        None, allow_none=True, help="Ask about every result before the model reads it; None: as the chat says."
    ).tag(config=True)
    quiet = Bool(False, help="Show nothing; results only through `-o`.").tag(config=True)
    magic = Unicode("chat", help="The name of the magics, for ipython_config.py: read when the extension loads.").tag(
        config=True
    )

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._set_here: set[str] = set()
        self.observe(lambda change: self._set_here.add(change["name"]), names=list(self.class_traits(config=True)))

    def setting(self, name: str) -> Setting[Any]:
        """Give a value and where it was set.

        Raises:
            BadUsage: there is no such setting.
        """
        if name not in self.class_traits(config=True):
            names = ", ".join(sorted(self.class_traits(config=True)))
            raise BadUsage(f"There is no setting {name!r}.", fix=f"Known are {names}.")
        if name in self._set_here:
            source = f"%config NbTool.{name}"
        else:
            source = "ipython_config.py" if name in self.config.get("NbTool", {}) else "default"
        return Setting(getattr(self, name), source)

    def change(self, name: str, text: str) -> None:
        """Set a value from its text, as `%chat config KEY VALUE` does; `default` takes the default again.

        Raises:
            BadUsage: there is no such setting, or the value does not fit.
        UnknownModel: it is a model of no known provider.
        """
        self.setting(name)
        trait = self.class_traits(config=True)[name]
        try:
            value = trait.default(self) if text == "default" else trait.from_string(text)
            if name == "model" and value:
                parse_model(value)  # raises for a slip, before any cell meets it
            setattr(self, name, value)
        except (TraitError, ValueError) as error:
            raise BadUsage(f"{name} cannot be {text!r} ({error}).", fix=str(trait.help)) from None

    def fill(self, flags: Flags) -> Flags:
        """Give the flags of a cell, completed from here."""
        filled = Flags(**vars(flags))
        for name in FLAGS:
            if getattr(filled, name, None) is None:
                setattr(filled, name, getattr(self, name))
        filled.quiet = filled.quiet or self.quiet
        return filled

"""The ways in which the output of a turn goes or is not seen, and what becomes of the turn: data for two tests.

`test_places.py` sends what pages report in each way to the approver of a cell; `tests/browser/test_places.py` does the
actions in a browser. What a person sees and can do, and what the file holds, is the same for all ways of one effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from nbtool.turn_place import Report

Front = Literal["JupyterLab", "Notebook 7", "VS Code", "html-manager"]
Phase = Literal["before the first token", "streaming", "question", "parked", "finished", "saved"]
Effect = Literal["stays", "drawn again", "cleared", "collapsed", "not drawn", "removed", "page left", "kernel ended"]
"""What becomes of the output: it stays where it is; its view is removed and drawn again; the output is gone, not its
cell; the cell hides it; the page has it and never drew it; the cell is gone; the page is gone; the kernel is."""

Machine = Literal["answered", "shown again", "parked", "waits", "nothing"]
"""What the cell does with a question: it is answered there; shown again and answered; parked; it waits; nothing."""

FRONTS: tuple[Front, ...] = get_args(Front)
PHASES: tuple[Phase, ...] = get_args(Phase)
EFFECTS: tuple[Effect, ...] = get_args(Effect)
LIVE_FRONTS = frozenset[Front](("JupyterLab", "Notebook 7", "VS Code"))
"""html-manager has no kernel: there a turn is only read."""

JUPYTER = frozenset[Front](("JupyterLab", "Notebook 7"))
LAB = frozenset[Front](("JupyterLab",))


@dataclass(frozen=True, slots=True)
class Way:
    """One way: its effect, what the page reports after it has drawn the turn, and where there is such a way.

    `commands` are JupyterLab's that do it. With `reports` None the page has the turn and never drew it.
    """

    name: str
    effect: Effect
    fronts: frozenset[Front] = JUPYTER
    commands: tuple[str, ...] = ()
    reports: tuple[Report, ...] | None = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What holds for an effect in a phase: what a person sees, what they can do, and what the file holds then."""

    seen: str
    can: str
    file: str
    machine: Machine = "nothing"


def _cells(*names: str) -> tuple[str, ...]:
    return tuple(f"notebook:{name}" for name in names)


RESTARTS = ("restart-kernel", "restart-clear-output", "restart-run-all", "restart-and-run-to-selected")
HEADINGS = _cells(*(f"change-cell-to-heading-{level}" for level in range(1, 7)))

WAYS = (
    Way("nothing happens", "stays", LIVE_FRONTS),
    Way("output scrolled", "stays", JUPYTER, _cells("enable-output-scrolling")),
    Way("output scrolling toggled", "stays", JUPYTER, _cells("toggle-output-scrolling")),
    Way("cell split", "stays", JUPYTER, _cells("split-cell-at-cursor")),
    Way("kernel connected again", "stays", JUPYTER, _cells("reconnect-to-kernel")),
    Way("headings collapsed", "stays", JUPYTER, _cells("collapse-all-headings", "toggle-heading-collapse")),
    Way("code of the cell collapsed", "stays", JUPYTER, _cells("hide-cell-code")),
    Way("cell out of view", "stays", JUPYTER),
    Way("Create New View for Output", "stays", LAB, _cells("create-output-view")),
    Way("run all, with a cell below", "stays", LIVE_FRONTS),
    Way("inside ipywidgets.Output", "stays", JUPYTER),
    Way("second page of the notebook", "stays", JUPYTER),
    Way("page reloaded", "drawn again", JUPYTER, (), ("hello",)),
    Way("page saved and reloaded", "drawn again", JUPYTER, (), ("hello",)),
    Way("cell moved", "drawn again", LIVE_FRONTS, _cells("move-cell-down"), ("gone", "hello")),
    Way("cell moved up", "drawn again", LIVE_FRONTS, _cells("move-cell-up"), ("gone", "hello")),
    Way("cell cut and pasted above", "drawn again", JUPYTER, _cells("cut-cell", "paste-cell-above"), ("gone", "hello")),
    Way(
        "replaced by its copy", "drawn again", JUPYTER, _cells("copy-cell", "paste-and-replace-cell"), ("gone", "hello")
    ),
    Way("cell cut and pasted", "drawn again", LIVE_FRONTS, _cells("cut-cell", "paste-cell-below"), ("gone", "hello")),
    Way(
        "cell deleted and undone",
        "drawn again",
        LIVE_FRONTS,
        _cells("delete-cell", "undo-cell-action"),
        ("gone", "hello"),
    ),
    Way("clear_output()", "cleared", LIVE_FRONTS, (), ("gone",)),
    Way("clear_output(wait=True)", "cleared", LIVE_FRONTS, (), ("gone",)),
    Way("Clear Outputs", "cleared", LIVE_FRONTS, _cells("clear-cell-output"), ("gone",)),
    Way("Clear All Outputs", "cleared", LIVE_FRONTS, _cells("clear-all-cell-outputs"), ("gone",)),
    Way("output collapsed", "collapsed", JUPYTER, _cells("hide-cell-outputs")),
    Way("all outputs collapsed", "collapsed", JUPYTER, _cells("hide-all-cell-outputs")),
    Way("output toggled", "collapsed", JUPYTER, _cells("toggle-cell-outputs")),
    Way("cell never drawn", "not drawn", frozenset(("VS Code",)), (), None),
    Way("output collapsed before it is drawn", "not drawn", frozenset(("VS Code",)), (), None),
    Way("cell deleted", "removed", LIVE_FRONTS, _cells("delete-cell"), ("gone",)),
    Way("cell type changed to Markdown", "removed", JUPYTER, _cells("change-cell-to-markdown"), ("gone",)),
    Way("cell type changed to Raw", "removed", JUPYTER, _cells("change-cell-to-raw"), ("gone",)),
    Way("cell type changed to a heading", "removed", JUPYTER, HEADINGS[:1], ("gone",)),
    Way("merged with the cell below", "removed", JUPYTER, _cells("merge-cell-below"), ("gone",)),
    Way("merged with the cell above", "removed", JUPYTER, _cells("merge-cell-above"), ("gone",)),
    Way("page closed", "page left", LIVE_FRONTS),
    Way("kernel restarted", "kernel ended", LIVE_FRONTS, _cells(*RESTARTS)),
    Way("page without a kernel", "kernel ended", frozenset(FRONTS)),
)

_LIVE = "the text so far, that it had not ended, and `%chat open`"
_FINAL = "the finished turn, as data, HTML and text"
_END = Outcome("the finished turn", "read it, go on from it", _FINAL)
_GONE_END = Outcome("nothing: the person removed it", "`%chat show`", "nothing of it")
_READ = Outcome("what was saved", "read it, `%chat open`", "what was saved")
_STREAM = Outcome("the reply as it comes", "stop it", _LIVE)
_ASK = Outcome("the card", "decide on the card", f"{_LIVE}; the question", "answered")
_PARKED = Outcome("the card", "decide on the card, run other cells", f"{_LIVE}; the question", "answered")
_SAVED = Outcome("the text so far", "read it, `%chat open`", _LIVE)
_LEFT = Outcome("nothing, until a page is opened again", "open the notebook again", "what was saved last", "waits")


def _outcomes(
    stream: Outcome, ask: Outcome, parked: Outcome = _PARKED, end: Outcome = _END, saved: Outcome = _SAVED
) -> dict[Phase, Outcome]:
    """Name what holds in each phase; before the first token it is what holds while the reply comes."""
    return dict(zip(PHASES, (stream, stream, ask, parked, end, saved), strict=True))


OUTCOMES: dict[Effect, dict[Phase, Outcome]] = {
    "stays": _outcomes(_STREAM, _ASK),
    "drawn again": _outcomes(_STREAM, _ASK),
    "cleared": _outcomes(
        _STREAM, Outcome("the card", "decide on the card", f"{_LIVE}; the question", "shown again"), end=_GONE_END
    ),
    "collapsed": _outcomes(
        Outcome("a line that says what to show", "show the output", _LIVE),
        Outcome(
            "a line that says what to show", "show the output, decide on the card", f"{_LIVE}; the question", "waits"
        ),
        Outcome("a line that says what to show", "show the output, decide on the card", f"{_LIVE}; the question"),
    ),
    "not drawn": _outcomes(
        Outcome("nothing, until the cell is in view", "scroll to the cell", _LIVE),
        Outcome("*scroll to the cell*", "scroll to it and decide; else it parks", f"{_LIVE}; the question", "parked"),
    ),
    "removed": _outcomes(
        Outcome("nothing", "`%chat show`", "nothing of it"),
        Outcome(
            "the pill without a button; in the next cell: a turn waits",
            "`%chat approve`, `%chat deny`",
            "nothing of it",
            "parked",
        ),
        Outcome("nothing", "`%chat approvals`, `%chat approve`, `%chat deny`", "nothing of it"),
        _GONE_END,
        Outcome("nothing", "`%chat open`", "nothing of it"),
    ),
    "page left": _outcomes(_LEFT, _LEFT, _LEFT, _READ, _READ),
    "kernel ended": _outcomes(_READ, _READ, _READ, _READ, _READ),
}
"""What holds, by effect and phase."""

_CALM = """
access-next-history-entry access-previous-history-entry change-cell-to-code change-kernel close-and-shutdown
copy-selected-text copy-to-clipboard create-console create-new create-subshell-console cut-selected-text deselect-all
disable-output-scrolling duplicate-below enter-command-mode enter-edit-mode expand-all-headings export-to-format
extend-marked-cells-above extend-marked-cells-below extend-marked-cells-bottom extend-marked-cells-top get-kernel
hide-all-cell-code insert-cell-above insert-cell-below insert-heading-above insert-heading-below interrupt-kernel
move-cursor-down move-cursor-heading-above-or-collapse move-cursor-heading-below-or-expand move-cursor-up paste-text
redo render-all-markdown replace-selection run-all-above run-all-below run-all-cells run-cell run-cell-and-insert-below
run-cell-and-select-next run-in-console select-all select-last-modified-cell select-last-run-cell
select-next-modified-cell set-side-by-side-ratio show-all-cell-code show-all-cell-outputs show-cell-code
show-cell-outputs shutdown-kernel toggle-all-cell-line-numbers toggle-autoclosing-brackets
toggle-render-side-by-side-current toggle-virtual-scrollbar trust undo
"""
CALM_COMMANDS = frozenset((*_cells(*_CALM.split()), *HEADINGS[1:], *_cells("merge-cells", "redo-cell-action")))
"""Commands of JupyterLab's notebook that take no output away, stop the turn, or do what another one does: no ways."""


def rows() -> list[tuple[Way, Phase, Front, Outcome]]:
    """Return every way in every phase and front end that has it, with what holds."""
    return [
        (way, phase, front, OUTCOMES[way.effect][phase])
        for way in WAYS
        for phase in PHASES
        for front in FRONTS
        if front in way.fronts
    ]

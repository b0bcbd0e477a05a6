"""What `%chat status --check` tries: each check is one finding, with the answer and a line of advice."""

from __future__ import annotations

import platform
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from nbtool.errors import SettingsError
from nbtool.magics.kernel.cell_messages import can_ask_for_input, cell_id, has_front_end, listener_for
from nbtool.magics.kernel.control_channel import control_channel_for
from nbtool.magics.kernel.editor_cells import WIDGET_SETTING, is_editor_cell
from nbtool.magics.kernel.page_channel import CONTEXT_SECONDS, PageChannel
from nbtool.magics.views import can_park
from nbtool.magics.views.page_probe import probe_page
from nbtool.settings import data_dir, display_path, env
from nbtool.tools.mcp.connection.token_store import find_keyring

if TYPE_CHECKING:
    from nbtool.view.probe_widget import ProbeWidget, Way
    from nbtool.view.protocol import PageReport

PACKAGES = ("IPython", "ipykernel", "ipywidgets", "anywidget", "jupyterlab", "notebook")

EXTRAS = {"mcp": "mcp", "login": "keyring", "web": "lxml", "telemetry": "opentelemetry-api", "ipynb": "nbformat"}
"""The optional parts of nbtool, each with a package that it needs."""

FRONT_ENDS = {
    "jupyterlab": "JupyterLab",
    "notebook": "Notebook 7",
    "vscode": "VS Code",
    "colab": "Colab",
    "other": "a page of another kind",
}

WAY_NAMES: dict[Way, str] = {"comm": "click by comm", "control": "click by control"}
HEARD_ADVICE: dict[Way, str] = {
    "comm": "The way of every widget; cards and buttons work with it.",
    "control": "Preferred: the kernel reads it in a thread of its own, also while a tool runs.",
}
WITHOUT_CLICKS = "Calls are asked for by a line of input; or use `--approve later`, and click once the cell has ended."
THREAD_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Finding:
    """What was tried, whether it is possible (None: not tried), what was found, and what a person can do about it."""

    subject: str
    is_possible: bool | None
    answer: str
    advice: str


def describe_versions() -> list[str]:
    """Return the versions of nbtool, Python, the system, and the packages of the notebook."""
    own = _version_of("nbtool-chat") or "(not installed)"
    system = f"{platform.system()} {platform.machine()}"
    names = ", ".join(f"{name} {found}" for name in PACKAGES if (found := _version_of(name)))
    return [f"nbtool {own}, Python {platform.python_version()}, {system}", names]


def check_front_end(shell: Any) -> Iterator[Finding]:
    """Check the page, the ways of a click, input, parking, and what the page draws."""
    has_kernel = getattr(shell, "kernel", None) is not None
    probe = probe_page(shell) if has_kernel and has_front_end(shell) else None
    yield _page(probe, has_kernel=has_kernel, is_editor=is_editor_cell(cell_id(shell)))
    if probe:
        yield from (_click(shell, probe, way) for way in WAY_NAMES)
        yield _stop(shell, probe)
    yield _line_of_input(shell)
    yield _parking(shell)
    if probe:
        yield _cells(shell)
    if probe and probe.report:
        yield from _drawing(probe.report)


def check_installation() -> Iterator[Finding]:
    """Check threads, the journal, the keyring, and the optional parts."""
    yield _threads()
    yield _journal()
    yield _keyring()
    yield _extras()


def _page(probe: ProbeWidget | None, *, has_kernel: bool, is_editor: bool) -> Finding:
    if probe and probe.report:
        answer = f"{FRONT_ENDS[probe.report['front_end']]}, connected after {min(probe.seconds.values()):.2f} s"
        return Finding("page", True, answer, "A turn is shown in a widget under its cell.")
    if probe:
        advice = "Turns are shown when they end. Reload the page, or allow custom widgets, and run this again."
        advice += f" {WIDGET_SETTING}" if is_editor else ""
        return Finding("page", False, "none that runs widgets has answered", advice)
    answer = "an unattended run: it takes no input and names no cell" if has_kernel else "no kernel: a terminal"
    return Finding("page", False, answer, "Run this in the notebook that you want to know about.")


def _click(shell: Any, probe: ProbeWidget, way: Way) -> Finding:
    """Whether a page's message reached the kernel on a way while this cell ran."""
    subject = WAY_NAMES[way]
    if (seconds := probe.seconds.get(way)) is not None:
        return Finding(subject, True, f"heard after {seconds:.2f} s, while this cell ran", HEARD_ADVICE[way])
    advice = "The other way is used." if probe.seconds else WITHOUT_CLICKS
    receiver = listener_for(shell.kernel) if way == "comm" else control_channel_for(shell.kernel)
    if receiver is None:
        return Finding(subject, False, "this kernel has no such way", advice)
    if not probe.report:
        return Finding(subject, None, "no page has answered", advice)
    if way == "control" and not probe.report["control"]:
        return Finding(subject, False, "this page cannot send there", advice)
    return Finding(subject, False, "not heard while this cell ran", advice)


def _stop(shell: Any, probe: ProbeWidget) -> Finding:
    """Whether *Stop* is heard while a synchronous tool occupies the thread of the notebook."""
    listener = listener_for(shell.kernel)
    is_threaded = listener is not None and listener.name == "tap" and "comm" in probe.seconds
    if "control" in probe.seconds or is_threaded:
        return Finding(
            "stop", True, "heard also while a synchronous tool runs", "The kernel's interrupt works as well."
        )
    if not probe.report:
        return Finding("stop", None, "no page has answered", "The kernel's interrupt stops a turn.")
    return Finding("stop", False, "heard between tools only", "The kernel's interrupt stops a synchronous tool.")


def _line_of_input(shell: Any) -> Finding:
    if can_ask_for_input(shell):
        advice = "Asked where no click is heard; `--approve input` always asks this way."
        return Finding("line of input", True, "offered by this front end (not tried)", advice)
    return Finding("line of input", False, "not offered here", "Where no click is heard either, calls are denied.")


def _parking(shell: Any) -> Finding:
    if can_park(shell):
        advice = "With `--approve later` the cell ends, and the call waits for a click or `%chat approve`."
        return Finding("parking", True, "somebody could answer after the cell", advice)
    advice = '`--approve auto`, or `run="auto"` on a tool, lets calls run unasked.'
    return Finding("parking", False, "nobody could answer after the cell", advice)


def _cells(shell: Any) -> Finding:
    """Whether the page that runs this cell answers requests about the notebook's cells."""
    channel = PageChannel(shell)
    try:
        is_open = channel.is_open(CONTEXT_SECONDS)
    finally:
        channel.close()
    if is_open:
        return Finding("cells", True, "this page reads and changes them", "`-t nbtool:notebook` gives them to a model.")
    advice = "`--cells` takes those that ran from IPython's history; JupyterLab and Notebook 7 offer all."
    return Finding("cells", False, "this page does not offer them", advice)


def _drawing(report: PageReport) -> Iterator[Finding]:
    """What the page draws by itself, and what nbtool's extension of JupyterLab does there."""
    if report["extension"]:
        yield Finding("extension", True, "loaded", "Saved turns are drawn as live ones are, also without a kernel.")
    else:
        advice = "Saved turns are static HTML. JupyterLab and Notebook 7 load it if nbtool is installed with them."
        yield Finding("extension", False, "not loaded", advice)
    typeset = "by JupyterLab's typesetter" if report["typesetter"] else "as MathML, with a font of this machine"
    yield Finding("formulas", True, typeset, "Formulas that are not plain notation are MathML everywhere.")
    diagrams = "by the page's own Mermaid" if report["diagrams"] else "shown as their source"
    yield Finding("diagrams", report["diagrams"], diagrams, "In JupyterLab and Notebook 7, plain and small ones.")


def _threads() -> Finding:
    thread = threading.Thread(target=lambda: None, daemon=True)
    try:
        thread.start()
    except RuntimeError as error:  # a browser's Python
        advice = "Turns run on the cell's thread: a tool that computes holds back the view, *Stop* and time limits."
        return Finding("threads", False, f"none: {error}", advice)
    thread.join(THREAD_SECONDS)
    advice = "`@tool(thread=True)` runs a tool in one, so that it does not occupy the notebook."
    return Finding("threads", not thread.is_alive(), f"{threading.active_count()} in this process", advice)


def _journal() -> Finding:
    """Whether turns can be written to disk: a file is created in the folder of the journal, and removed."""
    if env("NBTOOL_JOURNAL") == "off":
        return Finding("journal", False, "in memory (NBTOOL_JOURNAL=off)", "Turns are lost when this kernel ends.")
    try:
        folder = data_dir()
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"nbtool")
    except (SettingsError, OSError) as error:
        advice = "Turns are lost when this kernel ends. Set NBTOOL_HOME to a folder of yours."
        return Finding("journal", False, f"not writable: {error}", advice)
    advice = "`%chat history list` lists earlier chats; `%chat open ID` continues one."
    return Finding("journal", True, f"{display_path(folder / 'journal.sqlite')}, writable", advice)


def _keyring() -> Finding:
    if keyring := find_keyring():
        return Finding("keyring", True, type(keyring.get_keyring()).__module__, "Logins at MCP servers are kept there.")
    advice = "Logins at MCP servers are kept in files of yours alone. Models' keys come from the environment."
    return Finding("keyring", False, "none", advice)


def _extras() -> Finding:
    installed = [extra for extra, package in EXTRAS.items() if _version_of(package)]
    missing = [extra for extra in EXTRAS if extra not in installed]
    packages = " ".join(EXTRAS[extra] for extra in missing)
    advice = f"For {', '.join(missing)}: `%pip install {packages}`." if missing else "All are there."
    return Finding("extras", bool(installed), ", ".join(installed) or "none", advice)


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from nbtool import Chat
from nbtool.ids import short_id
from nbtool.messages import Media
from nbtool.plugins.privacy import Privacy
from nbtool.testing import ScriptedWire, call
from tests.chaos import serve, whole
from tests.magics.commands.saying import run_command
from tests.samples import PNG

EMAIL = "ada.lovelace@example.org"


@pytest.fixture
def chat_shell(shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give a shell in which a cell has had two functions called."""
    monkeypatch.chdir(tmp_path)
    wire = ScriptedWire([call("double", n=4), call("rows", frame="$VAR_REF{{frame}}"), "Eight and three."])
    chat = shell.magics_manager.registry["ChatMagics"].kernel_chats.chat("main")
    chat.model = Chat(wire=wire).model
    shell.run_cell("%%chat -q -t double rows -v frame --approve auto\nDouble it.")
    return shell


def test_code_puts_the_calls_into_the_next_cell(chat_shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    text = run_command(chat_shell, "export py --cell", capsys)
    chat_shell.user_ns.pop("r1", None)
    assert chat_shell.run_cell(chat_shell.rl_next_input).success

    assert "The code (2 calls)" in text
    assert (chat_shell.user_ns["r1"], chat_shell.user_ns["r2"]) == (8, 3)
    assert chat_shell.user_ns["received"][-1] is chat_shell.user_ns["frame"]


@pytest.mark.parametrize("simple_prompt", [None, True, False])
def test_code_is_printed_where_no_front_end_shows_a_new_cell(
    chat_shell: Any, capsys: pytest.CaptureFixture[str], simple_prompt: bool | None
) -> None:
    if simple_prompt is not None:
        chat_shell.simple_prompt = simple_prompt  # of a terminal; other shells without a kernel have none
    text = run_command(chat_shell, "export py --cell", capsys)

    assert ("is below" in text) == (simple_prompt is not False)
    assert (chat_shell.rl_next_input.rstrip() in text) == (simple_prompt is not False)


def test_code_is_printed_in_a_run_that_nobody_watches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    use = "%%chat -q -m practice:fast\nUse &`triple` with n=4."
    cells = ["%load_ext nbtool", f"from nbtool import tool\n{FUNCTION}", use, "%chat export py --cell"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=240, kernel_name="python3").execute()

    said = notebook.cells[-1].outputs[0].text
    assert said.startswith("The code (1 call) ")
    assert "\nr1 = triple(n=4)\n" in said


def test_code_of_a_named_turn(chat_shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    chat = chat_shell.magics_manager.registry["ChatMagics"].kernel_chats.chat("main")
    turn_id = chat.tree.active_path[0].turn.turn_id

    assert "2 calls" in run_command(chat_shell, f"export py --cell {turn_id}", capsys)
    assert "# Turn 1: " in chat_shell.rl_next_input
    assert "%chat export py --cell" in command_error(chat_shell, "export py --cell a b", capsys)


def test_code_of_the_whole_chat_has_the_calls_of_every_turn(
    chat_shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    chat = chat_shell.magics_manager.registry["ChatMagics"].kernel_chats.chat("main")
    chat.model = Chat(wire=ScriptedWire([call("double", n=5), "Ten."])).model
    chat_shell.run_cell("%%chat -q --approve auto\nDouble five.")

    assert "(1 call)" in run_command(chat_shell, "export py --cell 2", capsys)
    assert "(3 calls)" in run_command(chat_shell, "export py --cell", capsys)
    for name in ("r1", "r2", "r3"):
        chat_shell.user_ns.pop(name, None)
    assert chat_shell.run_cell(chat_shell.rl_next_input).success
    assert [chat_shell.user_ns[name] for name in ("r1", "r2", "r3")] == [8, 3, 10]


def test_code_of_a_chat_without_calls_says_so(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%chat -q -m practice:fast\nHello")

    assert "`%chat export md`" in command_error(shell, "export py --cell", capsys)
    assert "`%chat export py --cell`" in command_error(shell, "export py --cell 1", capsys)


FUNCTION = "@tool(run='auto')\ndef triple(n: int) -> int:\n    'Three times.'\n    return 3 * n"


def test_a_function_that_a_cell_defines_is_named_and_not_copied_and_the_last_result_is_shown(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell(FUNCTION, store_history=True)
    shell.run_cell("%%chat -q -m practice:fast\nUse &`triple` with n=4.")
    run_command(shell, "export py --cell", capsys)
    code = shell.rl_next_input
    shell.user_ns["In"].clear()  # as if another way than a cell had defined it
    run_command(shell, "export py --cell", capsys)
    copied = shell.rl_next_input

    assert ": triple (function)" in code
    assert "def triple" not in code
    assert "def triple" in copied
    assert code.endswith("\nr1 = triple(n=4)\nr1\n")
    assert shell.run_cell(code).result == 12
    del shell.user_ns["triple"]
    assert not shell.run_cell(code).success
    assert ": triple" in "".join(capsys.readouterr())
    assert shell.run_cell(copied).result == 12


def test_a_turn_whose_calls_were_all_denied_has_no_code(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell(FUNCTION.replace("'auto'", "'ask_always'"))
    shell.run_cell("%%chat -q --approve deny -m practice:fast\nUse &`triple` with n=4.")
    shell.rl_next_input = None

    assert "(1 denied)" in command_error(shell, "export py --cell", capsys)
    assert "(1 denied)" in command_error(shell, "export py --cell", capsys)
    assert shell.rl_next_input is None


def command_error(shell: Any, command: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    shell.run_cell(f"%chat {command}")
    captured = capsys.readouterr()
    return captured.out + captured.err


@pytest.mark.parametrize(
    ("kind", "ending"), [("md", "md"), ("json", "json"), ("code", "py"), ("py", "py"), ("ipynb", "ipynb")]
)
def test_export_writes_a_file_and_overwrites_none(
    chat_shell: Any, capsys: pytest.CaptureFixture[str], kind: str, ending: str
) -> None:
    path = Path(f"main.{ending}")

    assert run_command(chat_shell, f"export {kind}", capsys) == f"Written: {path}\n"
    first = path.read_bytes()
    assert "--overwrite" in command_error(chat_shell, f"export {kind}", capsys)
    assert path.read_bytes() == first
    assert "Written" in run_command(chat_shell, f"export {kind} --overwrite", capsys)
    assert "Written" in run_command(chat_shell, f"export {kind} 'other name.{ending}'", capsys)


@pytest.mark.parametrize(
    ("session", "file"),
    [
        ("work/Birds of 2026.ipynb", "Birds of 2026-chat.md"),
        ("RTC:analysis.ipynb", "analysis-chat.md"),
        ("../a\nb$(c).ipynb", "a_b__c_-chat.md"),
        ("/tmp/analysis.ipynb-jvsc-1234", "main.md"),
        ("console-1", "main.md"),
        (f"{'n' * 101}.ipynb", "main.md"),
    ],
)
def test_an_export_without_a_name_is_named_after_the_notebook(
    chat_shell: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, session: str, file: str
) -> None:
    monkeypatch.setenv("JPY_SESSION_NAME", session)

    assert run_command(chat_shell, "export md", capsys) == f"Written: {file}\n"
    assert Path(file).read_text().strip()


def test_an_export_of_another_chat_has_its_name(
    chat_shell: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JPY_SESSION_NAME", "analysis.ipynb")
    chat = chat_shell.magics_manager.registry["ChatMagics"].kernel_chats.chat("side")
    with ScriptedWire(["Hello."]) as wire:
        chat.model = Chat(wire=wire).model
        chat.send("Hi")

    assert run_command(chat_shell, "-c side export md", capsys) == "Written: analysis-side.md\n"


def test_the_images_of_a_document_are_beside_it(chat_shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    chat = chat_shell.magics_manager.registry["ChatMagics"].kernel_chats.chat("main")
    with ScriptedWire(["A dot."]) as wire:
        chat.model = Chat(wire=wire).model
        chat.send("What is it?", attach=[Media("image/png", PNG)])

    assert "1 image" in run_command(chat_shell, "export md out.md", capsys)
    assert Path("out_files/figure-1.png").read_bytes() == PNG
    assert "(<out_files/figure-1.png>)" in Path("out.md").read_text()


def test_exported_files_are_what_they_say(chat_shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for kind in ("md", "json", "code", "ipynb"):
        run_command(chat_shell, f"export {kind} out.{kind}", capsys)
    names = runpy.run_path("out.code", {name: chat_shell.user_ns[name] for name in ("double", "rows", "frame")})

    assert (names["r1"], names["r2"]) == (8, 3)
    assert "Eight and three." in Path("out.md").read_text()
    assert json.loads(Path("out.json").read_text())["format"] == "nbtool.conversation"
    nbformat.validate(nbformat.read("out.ipynb", as_version=4))


@pytest.mark.parametrize("kind", ["md", "json", "py", "ipynb"])
def test_the_ending_of_a_file_is_its_format(
    chat_shell: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    run_command(chat_shell, f"export {kind} named.{kind}", capsys)

    assert run_command(chat_shell, f"export short.{kind}", capsys) == f"Written: short.{kind}\n"
    assert (tmp_path / f"short.{kind}").read_text()[:200] == (tmp_path / f"named.{kind}").read_text()[:200]


@pytest.mark.parametrize(
    "words",
    [
        "export",
        "export pdf",
        "export chat.pdf",
        "export .md.",
        "export a.code b.code",
        "export md a b",
        "export --force",
    ],
)
def test_a_wrong_export_says_what_there_is(chat_shell: Any, capsys: pytest.CaptureFixture[str], words: str) -> None:
    assert "export md|json|ipynb|py [FILE] [--overwrite]" in command_error(chat_shell, words, capsys)


def test_the_foot_of_an_exported_turn_names_the_host_and_the_cost_as_the_footer_of_its_widget(
    shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    reply = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}
    reply["usage"] = {"prompt_tokens": 1000, "completion_tokens": 500, "cost": 0.5}
    with serve(whole(200, reply)) as server:
        chat = shell.magics_manager.registry["ChatMagics"].kernel_chats.chat("main")
        chat.model = Chat("openai:m", base_url=server.url, api_key="k", wire="chat").model
        shell.run_cell("%%chat -q\nHello")
        foot = f"openai:m at {server.url.split('/')[2]} · 1,500 tokens · $0.5000 · "

    run_command(shell, "export md chat.md", capsys)
    run_command(shell, "export ipynb chat.ipynb", capsys)

    notebook = nbformat.read(tmp_path / "chat.ipynb", as_version=4)
    data = next(cell.outputs[0].data for cell in notebook.cells if cell.source.startswith("%%chat"))
    assert f"*{foot}" in (tmp_path / "chat.md").read_text().replace("\\$", "$")
    assert foot in data["text/html"]
    assert foot in data["text/plain"]


def test_an_empty_conversation_has_nothing_to_export(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert "`%%chat`" in command_error(shell, "export md", capsys)
    assert "`%%chat`" in command_error(shell, "export py --cell", capsys)


def test_an_exported_conversation_is_opened_again_without_its_approvals(
    chat_shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    runtime = chat_shell.magics_manager.registry["ChatMagics"].kernel_chats
    before = runtime.chat("main")
    run_command(chat_shell, "export json out.json", capsys)
    text = run_command(chat_shell, "open out.json", capsys)

    chat = runtime.chat("main")
    assert "1 turn imported" in text
    assert f"`%chat open {short_id(before.chat_id)}`" in text
    assert (chat.tree.active_path[0].turn.text, chat.chat_id != before.chat_id) == ("Eight and three.", True)
    assert chat.approvals is not before.approvals
    assert chat.model == before.model
    assert "nobody here saw" in run_command(chat_shell, "show", capsys)


def test_what_an_imported_conversation_refers_to_is_nothing_of_this_kernel(
    chat_shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    runtime = chat_shell.magics_manager.registry["ChatMagics"].kernel_chats
    (name,) = (call.reference for call in runtime.chat("main").tree.active_path[0].turn.calls if call.name == "double")
    run_command(chat_shell, "export json out.json", capsys)
    run_command(chat_shell, "open out.json", capsys)
    wire = ScriptedWire([call("double", n=f"$VAR_REF{{{{{name}}}}}"), call("double", n=2), "Done."])
    runtime.chat("main").model = Chat(wire=wire).model

    assert chat_shell.run_cell("%%chat -q -o later -t double --approve auto\nGo on.").success

    dead, fresh = chat_shell.user_ns["later"].calls
    assert dead.status == "invalid"
    assert fresh.reference not in ("", name)


def test_code_of_an_imported_turn_says_that_nobody_saw_it_run(
    chat_shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(chat_shell, "export json out.json", capsys)
    whole = json.loads(Path("out.json").read_text())
    forged = (
        json.dumps(whole)
        .replace('\\"n\\": 4', '\\"code\\": \\"import os; os.abort()\\"')
        .replace("double", "run_python")
    )
    Path("forged.json").write_text(forged)
    run_command(chat_shell, "open forged.json", capsys)
    run_command(chat_shell, "export py --cell", capsys)

    assert "these calls were not run here" in chat_shell.rl_next_input
    assert all(line.startswith("#") for line in chat_shell.rl_next_input.splitlines() if "abort" in line)


def test_a_file_that_is_no_conversation_is_refused_and_changes_nothing(
    chat_shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    chat = chat_shell.magics_manager.registry["ChatMagics"].kernel_chats.chat("main")
    tree = chat.tree
    Path("broken.json").write_text("{}")

    assert "`%chat export json`" in command_error(chat_shell, "open broken.json", capsys)
    assert chat.tree is tree


@pytest.mark.parametrize("way", ["journal", "file"])
def test_code_of_a_past_conversation_passes_results_on_whatever_their_names_are_bound_to_now(
    shell: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    shell.run_cell("@tool(run='auto', store_as='made')\ndef make(n: int) -> list:\n    'Make.'\n    return [0] * n")
    shell.run_cell("@tool(run='auto')\ndef count(of: list) -> int:\n    'Count.'\n    return len(of)\nmade = count")
    chat = shell.magics_manager.registry["ChatMagics"].kernel_chats.chat("main")
    chat.model = Chat(wire=ScriptedWire([call("make", n=3), call("count", of="$VAR_REF{{made}}"), "Three."])).model
    shell.run_cell("%%chat -q -t make count\nCount it.")
    run_command(shell, f"export json '{tmp_path / 'out.json'}'", capsys)

    run_command(shell, f"open {chat.chat_id if way == 'journal' else repr(str(tmp_path / 'out.json'))}", capsys)
    run_command(shell, "export py --cell", capsys)

    assert "r1 = make(n=3)" in shell.rl_next_input
    assert re.search(r"r2 = count\((of=)?r1\)", shell.rl_next_input)  # by name where the tool is not here


@pytest.mark.promise("masked")
def test_exports_of_a_notebook_have_no_private_value_and_a_cell_of_code_has_them(shell: Any, tmp_path: Path) -> None:
    wire = ScriptedWire([call("send", to="__MASK_EMAIL_1__"), "Sent."])
    shell.run_cell("@tool(run='auto')\ndef send(to: str) -> str:\n    'Send.'\n    return to")
    chat = Chat(wire=wire, plugins=[Privacy()], tools=[shell.user_ns["send"]])
    shell.user_ns["private"] = chat
    chat.send(f"Write to {EMAIL}.")

    for kind in ("md", "json", "code", "ipynb"):
        shell.run_line_magic("chat", f"-c private export {kind} {tmp_path / kind}")
    shell.run_line_magic("chat", "-c private export py --cell")

    assert [path.name for path in sorted(tmp_path.iterdir()) if EMAIL in path.read_text()] == []
    assert f'send(to="{EMAIL}")' in (shell.rl_next_input or "")

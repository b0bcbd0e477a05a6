"""A hub: nbtool installed once and read-only for everybody, a home for each user, and the administrator's settings.

Each user is another account of this machine; the policy is the system's file, in a mount namespace of its own. Needs
root and Linux, as the administrator of a hub has.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from build import ProjectBuilder

from tests.packaging.environments import Environment, is_recent, this_python

ROOT = Path(__file__).parents[2]
PYTHON = "/usr/bin/python3"
"""The system's Python, which every account may run."""

USERS = {"ada": 21_001, "bob": 21_002, "cleo": 21_003}
POLICY = """
[hosts]
models = ["llm.example.org"]
[serve]
allowed = false
"""
SESSION = """
import json, os
from pathlib import Path
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config
import nbtool

shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))

def cell(source):
    with capture_output() as shown:
        result = shell.run_cell(source)
    return f"{shown.stdout}{shown.stderr}{result.error_in_exec or ''}"

shell.run_line_magic("load_ext", "nbtool")
name = os.environ["USER"]
cell(f"from nbtool import Chat\\nchat = Chat('practice:fast')\\nchat.record('turns.jsonl')")
answers = [chat.status for chat in [shell.user_ns["chat"].send(f"I am {name}.") for _ in range(3)]]
refused = cell("%%chat -m openai:gpt-x\\nHello.")
status = cell("%chat status")
print(json.dumps({
    "file": nbtool.__file__, "answers": answers, "refused": refused, "status": status,
    "searched": cell(f"%chat history search {name}"), "others": cell("%chat history search am"),
}))
"""

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can act as several users"),
    pytest.mark.skipif(not is_recent(PYTHON), reason="the system's Python is older than nbtool's oldest"),
]


@pytest.fixture(scope="module")
def hub() -> Iterator[Path]:
    """Make a folder that every account can read: the installed wheel with what it needs, and homes."""
    folder = Path(tempfile.mkdtemp(prefix="nbtool-hub-"))
    wheel = ProjectBuilder(ROOT).build("wheel", folder / "wheel")
    tools = Environment(folder / "tools", this_python())
    tools.pip("install", "uv")
    tools.run("uv", "pip", "install", "--quiet", "--python", PYTHON, "--target", folder / "site-packages", wheel)
    shutil.rmtree(tools.folder)
    (folder / "policy" / "nbtool").mkdir(parents=True)
    (folder / "policy" / "nbtool" / "policy.toml").write_text(POLICY)
    (folder / "session.py").write_text(SESSION)
    subprocess.run(["chmod", "-R", "a+rX,a-w", folder], check=True)
    for name, uid in USERS.items():
        home = folder / "homes" / name
        home.mkdir(parents=True)
        home.chmod(0o700)
        os.chown(home, uid, uid)
    yield folder
    shutil.rmtree(folder)


def run_session(hub: Path, name: str, **variables: str) -> dict[str, object]:
    """Run a user's session under the system's policy, as a spawner starts it."""
    uid, home = USERS[name], hub / "homes" / name
    environment = {
        "HOME": str(home), "USER": name, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(hub / "site-packages"), **variables,
    }  # fmt: skip
    inner = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--", PYTHON]
    mounted = f'mount --bind "{hub}/policy" /etc/xdg && cd "{home}" && exec "$@"'
    command = ["unshare", "--mount", "sh", "-c", mounted, "sh", *inner, str(hub / "session.py")]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found: dict[str, object] = json.loads(ended.stdout.splitlines()[-1])
    return found


def snapshot(folder: Path) -> set[tuple[str, int, int]]:
    """Return every file below a folder, with its size and time."""
    files = ((path, path.lstat()) for path in folder.rglob("*"))
    return {(str(path), state.st_size, state.st_mtime_ns) for path, state in files}


def test_several_users_share_one_read_only_install_and_write_only_at_home(hub: Path) -> None:
    before = snapshot(hub / "site-packages")

    with ThreadPoolExecutor(len(USERS)) as pool:
        found = dict(zip(USERS, pool.map(lambda name: run_session(hub, name), USERS), strict=True))

    assert snapshot(hub / "site-packages") == before
    for name, uid in USERS.items():
        home = hub / "homes" / name
        assert found[name]["file"] == str(hub / "site-packages" / "nbtool" / "__init__.py")
        assert found[name]["answers"] == ["completed"] * 3
        journal = home / ".local" / "share" / "nbtool" / "journal.sqlite"
        assert journal.is_file()
        assert (home / "turns.jsonl").is_file()
        owned = {path.lstat().st_uid for path in home.rglob("*")}
        assert owned == {uid}
        assert journal.parent.stat().st_mode & 0o077 == 0
        assert f"I am {name}." in str(found[name]["searched"])
        assert not any(f"I am {other}." in str(found[name]["others"]) for other in USERS if other != name)


def test_the_policy_of_the_system_binds_every_user_whatever_they_set(hub: Path) -> None:
    spoofed = {"XDG_CONFIG_DIRS": "/nowhere", "NBTOOL_POLICY": "", "OPENAI_API_KEY": "key"}

    found = run_session(hub, "ada", **spoofed)

    assert "The policy /etc/xdg/nbtool/policy.toml does not allow models at https://api.openai.com" in str(
        found["refused"]
    )
    assert "/etc/xdg/nbtool/policy.toml" in str(found["status"])
    assert "you can change this file" not in str(found["status"])


def test_what_the_administrator_sets_in_the_environment_holds_for_the_users_session(hub: Path) -> None:
    shared = hub / "homes" / "bob" / "elsewhere"

    found = run_session(hub, "bob", NBTOOL_HOME=str(shared), NBTOOL_MODEL="practice:plain", NBTOOL_JOURNAL="off")

    assert "practice:plain" in str(found["status"])
    assert "in memory (NBTOOL_JOURNAL=off)" in str(found["status"])
    assert not (shared / "journal.sqlite").exists()

from __future__ import annotations

import os
import shutil
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool.errors import BadUsage, ToolFailed
from nbtool.settings import data_dir
from nbtool.tools import Approved
from nbtool.tools.secret_patterns import SECRET_TEXTS, secret_in
from nbtool.toolsets import files, sandboxed_folder
from nbtool.toolsets.file_tools import LISTING_SECONDS, MAX_READ_BYTES, MAX_WRITE_BYTES
from tests.cpu_time import run_within
from tests.tools.calling import ToolHarness, ask_for, make_harness

Tell = Callable[[str, object], None]

OUTSIDE = [
    "..", "../", "../secret.txt", "../data2/secret.txt", "../data/../secret.txt", "sub/../../secret.txt", "sub/..",
    "./../secret.txt", "./.././secret.txt", "sub/../a.txt", "sub/./../../secret.txt", "....//secret.txt/..",
    "..\\secret.txt", "sub\\..\\..\\secret.txt", "\\secret.txt", "C:\\secret.txt", "\\\\host\\share\\a",
    "/", "//", "/etc/passwd", "//etc/passwd", "/etc/../etc/passwd", "/proc/self/environ", "/proc/1/mem",
    "/proc/self/fd/0", "/proc/self/root/etc/passwd", "/sys/kernel", "/dev/null", "/dev/zero", "/dev/stdin", "/dev/fd/0",
    "~", "~/.bashrc", "~root/.ssh/id_rsa", "~/../../etc/passwd",
    "a.txt\0", "a.txt\0.png", "\0", "sub/\0/a.txt", "a\n.txt", "a\r.txt", "a\x1b[2J.txt", "a\x7f.txt", "\t",
    "", "x" * 5_000, "x" * 300, "x/" * 60,
    "to_secret", "to_parent/secret.txt", "to_root/etc/passwd", "to_twin/secret.txt", "to_proc/environ",
    "sub/up/secret.txt", "chain", "circle", "circle/a.txt", "to_null", "to_env",
]  # fmt: skip
"""Ways out of the folder, or to nowhere: the links are real ones, made below."""

PRIVATE = [
    ".env", ".env.local", "prod.env", ".envrc", "id_rsa", "id_rsa.pub", "id_ed25519", "sub/id_ecdsa", "server.pem",
    "server.key", "a.p12", "a.pfx", ".netrc", "_netrc", ".pgpass", ".npmrc", ".pypirc", ".git-credentials",
    "credentials", "credentials.json", "secrets.toml", ".htpasswd", "kernel-123.json", ".bash_history",
    ".aws/config", ".ssh/config", ".ssh/known_hosts", ".gnupg/x", ".kube/config", ".docker/config.json",
    ".ENV", "ID_RSA", ".SSH/config", "Server.PEM", ".env.", ".env ", "\uff0eenv", ".\u017fsh/config", "sub/.ENV",
    ".ipython/profile_default/startup/00.py", ".jupyter/jupyter_server_config.py", "jupyter_lab_config.py",
    "ipython_config.py", "ipython_kernel_config.py", "share/jupyter/kernels/python3/kernel.json",
    ".git/config", ".git/hooks/pre-commit", ".vscode/settings.json", ".bashrc", ".profile", ".zshrc", ".gitconfig",
    "sitecustomize.py", "lib/site-packages/x.pth", ".pre-commit-config.yaml", "pip.conf",
]  # fmt: skip
"""Files of secrets and of control, also as a forgiving file system would spell them."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Give a folder with links to what lies outside of it, and a twin whose name begins alike."""
    folder = tmp_path / "data"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "data2").mkdir()
    for secret in (tmp_path / "secret.txt", tmp_path / "data2" / "secret.txt"):
        secret.write_text("SENTINEL")
    for name in PRIVATE:
        if not name.endswith((".", " ")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("SENTINEL")
    links = {
        "to_secret": "../secret.txt", "to_parent": "..", "to_root": "/", "to_twin": "../data2", "to_proc": "/proc/self",
        "sub/up": "../..", "chain": "to_secret", "circle": "circle", "to_null": "/dev/null", "to_env": ".env",
        "inner": "a.txt", "inner_sub": "sub",
    }  # fmt: skip
    for name, target in links.items():
        (folder / name).symlink_to(target)
    return folder


def file_harness(folder: Path, **settings: Any) -> ToolHarness:
    return make_harness(files(folder), approver=lambda _: Approved(), **settings)


def run_tool(harness: ToolHarness, tool: str, **arguments: Any) -> str:
    record = harness.run(ask_for(tool, **arguments))
    assert record.status == "ok", record.shown
    return record.shown


def failure(harness: ToolHarness, tool: str, **arguments: Any) -> str:
    record = harness.run(ask_for(tool, **arguments))
    assert record.status == "error", record.shown
    return record.shown


def tree(folder: Path) -> dict[str, Any]:
    return {
        str(path): path.read_bytes() if path.is_file() and not path.is_symlink() else None for path in folder.rglob("*")
    }


def test_the_corpus_has_at_least_a_hundred_paths() -> None:
    assert len({*OUTSIDE, *PRIVATE}) >= 100


@pytest.mark.promise("below-the-folder")
@pytest.mark.parametrize("with_descriptors", [True, False])
def test_no_path_of_the_corpus_is_read_written_edited_or_listed(
    data: Path, with_descriptors: bool, monkeypatch: pytest.MonkeyPatch, record_property: Tell
) -> None:
    record_property("injected", 3 * len((*OUTSIDE, *PRIVATE)))
    monkeypatch.setattr(sandboxed_folder, "HAS_DESCRIPTORS", with_descriptors)
    harness, before = file_harness(data), tree(data.parent)

    for path in (*OUTSIDE, *PRIVATE):
        said = [
            failure(harness, "read_file", path=path),
            failure(harness, "write_file", path=path, content="CHANGED", replace=True),
            failure(harness, "edit_file", path=path, old="SENTINEL", new="CHANGED"),
        ]
        if not path.startswith("sub"):
            said.append(failure(harness, "list_files", path=path))
        assert not any("SENTINEL" in text or str(data.parent) in text or len(text) > 400 for text in said), path
    assert tree(data.parent) == before


def test_a_refusal_names_the_path_or_the_kind_of_file(data: Path) -> None:
    harness = file_harness(data)

    assert "'..'" in failure(harness, "read_file", path="../a")
    assert "/etc/passwd" in failure(harness, "read_file", path="/etc/passwd")
    assert "outside" in failure(harness, "read_file", path="to_secret")
    assert "secrets" in failure(harness, "read_file", path="to_env")
    assert "notebook" in failure(harness, "write_file", path=".git/hooks/x", content="")
    assert "'none.txt'" in failure(harness, "read_file", path="none.txt")
    assert "folder" in failure(harness, "read_file", path="sub")


def test_links_that_stay_inside_are_followed(data: Path) -> None:
    harness = file_harness(data)
    (data / "sub" / "b.txt").write_text("inside")

    assert run_tool(harness, "read_file", path="inner").startswith("one")
    assert run_tool(harness, "read_file", path="inner_sub/b.txt") == "inside"
    run_tool(harness, "edit_file", path="inner", old="two", new="2")
    assert (data / "a.txt").read_text() == "one\n2\nthree\n"
    assert (data / "inner").is_symlink()


@pytest.mark.parametrize("given", ["/", "/proc", "/proc/self", "/sys", "/dev", "no such folder", "a\0b"])
def test_some_folders_are_given_to_nobody(given: str, data: Path) -> None:
    if given == "/":
        assert "tools" in failure(file_harness(Path("/")), "read_file", path="proc/self/environ")
        return
    with pytest.raises(BadUsage):
        files(given)
    for name in (".ssh", ".git", ".jupyter"):
        with pytest.raises(BadUsage, match="is not accessible to tools"):
            files(data / name)


def test_the_homes_of_nbtool_and_of_the_notebook_are_closed(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOL_HOME", str(data / "ours"))
    monkeypatch.setenv("IPYTHONDIR", str(data / "profile"))
    harness = file_harness(data)
    for folder in (data_dir(), data / "profile"):
        folder.mkdir(exist_ok=True)
        (folder / "x.toml").write_text("SENTINEL")

        assert "SENTINEL" not in failure(harness, "read_file", path=f"{folder.name}/x.toml")
        assert failure(harness, "write_file", path=f"{folder.name}/y.toml", content="x")
        assert not (folder / "y.toml").exists()


def test_pipes_and_sockets_are_no_plain_files(data: Path) -> None:
    os.mkfifo(data / "pipe")
    harness = file_harness(data)

    assert "regular file" in failure(harness, "read_file", path="pipe")
    assert "regular file" in failure(harness, "write_file", path="pipe", content="x", replace=True)


@pytest.mark.promise("below-the-folder")
@pytest.mark.skipif(not sandboxed_folder.HAS_DESCRIPTORS, reason="promised only where folders are opened by descriptor")
@pytest.mark.parametrize("tries", [30, pytest.param(10_000, marks=[pytest.mark.nightly, pytest.mark.timeout(900)])])
def test_a_link_that_is_swapped_in_meanwhile_is_never_followed(data: Path, tries: int, record_property: Tell) -> None:
    evil = data.parent / "evil"
    evil.mkdir()
    (evil / "a.txt").write_text("SENTINEL")
    (data / "turn").mkdir()
    (data / "turn" / "a.txt").write_text("honest")
    folder, seen, refused = sandboxed_folder.SandboxedFolder(data), [], 0

    with swap_folders(data / "turn", evil):
        while not refused or len(seen) < 30 or len(seen) + refused < tries:
            try:
                seen.append(folder.read("turn/a.txt", 100)[0])
                folder.write("turn/a.txt", b"written", replace=True)
            except ToolFailed:
                refused += 1
    record_property("injected", len(seen) + refused)

    assert set(seen) <= {b"honest", b"written"}
    assert refused
    assert [(path.name, path.read_text()) for path in evil.iterdir()] == [("a.txt", "SENTINEL")]


@contextmanager
def swap_folders(honest: Path, evil: Path) -> Iterator[None]:
    """Put a link in a folder's place and take it away again, as fast as it goes."""
    over, aside = threading.Event(), honest.with_name("aside")

    def swap() -> None:
        while not over.is_set():
            for step in (
                lambda: honest.rename(aside),
                lambda: honest.symlink_to(evil),
                honest.unlink,
                lambda: shutil.rmtree(honest),  # a writer has made a folder on its way; of a link this is refused
                lambda: aside.rename(honest),
            ):
                with suppress(OSError):
                    step()

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_file_is_read_whole_or_by_lines(data: Path) -> None:
    harness = file_harness(data)

    assert run_tool(harness, "read_file", path="a.txt") == "one\ntwo\nthree\n"
    assert run_tool(harness, "read_file", path="a.txt", start=2, lines=1) == "two\n\n[lines 2 to 2 of 3]"
    assert run_tool(harness, "read_file", path="a.txt", start=9) == "\n[there are 3 lines]"


def test_a_large_file_is_read_in_part_and_says_so_and_the_rest_is_a_reference(data: Path) -> None:
    harness = file_harness(data)
    (data / "big.txt").write_text("\u20ac" * MAX_READ_BYTES)

    record = harness.run(ask_for("read_file", path="big.txt"))
    assert record.status == "ok"
    assert "1,000,000 of 3,000,000 bytes" in record.shown
    assert len(record.shown) < 9_000
    assert harness.runtime.variables.text(record.reference).startswith("\u20ac" * 333_333 + "\n[only")


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\0\0", b"caf\xe9", b"a\0b", b"\xff\xfea\0"])
def test_what_is_no_text_is_not_read(data: Path, content: bytes) -> None:
    (data / "x.bin").write_bytes(content)

    assert failure(file_harness(data), "read_file", path="x.bin").startswith("x.bin is ")


def test_a_private_key_is_known_by_its_content_too(data: Path) -> None:
    (data / "notes.txt").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nSENTINEL\n")

    assert "private key" in failure(file_harness(data), "read_file", path="notes.txt")


def test_writing_asks_each_time_and_shows_the_content(data: Path) -> None:
    asked = []

    def approve(question: Any) -> Approved:
        asked.append(question)
        return Approved()

    harness = make_harness(files(data), approver=approve)
    for _ in range(2):
        run_tool(harness, "write_file", path="new.txt", content="hello\n", replace=True)
    run_tool(harness, "edit_file", path="new.txt", old="hello", new="bye")

    assert [question.tool for question in asked] == ["write_file", "write_file", "edit_file"]
    assert '"content": "hello\\n"' in asked[0].shown
    assert '"old": "hello"' in asked[2].shown
    assert not any(question.can_remember for question in asked)
    assert all(question.sensitive for question in asked)


@pytest.mark.promise("asks-by-default")
def test_nothing_is_written_when_nobody_approves(data: Path) -> None:
    harness = make_harness(files(data))
    before = tree(data)

    assert harness.run(ask_for("write_file", path="new.txt", content="x")).status == "denied"
    assert harness.run(ask_for("edit_file", path="a.txt", old="one", new="x")).status == "denied"
    assert tree(data) == before


def test_reading_alone_can_be_given(data: Path) -> None:
    assert list(files(data, write=False).tools()) == ["list_files", "read_file"]


def test_a_new_file_gets_its_folders_and_an_old_one_is_replaced_only_on_request(data: Path) -> None:
    harness = file_harness(data)

    assert (
        run_tool(harness, "write_file", path="out/deep/r.md", content="# R\n") == "Wrote out/deep/r.md: 4 characters."
    )
    assert "replace=true" in failure(harness, "write_file", path="out/deep/r.md", content="x")
    (data / "out/deep/r.md").chmod(0o640)
    run_tool(harness, "write_file", path="out/deep/r.md", content="new", replace=True)
    assert (data / "out/deep/r.md").read_text() == "new"
    assert stat.S_IMODE((data / "out/deep/r.md").stat().st_mode) == 0o640
    assert [path.name for path in (data / "out/deep").iterdir()] == ["r.md"]


@pytest.mark.parametrize("name", ["open.ipynb", "Open.IPYNB"])
def test_a_notebook_that_exists_is_changed_by_no_file_tool(data: Path, name: str) -> None:
    (data / name).write_text("{}")
    harness = file_harness(data)

    assert "nbtool:notebook" in failure(harness, "write_file", path=name, content="[]", replace=True)
    assert "nbtool:notebook" in failure(harness, "edit_file", path=name, old="{", new="[")
    assert (data / name).read_text() == "{}"
    run_tool(harness, "write_file", path=f"new-{name}", content="{}")
    assert (data / f"new-{name}").read_text() == "{}"


def test_what_is_too_large_or_no_text_is_not_written(data: Path) -> None:
    harness = file_harness(data)

    assert "1,000,000" in failure(harness, "write_file", path="x", content="\u20ac" * (MAX_WRITE_BYTES // 3 + 1))
    assert "NUL" in failure(harness, "write_file", path="x", content="a\0b")
    assert not (data / "x").exists()


def test_an_edit_replaces_what_occurs_exactly_once(data: Path) -> None:
    harness = file_harness(data)
    (data / "b.txt").write_bytes("\ufeffone\r\ntwo\r\nthree\r\n".encode())

    assert run_tool(harness, "edit_file", path="b.txt", old="two\nthree", new="2\n3") == "Edited b.txt at line 2."
    assert (data / "b.txt").read_bytes() == "\ufeffone\r\n2\r\n3\r\n".encode()
    assert "occurs 2 times" in failure(harness, "edit_file", path="a.txt", old="e\n", new="")
    for old in ("four", ""):
        assert "occur" in failure(harness, "edit_file", path="a.txt", old=old, new="x")


def test_a_list_names_files_with_sizes_and_leaves_out_what_is_closed(data: Path) -> None:
    (data / "sub" / "b.csv").write_text("x" * 12_345)
    harness = file_harness(data)

    flat, deep = run_tool(harness, "list_files").splitlines(), run_tool(harness, "list_files", deep=True).splitlines()
    assert {"a.txt  14", "sub/", "to_secret  (a link)"} <= set(flat)
    assert not any(name.startswith((".env", ".ssh", ".git", "id_rsa")) for name in deep)
    assert "sub/b.csv  12,345" in deep
    assert not any("data2" in name or name.startswith("to_parent/") for name in deep)
    assert run_tool(harness, "list_files", deep=True, pattern="*.csv") == "sub/b.csv  12,345\n[1 listed]"
    assert run_tool(harness, "list_files", path="sub", pattern="sub/*.csv").endswith("[1 listed]")


def test_a_long_list_is_cut_and_says_so(data: Path) -> None:
    for number in range(600):
        (data / "sub" / f"{number:04}.txt").touch()

    record = file_harness(data).run(ask_for("list_files", path="sub"))
    assert "[500 listed;" in record.shown


def test_a_toolset_recreated_over_the_same_folder_has_the_same_tools(data: Path) -> None:
    first, second = files(data).get("read_file"), files(data).get("read_file")
    other = files(data / "sub").get("read_file")

    assert (first.identity, first.digest) == (second.identity, second.digest)
    assert first.identity != other.identity


KEPT_APART = [
    ".env-prod", ".env_prod", ".env~", ".env.swp", "..env.swp", ".#.env", "#.env#", ".env 2", ".env (copy)",
    ".env - Copy", "copy of .env", ".env.20240101", ".env.zip", ".env.txt", "my_id_rsa", "id_rsa.bak",
    "backup_id_ed25519", "id_rsa.gz", "kaggle.json", "kaggle.json.bak", "kaggle (1).json", "kaggle copy.json",
    "kaggle_backup.json", ".netrc~", "_netrc.old", ".netrc.orig", "server.pem.bak", "key.pem~", ".pypirc.save",
    ".npmrc.bak", "aws_credentials", "credentials-2024.json", "my-credentials.yaml", "client_secret_123.apps.json",
    "service_account.json", "gcp-key.json", "prod-secrets.yml", "passwords.txt", "openai_api_key.txt", "token.json",
    ".git-credentials~", ".pgpass.bak", ".ssh.bak/config", "terraform.tfvars", "x.tfstate.backup", ".zsh_history",
    ".Renviron", ".databrickscfg", "kubeconfig.yaml", ".kaggle/any.txt", "wallet.dat", "x.keytab", ".htpasswd.old",
    "envrc", "local.settings.json", "appsettings.Production.json", "keystore", "login.keychain", "wg0.conf",
    "private.asc",
    "env.local", "prod.env.json", ".vault_pass", "vault_pass.txt", "default.keyring", ".Xauthority",
    "home.nmconnection", "env.sh",
    "cookies.json", "session.jwt", ".sentryclirc", "ngrok.yml", "keys.json", "keys.txt", ".config/gh/hosts.yml",
    ".config/hub", ".config/github-copilot/apps.json", ".wandb/settings", ".claude.json",
    "my.cnf", "azureauth.json", "sftp.json", "oauth2.json", "api_token", "bearer.txt", "vault.yml", "ansible-vault.yml",
    ".authinfo", ".passwd-s3fs", ".smbcredentials", ".cifs", ".muttrc", ".mbsyncrc", ".offlineimaprc", ".edgerc.bak",
    "gshadow", "settings-security.xml", "NuGet.Config", "keyring_pass.cfg", "kdewallet.kwl", "notebook_secret",
    "creds.json", "db_creds.yml", "aws-creds.txt", "pw.txt", "deploy_key", "ssh_key", "server.remmina",
    "webServers.xml", "dataSources.local.xml", "local_settings.py", "settings_local.py", ".sgptrc",
    "connections.xml", "my-secrets.md", "pass.txt", "ID_RSA.BAK", "\uff4bAGGLE.json",
]  # fmt: skip

DATA = [
    "hosts.yml", "database.yml", "env.py", "env.csv", "known_hosts", "key.csv", "settings.json", "gh.csv", "jwt.csv",
    "environment.yml", "data.csv", "README.md", "tokenizer.json", "config.json", "secretary.csv", "keys.csv",
    "monkey.json", "train.py", "requirements.txt", "sales_2024.csv", "old.csv", "notes.txt", "turkey.json",
    "history.csv", "environment.txt", "params.yaml", "authors.json", "compass.json", "sales (1).csv",
    "creeds.csv", "sacred.json", "settings.py", "datasources.xml", "secrecy.py",
    "copy of sales.csv", "prices.bak", "tokens.csv", "appsettings.json", "author.json", "bypass.txt", "vault.csv",
]  # fmt: skip


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.promise("below-the-folder")
@pytest.mark.parametrize("name", KEPT_APART)
def test_a_file_of_secrets_and_its_copies_are_not_read(data: Path, name: str) -> None:
    (data / name).parent.mkdir(parents=True, exist_ok=True)
    (data / name).write_text("SENTINEL")
    harness = file_harness(data)

    assert "secrets" in failure(harness, "read_file", path=name)
    assert "secrets" in failure(harness, "write_file", path=name, content="x", replace=True)
    assert Path(name).name not in run_tool(harness, "list_files", deep=True)


COPIES = [
    "{}",
    "{}~",
    "{}.bak",
    "{}.orig",
    "{}.old",
    "{} (1)",
    "{} copy",
    "copy of {}",
    "#{}#",
    "{}.swp",
    "{}.zip",
    "{}.gz",
]


@pytest.mark.promise("below-the-folder")
@settings(max_examples=40)
@given(
    name=st.sampled_from([name for name in KEPT_APART if "/" not in name]),
    copies=st.lists(st.sampled_from(COPIES), max_size=1),
    case=st.sampled_from([str, str.upper, str.title]),
    folder=st.sampled_from(["", "sub/", "a b/c/"]),
)
def test_no_copy_of_a_file_of_secrets_is_read_in_any_case_and_folder(
    tmp_path_factory: pytest.TempPathFactory, name: str, copies: list[str], case: Callable[[str], str], folder: str
) -> None:
    root = tmp_path_factory.mktemp("data")
    for copy in copies:
        name = copy.format(name)
    path = root / f"{folder}{case(name)}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("SENTINEL")

    harness = file_harness(root)

    assert "file of secrets" in failure(harness, "read_file", path=f"{folder}{case(name)}")
    assert path.name not in run_tool(harness, "list_files", deep=True)


@pytest.mark.parametrize("name", DATA)
def test_a_file_of_data_is_read_whatever_it_sounds_like(data: Path, name: str) -> None:
    (data / name).write_text("x,y\n1,2\n")

    assert "1,2" in run_tool(file_harness(data), "read_file", path=name)


EXAMPLES = {
    "a private key": "-----BEGIN PGP PRIVATE KEY BLOCK-----",
    "a key of AWS": "id = AKIAQWERTYUIOP234567",
    "a key of OpenAI or a like provider": "key: sk-proj-" + "a1" * 12,
    "a token of GitHub": "ghp_" + "a1" * 18,
    "a token of GitLab": "glpat-" + "a1" * 10,
    "a token of Hugging Face": "hf_" + "a1" * 17,
    "a key of Google": "AIza" + "a1" * 17 + "b",
    "a service account": '{"type": "service_account"}',
    "a token of Slack": "xoxb-1234567890-abc",
    "a key of Stripe": "sk_live_" + "a1" * 12,
    "a token of npm": "//registry.npmjs.org/:_authToken=abc",
    "a token of PyPI": "pypi-AgEIcHlwaS5vcmc" + "a1" * 10,
    "a key of SendGrid": "SG." + "a1" * 11 + ".x",
    "a key of Groq or xAI": "gsk_" + "a1" * 20,
    "a token of Databricks": "dapi" + "a1" * 16,
    "a token of Vault": "hvs." + "a1" * 12,
    "a token of DigitalOcean or Shopify": "dop_v1_" + "a1" * 16,
    "a key of Azure": "AccountKey=" + "a1" * 20,
    "a key of WireGuard": "PrivateKey = " + "a1" * 21 + "b=",
    "an entry of .netrc": "machine host login me password x",
    "a private key in base64": "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo=",
    "a signed token (JWT)": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.SflKxwRJSMeKKF2QT4fwpM",
    "a password in an address": "postgres://app:hunterhunter@db.example.com:5432/x",
    "a password": "production:\n  adapter: postgresql\n  password: s3cr3tpw!",
    "a key or token by its name": "github.com:\n    oauth_token: 16c7e42f292c6912e7710c838347ae178b4a",
    "a header of authorization": "Authorization: Basic dXNlcjpwYXNzd29yZDEyMw==",
    "a login of a registry": '{"auths": {"index.docker.io": {"auth": "dXNlcjpwYXNzd29yZA=="}}}',
    "a key of Kubernetes": "client-key-data: " + "a1" * 20,
    "a hash of a password": "root:$6$abcdefgh$0123456789abcdef:19000:",
    "a webhook": "https://discord.com/api/webhooks/123456789012345678/abc",
    "a token of Telegram": "123456789:AA" + "a1" * 17,
    "a key of Twilio or Mailgun": "key-" + "a1" * 16,
    "a token of Atlassian": "ATATT3" + "a1" * 20,
    "a key of a provider of models": "nvapi-" + "a1" * 30,
    "a token of a service": "lin_api_" + "a1" * 20,
}
MORE_EXAMPLES = [
    "OPENAI_LIKE_API_KEY=abcdEFGH12345678", "export SERVICE_PASSWORD=abc12345",
    '{"SecretAccessKey": "wJalrXUtnFEMI1K7MDENG"}', "<server><password>hunter22</password></server>",
    "redis://:hunter22@cache:6379/0", "mongodb+srv://u:hunterx@c0.host.net", "https://alice:hunterhunter@git.example.com",
    "  psk=hunter22hunter", "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----", "SharedAccessKey=" + "a1" * 20,
    "?sv=1&sig=" + "a1" * 20, "//registry.npmjs.org/:_auth=dXNlcjpwYXNz", "alice:$2y$10$0123456789abcdef",
    "sbp_" + "a1" * 20, "Authorization: Bearer abc123def456ghi789",
    '{"user": "ada", "password": "hunter22!"}', "user = ada\r\npassword = hunter22hunter\r\n",
    "a\rpassword=hunter22\rb",
]  # fmt: skip
"""Other spellings of the same kinds."""
HARMLESS = [
    "password = getpass()", 'password: str = Field(min_length=8)', "password = request.form", "password = password1",
    "PASSWORD=${DB_PASSWORD}", "password: <your password>", "postgres://user:password@localhost/x",
    "postgres://postgres:postgres@localhost/x", "postgres://${USER}:${PASSWORD}@host/x", "https://host/a:b@c",
    'api_key = os.environ["API_KEY"]', "api_key=YOUR_API_KEY_GOES_HERE", "primary_key = customer_id_2024_main",
    "Authorization: Bearer YOUR_ACCESS_TOKEN_HERE", "token: Token = next(tokens)", "eyJ is how a token begins",
    '{"password": "<your password>"}', '{"password": "password1"}', 'form["password"]: str',
    "max_tokens: 12345678901234567890", '"auth": "none"', "key-value", "sort_key = lambda row: row[1]",
]  # fmt: skip
"""What code and manuals say about secrets without one."""


def test_every_kind_of_secret_has_its_example() -> None:
    assert set(EXAMPLES) == {kind for kind, _ in SECRET_TEXTS}


@pytest.mark.promise("below-the-folder")
@pytest.mark.parametrize("kind", EXAMPLES)
def test_a_file_that_holds_a_secret_is_not_read_whatever_it_is_called(data: Path, kind: str) -> None:
    (data / "notes.md").write_text(f"first\n{EXAMPLES[kind]}\nSENTINEL\n")
    harness = file_harness(data)

    assert kind in failure(harness, "read_file", path="notes.md")
    assert kind in failure(harness, "read_file", path="notes.md", start=1, lines=1)
    assert kind in failure(harness, "edit_file", path="notes.md", old="first", new="last")


@pytest.mark.promise("below-the-folder")
@pytest.mark.parametrize("text", MORE_EXAMPLES)
def test_other_spellings_of_secrets_are_found(text: str) -> None:
    assert secret_in(f"first\n{text}\nlast")


@pytest.mark.parametrize("text", HARMLESS)
def test_code_and_manuals_that_speak_of_secrets_are_read(text: str) -> None:
    assert secret_in(f"first\n{text}\nlast\n") == ""


@pytest.mark.parametrize("text", ["task-" + "a" * 40, "sk-learn is short", "AKIA", "password", "a machine login"])
def test_words_that_only_sound_like_a_secret_are_read(data: Path, text: str) -> None:
    (data / "notes.md").write_text(text)

    assert text in run_tool(file_harness(data), "read_file", path="notes.md")


HOSTILE_UNITS = [
    "sk-", "-----BEGIN ", "machine ", "eyJ", "AKIA", "a" * 60, "machine x login y ", "eyJa-", "a://b:", "password: ",
    "api_key=", "\t", "@a://",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE_UNITS)
def test_a_text_of_a_megabyte_is_searched_for_secrets_in_a_moment(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))

    run_within(3.0, lambda: secret_in(text))


@pytest.mark.promise("below-the-folder")
@pytest.mark.skipif(os.name != "posix", reason="links to files of another folder")
def test_a_hard_link_to_a_file_outside_is_not_read_and_not_changed(data: Path, tmp_path: Path) -> None:
    outside = tmp_path / "secret.txt"
    os.link(outside, data / "innocent.txt")
    harness = file_harness(data)

    assert "hard link" in failure(harness, "read_file", path="innocent.txt")
    assert "hard link" in failure(harness, "edit_file", path="innocent.txt", old="SENTINEL", new="x")
    harness.run(ask_for("write_file", path="innocent.txt", content="x", replace=True))
    assert outside.read_text() == "SENTINEL"


HOSTILE = {
    "stars": "*a" * 99 + "b",
    "stars and marks": "*?" * 99 + "b",
    "sets": "[!b]*" * 39 + "b",
    "open sets": "[" * 199,
    "stars alone": "*" * 199 + "b",
}


@pytest.mark.promise("bounded")
@pytest.mark.parametrize("pattern", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_pattern_costs_bounded_time(data: Path, pattern: str) -> None:
    for number in range(1_000):
        (data / f"{'a' * 240}{number}").touch()
    began = time.perf_counter()
    listed = run_tool(file_harness(data), "list_files", pattern=pattern)

    assert time.perf_counter() - began < 20 * LISTING_SECONDS  # without a bound it never ends
    assert "listed" in listed


def test_a_pattern_that_is_too_long_is_refused_in_one_line(data: Path) -> None:
    assert "200 characters" in failure(file_harness(data), "list_files", pattern="*" * 201)

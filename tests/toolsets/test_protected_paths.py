from __future__ import annotations

from itertools import pairwise
from pathlib import PurePosixPath

import pytest

from nbtool.tools.secret_patterns import SECRET_FOLDERS, SECRET_PLACES
from nbtool.toolsets.protected_paths import protected_reason

SECRETS = (
    ".ssh/known_hosts", ".gnupg/trustdb", ".aws/config", ".kube/config", ".azure/clouds.config", ".docker/config.json",
    ".gcloud/properties", ".password-store/mail", ".kaggle/config", ".databricks/profiles", ".snowsql/config",
    ".oci/config", ".boto/config", ".chef/knife.rb", ".mozilla/profiles.ini", ".thunderbird/profiles.ini",
    ".bitcoin/bitcoin.conf", ".electrum/config", ".local/share/keyrings/user.dat", ".config/gcloud/configurations",
    "Library/Keychains/metadata", ".config/github-copilot/apps.json", ".config/io.datasette.llm/logs.db",
    ".sfdx/alias.json", ".ngrok2/ngrok.log",
    ".config/gh/hosts.yml", ".config/hub", ".config/op/config", ".config/doctl/config.yaml",
    ".config/glab-cli/config.yml", ".config/flyctl/config.yml", ".config/netlify/config.json",
    ".config/tailscale/profile", ".config/stripe/config.toml", ".fly/config.yml", ".wandb/settings",
    ".config/borg/keys/host",
    "project/secrets/notes", "project/.secrets/notes", ".cloudflared/tunnel.json", ".wrangler/config/default.toml",
    ".heroku/notes", ".aliyun/config.json", ".bluemix/config.json", ".tencentcloud/default.configure",
    ".snowflake/config.toml", ".okta/okta.yaml", ".step/config", ".acme.sh/account.conf", ".lego/accounts/a",
    ".gsutil/credstore", ".ethereum/geth", ".near-credentials/a.json", ".purple/accounts.xml", ".getmail/getmailrc",
    ".mutt/rc", ".weechat/irc.conf", ".irssi/config", ".local/share/kwalletd/wallet.salt",
    ".local/share/TelegramDesktop/tdata/datas", ".litellm/config", ".dbt/profiles.yml", ".m2/settings.xml",
    ".gradle/gradle.properties", ".bundle/config", ".netlify/config.json", ".continue/config.json", ".cursor/mcp.json",
    "project/.vscode/mcp.json",
    *(f".config/{name}/notes" for name in (
        "gh-copilot", "heroku", "configstore", "google-chrome", "chromium", "BraveSoftware", "microsoft-edge", "Signal",
        "Slack", "discord", "anthropic", "openai", "aichat", "wandb", "fly", "railway", "argocd", "helm", "joplin",
        "linode-cli", "s3cmd", "lftp", "remmina", "evolution", "goa-1.0", "pypoetry", "hcloud", "scw", "mc",
        "keepassxc", "jgit", "databricks", "dbt", "solana", "pulumi", "vercel", "containers", "sops", "age", "composer",
        "filezilla",
    )),
)  # fmt: skip
"""Files without a name of their own, in the folders of programs that keep secrets there."""


def test_a_path_without_any_part_is_private_to_nobody() -> None:
    assert protected_reason(PurePosixPath()) == ""
    assert "system" in protected_reason(PurePosixPath("/proc"))
    assert protected_reason(PurePosixPath("/home/ada/.jupyter/notebook_cookie_secret"))


@pytest.mark.parametrize("name", ["notebook_cookie_secret", "jupyter_cookie_secret"])
def test_the_secrets_of_the_notebook_server_are_private_wherever_they_lie(name: str) -> None:
    assert protected_reason(PurePosixPath("/data") / name) != ""


def test_whatever_is_in_a_folder_of_secrets_is_private() -> None:
    paths = {name: PurePosixPath("/home/ada") / name for name in SECRETS}
    folded = [PurePosixPath(name.lower()).parts for name in SECRETS]

    assert [name for name, path in paths.items() if "secrets" not in protected_reason(path)] == []
    assert {part for parts in folded for part in parts} >= SECRET_FOLDERS
    assert {pair for parts in folded for pair in pairwise(parts)} >= SECRET_PLACES


def test_the_same_names_elsewhere_are_private_to_nobody() -> None:
    elsewhere = ("hub", "op/config", "stripe/config.toml", "settings", "keys/host", "doctl/.config", ".config/app/hub")

    assert [name for name in elsewhere if protected_reason(PurePosixPath("/home/ada") / name)] == []

"""Names of files of secrets, and of the copies that editors, archivers and people make of them."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from nbtool.tools.secret_patterns import SECRET_FILES, is_secret_name, original_names

NAMES = (
    # settings that hold keys
    ".envrc", "web.env", "web.env.production", "web.env-staging", "web.env_dev", "dotenv.sh", ".renviron.site",
    ".flaskenv", "envrc", "local.settings.json", "appsettings.production.json",
    # keys and certificates
    "github_id_rsa", "id_dsa-work", "id_ecdsa_sk.pub", "laptop-id_ed25519", "server.pem", "server.key", "identity.p12",
    "authkey_4a7b.p8", "identity.pfx", "identity.pkcs12", "release.jks", "release.keystore", "android.bks",
    "http.keytab", "main.kdb", "work.kdbx", "work.ppk", "mail.gpg", "mail.pgp", "office.ovpn",
    "1password.agilekeychain", "1password.opvault", "vault.psafe3", "jwt_private_key", "jwt-private-key.der",
    "privatekey.xml", "ssh_host_ed25519_key", "master.key_production", "wallet.dat", "keystore", "login.keychain",
    "login.keychain-db", "private.asc", "wg0.conf",
    # credentials of programs
    ".netrc", "_netrc", ".pgpass", "pgpass.conf", ".my.cnf", ".mylogin.cnf", ".npmrc", ".yarnrc.yml", ".pypirc",
    ".htpasswd", ".dockercfg", ".dockerconfigjson", ".boto", ".s3cfg", ".vault-token-prod", ".terraformrc",
    "terraform.rc", "prod.tfstate", "prod.tfvars", ".databrickscfg", ".snowsqlrc", "rclone.conf", ".rclone.conf",
    ".msmtprc", ".fetchmailrc", ".esmtprc", ".wgetrc", ".curlrc", ".ftpconfig", "sftp-config.json", ".remote-sync.json",
    "filezilla.xml", "sitemanager.xml", "recentservers.xml", "kaggle.json", "kubeconfig.yaml", "prod.kubeconfig",
    "auth.json", "token", "token.json", "token.pickle", "github.token", "my_access_token.csv", "accesstokens.json",
    "azureprofile.json", "gcp_service_account.json", "gcp-service-account.json", "serviceaccount2.json",
    "app-firebase-adminsdk-x1.json", "gcp_key.json", "gcp-key.json", "gcp-keyfile-2.json", "wp-config.php", "my.cnf",
    "env.sh", "azureauth.json", "sftp.json", "oauth2.json", "github_token", "github-token", "bearer.txt", "vault.yml",
    "prod-vault.yaml", "connections.xml", "logins.json", "login data", "key3.db", "key4.db", "cookies.sqlite",
    "cookies.txt", "signons.sqlite",
    # names that say "secret"
    "aws_credentials.csv", "secrets", "secret", "secrets.py", "secret.go", "my_client_secret", "my-client-secret",
    "app-secrets.json", "app-secrets.yml", "app-secrets.toml", "app-secrets.ini", "app-secrets.cfg",
    "app-secrets.conf", "app-secrets.txt", "app-secrets.md", "pass.txt", "app-secrets.properties", "app-secrets.xml",
    "wifi-password.txt", "wifi-password.json", "wifi-password.yaml", "wifi-password.ini", "wifi-password.csv",
    "wifi-password.xlsx", "team-passwords.docx", "password", "passwd", "shadow", "openai_api_key", "openai-api-key",
    "openai.apikey", "htpasswd", "app.secret", "app.secrets", "db.password",
    # Jupyter, and shell histories
    "kernel-2f6c.json", "jpserver-4711.json", "nbserver-4711.json", "jupyter_cookie_secret", "notebook_cookie_secret",
    ".python_history", ".histfile", ".rhistory", ".lesshst", ".viminfo",
    # more credentials
    "env", "env.local", "env.json", ".vault_pass", ".vaultpass", "vault_pass", ".ansible_vault", ".lastpass", "keyring",
    "default.keyring", ".xauthority", ".iceauthority", ".rhosts", ".shosts", "home.nmconnection",
    "wpa_supplicant-wlan0.conf", "stored_tokens", "cookies.json", "session.jwt", "jwt.txt", ".sentryclirc",
    ".mongorc.js", ".dbshell", "ngrok.yml", "tailscaled.state", ".claude.json", "claude_desktop_config.json", ".openai",
    ".anthropic", "keys.json", "key.txt", "keys.txt", "config.local", "prod.kubeconfig.yaml", "gh_hosts.yml",
    "prod-creds.json", "aws_creds.json", "creds", "creds.json", "kdewallet.kwl", "home.remmina", "deploy_key.pub",
    "ssh_key_work", ".authinfo", ".cifs_home", ".edgerc", ".mbsyncrc", ".muttrc", ".offlineimaprc", ".passwd-s3fs",
    ".sgptrc", "gshadow-", "datasources.local.xml", "keyring_pass.cfg", "local_settings.py", "settings_local.py",
    "notebook_secret", "nuget.config", "pw.txt", "settings-security.xml", "webservers.xml",
)  # fmt: skip
"""A file of each kind, as its program or its owner calls it."""


def test_a_file_of_each_kind_is_recognized_by_its_name() -> None:
    assert [name for name in NAMES if not is_secret_name(name)] == []


def test_every_pattern_is_needed_for_the_name_of_a_file() -> None:
    matching = {
        name: [
            pattern
            for pattern in SECRET_FILES
            if any(fnmatchcase(original, pattern) for original in original_names(name))
        ]
        for name in NAMES
    }

    assert set(SECRET_FILES) - {patterns[0] for patterns in matching.values() if len(patterns) == 1} == set()


@pytest.mark.parametrize("name", [".netrc", ".netrc~", ".#.netrc", "id_rsa.bak.gz", "kaggle (1).json", ".netrc.swp"])
def test_a_file_of_secrets_is_recognized_by_its_name_and_by_those_of_its_copies(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["netrcs.txt", "notes.bak", "prices (1).json", "data.csv"])
def test_other_files_and_their_copies_are_not(name: str) -> None:
    assert not is_secret_name(name)


def test_a_copy_of_a_copy_is_recognized_up_to_its_fourth_mark() -> None:
    assert ".netrc" in original_names(".netrc.bak.old.orig.gz")
    assert is_secret_name(".netrc.bak.old.orig.gz")

"""What files of secrets are called, and how secrets look inside others: kept lists, as data.

Names follow the lists of gitrob and shhgit (https://github.com/eth0izzle/shhgit, `config.yaml`) and of GitHub's
`gitignore` templates; contents follow those rules of gitleaks (https://github.com/gitleaks/gitleaks,
`config/gitleaks.toml`) that have a prefix of their own, so that a text of any length is searched in linear time.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache

SECRET_FILES = (
    # settings that hold keys
    ".env*", "*.env", "*.env.*", "*.env-*", "*.env_*", "dotenv*", ".envrc*", ".renviron*", ".flaskenv*",
    "envrc", "local.settings.json", "appsettings.*.json",
    # keys and certificates
    "*id_rsa*", "*id_dsa*", "*id_ecdsa*", "*id_ed25519*", "*.pem", "*.key", "*.p12", "*.p8", "*.pfx", "*.pkcs12",
    "*.jks", "*.keystore", "*.bks", "*.keytab", "*.kdb", "*.kdbx", "*.ppk", "*.gpg", "*.pgp", "*.ovpn",
    "*.agilekeychain", "*.opvault", "*.psafe3", "*private_key*", "*private-key*", "*privatekey*", "ssh_host_*key*",
    "master.key*", "wallet.dat", "otr.private_key",
    "keystore", "*.keychain", "*.keychain-db", "private.asc", "wg[0-9]*.conf",
    # accounts of programs
    ".netrc*", "_netrc*", ".pgpass*", "pgpass.conf", ".my.cnf*", ".mylogin.cnf", ".npmrc*", ".yarnrc*", ".pypirc*",
    ".htpasswd*", ".git-credentials*", ".dockercfg*", ".dockerconfigjson*", ".boto*", ".s3cfg*", ".vault-token*",
    ".terraformrc*", "terraform.rc", "*.tfstate*", "*.tfvars*", ".databrickscfg*", ".snowsqlrc*", "rclone.conf*",
    ".rclone.conf*", ".msmtprc*", ".fetchmailrc*", ".esmtprc*", ".wgetrc*", ".curlrc*", ".ftpconfig*",
    "sftp-config.json", ".remote-sync.json", "filezilla.xml", "sitemanager.xml", "recentservers.xml", "kaggle.json*",
    "kubeconfig*", "*.kubeconfig", "auth.json", "token", "token.json", "token.pickle", "token.txt", "*.token",
    "*access_token*", "accesstokens.json", "azureprofile.json", "*service_account*.json", "*service-account*.json",
    "*serviceaccount*.json", "*adminsdk*.json", "*_key.json", "*-key.json", "*keyfile*.json", "wp-config.php*",
    "my.cnf", "azureauth.json", "sftp.json", "oauth*.json", "*_token", "*-token", "bearer.txt", "vault.y*ml",
    "*-vault.y*ml", "connections.xml",
    "logins.json", "login data", "key3.db", "key4.db", "cookies.sqlite", "cookies.txt", "signons.sqlite",
    # whatever says so itself
    "*credential*", "secrets", "secret", "secrets.*", "secret.*", "*client_secret*", "*client-secret*",
    "*secret*.json", "*secret*.y*ml", "*secret*.toml", "*secret*.ini", "*secret*.cfg", "*secret*.conf", "*secret*.txt",
    "*secret*.md", "pass.txt",
    "*secret*.key", "*secret*.properties", "*secret*.xml", "*password*.txt", "*password*.json", "*password*.y*ml",
    "*password*.ini", "*password*.csv", "*password*.xls*", "*passwords*", "password", "passwd*", "shadow", "*api_key*",
    "*api-key*", "*apikey*", "htpasswd", "*.secret", "*.secrets", "*.password",
    # of Jupyter, and histories of shells
    "kernel-*.json", "jpserver-*.json", "nbserver-*.json", "jupyter_cookie_secret", "notebook_cookie_secret",
    ".*_history*", ".histfile*", ".rhistory*", ".lesshst*", ".viminfo*",
)  # fmt: skip
"""Names of files that hold secrets, as patterns in lower case."""

SECRET_FOLDERS = frozenset({
    ".ssh", ".gnupg", ".aws", ".kube", ".azure", ".docker", ".gcloud", ".password-store", ".kaggle", ".databricks",
    ".snowsql", ".oci", ".boto", ".chef", ".mozilla", ".thunderbird", ".bitcoin", ".electrum", "keyrings", "gcloud",
    "keychains",
})  # fmt: skip
"""Names of folders in which everything is a secret."""

_COPY = re.compile(
    r"^(?:copy of |\.#|#|\.~lock\.|~\$)"
    r"|(?:(?<!~)~+|#|[ ._-](?:bak\w{0,60}|backup|back|old|orig|original|save|saved|sav|sw[a-z]|tmp|temp|copy|rej|dist"
    r"|disabled|prev|new|gz|bz2|xz|zst|zip|tar|tgz|7z|rar|enc|asc|txt|\d+)|[ ]?\(\d+\)|[ ]-[ ]copy)$"
)
"""What editors, archivers and people put before or after the name of a file that they copy."""

_NAMES = re.compile("|".join(map(translate, SECRET_FILES)))

SECRET_TEXTS = (
    ("a private key", r"-----BEGIN[ A-Z0-9_-]{0,60}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d:"),
    ("a key of AWS", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b|\baws_secret_access_key\s{0,9}="),
    ("a key of OpenAI or a like provider", r"\bsk-(?:proj-|svcacct-|admin-|or-v1-|ant-)?[A-Za-z0-9_-]{20}"),
    ("a token of GitHub", r"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{22})"),
    ("a token of GitLab", r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|agent)-[A-Za-z0-9_-]{20}"),
    ("a token of Hugging Face", r"\bhf_[A-Za-z0-9]{30}"),
    ("a key of Google", r"\bAIza[A-Za-z0-9_-]{35}|\bya29\.[A-Za-z0-9_-]{20}|\bGOCSPX-[A-Za-z0-9_-]{20}"),
    ("a service account", r"\"type\"\s{0,9}:\s{0,9}\"(?:service_account|authorized_user)\""),
    ("a token of Slack", r"\bxox[abeoprs]-[A-Za-z0-9-]{10}|hooks\.slack\.com/services/T"),
    ("a key of Stripe", r"\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10}"),
    ("a token of npm", r"\bnpm_[A-Za-z0-9]{36}|_authToken\s{0,9}="),
    ("a token of PyPI", r"\bpypi-AgE[A-Za-z0-9_-]{20}"),
    ("a key of SendGrid", r"\bSG\.[A-Za-z0-9_-]{22}\."),
    ("a key of Groq or xAI", r"\b(?:gsk_|xai-)[A-Za-z0-9]{40}"),
    ("a token of Databricks", r"\bdapi[a-f0-9]{32}"),
    ("a token of Vault", r"\bhv[sb]\.[A-Za-z0-9_-]{24}"),
    ("a token of DigitalOcean or Shopify", r"\b(?:do[opr]_v1|shp(?:at|ca|pa|ss))_[a-f0-9]{32}"),
    ("a key of Azure", r"\bAccountKey=[A-Za-z0-9+/]{40}"),
    ("a key of WireGuard", r"(?m)^\s{0,9}P(?:rivate|reshared)Key\s{0,9}=\s{0,9}[A-Za-z0-9+/]{43}="),
    ("an entry of .netrc", r"(?m)^\s{0,9}machine\s{1,9}\S{1,200}\s{1,9}login\s{1,9}\S{1,200}\s{1,9}password\s"),
)  # fmt: skip
"""What a secret is called, and the pattern of its beginning."""

_TEXTS = tuple((name, re.compile(pattern)) for name, pattern in SECRET_TEXTS)
_MOST_MARKS = 4


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a file's name, in lower case, is one of a file of secrets, or of a copy of one."""
    return any(_NAMES.match(one) for one in original_names(name))


@lru_cache(maxsize=4096)
def original_names(name: str) -> tuple[str, ...]:
    """Give a name, and those it may be a copy of: `.netrc~`, `.#.netrc`, `id_rsa.bak.gz`, `kaggle (1).json`."""
    names = [name]
    stem, dot, ending = name.rpartition(".")
    for first in dict.fromkeys((name, f"{_COPY.sub('', stem)}{dot}{ending}" if stem else name)):
        one = first
        for _ in range(_MOST_MARKS):
            if (shorter := _COPY.sub("", one)) in ("", one):
                break
            one = shorter
            names += [one, one.removeprefix(".")] if one.endswith(".swp") or name.endswith((".swp", ".swo")) else [one]
        names.append(first)
    return tuple(dict.fromkeys(names))


def secret_in(text: str) -> str:
    """Say which kind of secret a text holds; empty where none is found."""
    return next((name for name, pattern in _TEXTS if pattern.search(text)), "")

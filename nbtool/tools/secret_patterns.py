"""File names and text patterns of secrets.

Names follow the lists of gitrob and shhgit (https://github.com/eth0izzle/shhgit, `config.yaml`) and of GitHub's
`gitignore` templates. Contents follow those rules of gitleaks (https://github.com/gitleaks/gitleaks,
`config/gitleaks.toml`, as of November 2026) that have a distinct prefix, and four that match the keyword before the
value, if the value has a digit and is not a placeholder. Every repetition is bounded, so a text of any length is
searched in linear time. detect-secrets is not used: it reads files line by line and also uses entropy.
"""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections.abc import Iterator
from fnmatch import translate
from functools import lru_cache
from pathlib import PurePath

from nbtool.tools.secret_names import has_secret_words

SECRET_FILES = (
    # settings that hold keys
    ".env*", "*.env", "*.env.*", "*.env-*", "*.env_*", "dotenv*", ".renviron*", ".flaskenv*",
    "envrc", "local.settings.json", "appsettings.*.json",
    # keys and certificates
    "*id_rsa*", "*id_dsa*", "*id_ecdsa*", "*id_ed25519*", "*.pem", "*.key", "*.p12", "*.p8", "*.pfx", "*.pkcs12",
    "*.jks", "*.keystore", "*.bks", "*.keytab", "*.kdb", "*.kdbx", "*.ppk", "*.gpg", "*.pgp", "*.ovpn",
    "*.agilekeychain", "*.opvault", "*.psafe3", "*private_key*", "*private-key*", "*privatekey*", "ssh_host_*key*",
    "master.key*", "wallet.dat", "keystore", "*.keychain", "*.keychain-db", "private.asc", "wg[0-9]*.conf",
    # credentials of programs
    ".netrc*", "_netrc*", ".pgpass*", "pgpass.conf", ".my.cnf*", ".mylogin.cnf", ".npmrc*", ".yarnrc*", ".pypirc*",
    ".htpasswd*", ".dockercfg*", ".dockerconfigjson*", ".boto*", ".s3cfg*", ".vault-token*",
    ".terraformrc*", "terraform.rc", "*.tfstate*", "*.tfvars*", ".databrickscfg*", ".snowsqlrc*", "rclone.conf*",
    ".rclone.conf*", ".msmtprc*", ".fetchmailrc*", ".esmtprc*", ".wgetrc*", ".curlrc*", ".ftpconfig*",
    "sftp-config.json", ".remote-sync.json", "filezilla.xml", "sitemanager.xml", "recentservers.xml", "kaggle.json*",
    "kubeconfig*", "*.kubeconfig", "auth.json", "token", "token.json", "token.pickle", "*.token",
    "*access_token*", "accesstokens.json", "azureprofile.json", "*service_account*.json", "*service-account*.json",
    "*serviceaccount*.json", "*adminsdk*.json", "*_key.json", "*-key.json", "*keyfile*.json", "wp-config.php*",
    "my.cnf", "env.sh", "azureauth.json", "sftp.json", "oauth*.json", "*_token", "*-token", "bearer.txt", "vault.y*ml",
    "*-vault.y*ml", "connections.xml",
    "logins.json", "login data", "key3.db", "key4.db", "cookies.sqlite", "cookies.txt", "signons.sqlite",
    # names that say "secret"
    "*credential*", "secrets", "secret", "secrets.*", "secret.*", "*client_secret*", "*client-secret*",
    "*secret*.json", "*secret*.y*ml", "*secret*.toml", "*secret*.ini", "*secret*.cfg", "*secret*.conf", "*secret*.txt",
    "*secret*.md", "pass.txt",
    "*secret*.properties", "*secret*.xml", "*password*.txt", "*password*.json", "*password*.y*ml",
    "*password*.ini", "*password*.csv", "*password*.xls*", "*passwords*", "password", "passwd*", "shadow", "*api_key*",
    "*api-key*", "*apikey*", "htpasswd", "*.secret", "*.secrets", "*.password",
    # Jupyter, and shell histories
    "kernel-*.json", "jpserver-*.json", "nbserver-*.json", "jupyter_cookie_secret", "notebook_cookie_secret",
    ".*_history*", ".histfile*", ".rhistory*", ".lesshst*", ".viminfo*",
    # more credentials
    "env", "env.local", "env.json", ".vault_pass*", ".vaultpass*", "vault_pass*", ".ansible_vault*",
    ".lastpass*", "keyring", "*.keyring", ".xauthority", ".iceauthority", ".rhosts", ".shosts", "*.nmconnection",
    "wpa_supplicant*.conf", "stored_tokens*", "cookies.json", "*.jwt", "jwt.txt", ".sentryclirc*", ".mongorc.js",
    ".dbshell", "ngrok.y*ml", "tailscaled.state*", ".claude.json*", "claude_desktop_config.json", ".openai",
    ".anthropic", "keys.json", "key.txt", "keys.txt", "config.local", "*.kubeconfig.y*ml", "gh_hosts.y*ml",
    ".authinfo*", ".passwd-s3fs*", ".cifs*", ".muttrc*", ".mbsyncrc*", ".offlineimaprc*",
    ".edgerc*", "gshadow*", "settings-security.xml", "nuget.config", "keyring_pass.cfg", "*.kwl", "notebook_secret",
    "creds", "creds.*", "*_creds.*", "*-creds.*", "pw.txt", "*deploy_key*", "ssh_key*", "*.remmina", "webservers.xml",
    "datasources.local.xml", "local_settings.py", "settings_local.py", ".sgptrc",
)  # fmt: skip
"""Names of files that hold secrets, as lower-case patterns."""

SECRET_FOLDERS = frozenset({
    ".ssh", ".gnupg", ".aws", ".kube", ".azure", ".docker", ".gcloud", ".password-store", ".kaggle", ".databricks",
    ".snowsql", ".oci", ".boto", ".chef", ".mozilla", ".thunderbird", ".bitcoin", ".electrum", "keyrings", "gcloud",
    "keychains", "github-copilot", "io.datasette.llm", ".sfdx", ".ngrok2", "secrets", ".secrets", ".cloudflared",
    ".wrangler", ".heroku", ".aliyun", ".bluemix", ".tencentcloud", ".snowflake", ".okta", ".step", ".acme.sh",
    ".lego", ".gsutil", ".ethereum", ".near-credentials", ".purple", ".getmail", ".mutt", ".weechat", ".irssi",
    "kwalletd", "telegramdesktop", ".litellm",
})  # fmt: skip
"""Names of folders in which every file is a secret."""

_CONFIG_OF_PROGRAMS = (
    "gh", "hub", "op", "doctl", "glab-cli", "flyctl", "netlify", "tailscale", "stripe", "gh-copilot", "heroku",
    "configstore", "google-chrome", "chromium", "bravesoftware", "microsoft-edge", "signal", "slack", "discord",
    "anthropic", "openai", "aichat", "wandb", "fly", "railway", "argocd", "helm", "joplin", "linode-cli", "s3cmd",
    "lftp", "remmina", "evolution", "goa-1.0", "pypoetry", "hcloud", "scw", "mc", "keepassxc", "jgit", "databricks",
    "dbt", "solana", "pulumi", "vercel", "containers", "sops", "age", "composer", "filezilla",
)  # fmt: skip
"""Folders and files below `.config` of programs that keep keys, tokens or cookies there."""

SECRET_PLACES = frozenset({(".config", name) for name in _CONFIG_OF_PROGRAMS}) | {
    (".fly", "config.yml"), (".wandb", "settings"), ("borg", "keys"), (".dbt", "profiles.yml"), (".m2", "settings.xml"),
    (".gradle", "gradle.properties"), (".bundle", "config"), (".netlify", "config.json"), (".continue", "config.json"),
    (".cursor", "mcp.json"), (".vscode", "mcp.json"),
}  # fmt: skip
"""Files and folders that are secrets only below the parent folder given before them."""

_COPY_MARK = re.compile(
    r"^(?:copy of |\.#|#|\.~lock\.|~\$)"
    r"|(?:(?<!~)~+|#|[ ._-](?:bak\w{0,60}|backup|back|old|orig|original|save|saved|sav|sw[a-z]|tmp|temp|copy|rej|dist"
    r"|disabled|prev|new|gz|bz2|xz|zst|zip|tar|tgz|7z|rar|enc|asc|txt|\d+)|[ ]?\(\d+\)|[ ]-[ ]copy)$"
)
"""Prefixes and suffixes that editors, archivers and people add to the name of a copied file."""

_NAMES = re.compile("|".join(map(translate, SECRET_FILES)))

_VALUE = r"[\"']?\s{0,9}[:=]\s{0,9}[\"']?"
_WITH_DIGIT = r"(?=[A-Za-z+/_=!@#&^*~-]{0,64}[0-9])"

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
    ("a private key", r"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY|AGE-SECRET-KEY-1[A-Z0-9]{50}"),
    ("a private key in base64", r"LS0tLS1CRUdJTi(?:BSU0EgUFJJ|BQUklWQVRF|BFQyBQUklW|BPUEVOU1NI|BFTkNSWVBU|BEU0EgUFJJ)"),
    ("a signed token (JWT)", r"\beyJ[A-Za-z0-9_-]{10,300}\.eyJ[A-Za-z0-9_-]{10,3000}\.[A-Za-z0-9_-]{10}"),
    (
        "a password in an address",
        r"(?i)\b[a-z][a-z0-9+.-]{1,20}://([^\s/:@'\"<>${}]{0,64}):"
        r"(?!(?:\1|pass|passwd|password|mypassword|secret|pwd?|token|key|x{3,9}|\*{1,9}|\.{3}|changeme)@)[^\s/:@'\"<>${}]{3,200}@",
    ),
    (
        "a password",
        r"(?im)^[ \t]{0,40}(?:export[ ])?[\"']?(?:[a-z0-9_.-]{0,40}[_.-])?(?:password|passwd|passphrase|pwd|psk|secret)"
        rf"{_VALUE}(?!pass|pwd|secret){_WITH_DIGIT}(?=[0-9+/_=!@#&^*~-]{{0,64}}[a-z])"
        r"[^\s\"'${}<>()\[\],;|`]{6,200}[\"']?[ \t]{0,99}(?:[,;#]|$)",
    ),
    ("a password", r"<(?:password|passphrase)>[^<>${}\s]{6,200}</"),
    (
        "a password",
        r"(?i)[\"'](?:[a-z0-9_.-]{0,40}[_.-])?(?:password|passwd|passphrase|pwd|psk|secret)[\"']\s{0,9}:\s{0,9}[\"']"
        rf"(?!pass|pwd|secret){_WITH_DIGIT}(?=[0-9+/_=!@#&^*~-]{{0,64}}[a-z])[^\s\"'${{}}<>()\[\],;|`]{{6,200}}[\"']",
    ),
    (
        "a key or token by its name",
        r"(?i)(?:api|access|secret|auth|private|account|client|session|bearer|refresh|oauth|signing)[_-]?"
        rf"(?:access[_-]?)?(?:key|token|secret){_VALUE}{_WITH_DIGIT}[a-z0-9+/_=-]{{16}}",
    ),
    ("a key or token by its name", rf"(?im)^[ \t]{{0,40}}[\"']?token{_VALUE}{_WITH_DIGIT}[A-Za-z0-9+/_=-]{{20}}"),
    ("a header of authorization", rf"(?i)\bauthorization{_VALUE}(?:basic|bearer|token)\s{_WITH_DIGIT}[\w+/=.-]{{16}}"),
    ("a login of a registry", r"\"auth\"\s{0,9}:\s{0,9}\"[A-Za-z0-9+/=]{12}|:_(?:auth|password)\s{0,9}="),
    ("a key of Kubernetes", r"\bclient-key-data:\s{0,9}[A-Za-z0-9+/=]{20}"),
    ("a hash of a password", r":\$(?:1|2[abxy]|5|6|y|apr1|argon2id?)\$[A-Za-z0-9./$=,]{8}"),
    ("a key of Azure", r"\bSharedAccessKey=[A-Za-z0-9+/]{30}|[?&]sig=[A-Za-z0-9%+/]{30}"),
    ("a webhook", r"discord(?:app)?\.com/api/webhooks/\d{15}|\.webhook\.office\.com/webhookb2/"),
    ("a token of Telegram", r"\b\d{8,10}:AA[A-Za-z0-9_-]{32}"),
    ("a key of Twilio or Mailgun", r"\bSK[0-9a-f]{32}\b|\bkey-[0-9a-f]{32}\b"),
    ("a token of Atlassian", r"\bATATT3[A-Za-z0-9_=-]{30}|\.atlasv1\.[A-Za-z0-9_=-]{30}"),
    ("a key of a provider of models", r"\b(?:pplx-|r8_|nvapi-|csk-|fw_|tvly-|lsv2_[ps][tk]_)[A-Za-z0-9_-]{24}"),
    (
        "a token of a service",
        r"\b(?:lin_api_|ntn_|secret_|dckr_pat_|glsa_|glc_|NRAK-|pul-|sbp_|pscale_(?:pw|tkn|oauth)_|figd_|rubygems_|cio"
        r"|sq0(?:atp|csp)-|dp\.[ps]t\.|ops_eyJ|LTAI|HRKU-|EAAC)(?=[A-Za-z_-]{0,40}[0-9])[A-Za-z0-9_-]{20}",
    ),
)  # fmt: skip
"""The name of each kind of secret, and the pattern that matches its beginning."""

WORDS_IN = {
    "a private key": "private key,putty-user,ssh2 enc,age-secret",
    "a private key in base64": "ls0tls1crudjti",
    "a key of AWS": "akia,asia,abia,acca,aws_secret",
    "a key of OpenAI or a like provider": "sk-",
    "a token of GitHub": "ghp_,gho_,ghu_,ghs_,ghr_,github_pat_",
    "a token of GitLab": "gl",
    "a token of Hugging Face": "hf_",
    "a key of Google": "aiza,ya29.,gocspx-",
    "a token of Slack": "xox,hooks.slack",
    "a key of Stripe": "k_live_,k_test_",
    "a token of npm": "npm_,_authtoken",
    "a token of PyPI": "pypi-age",
    "a key of SendGrid": "sg.",
    "a key of Groq or xAI": "gsk_,xai-",
    "a token of Databricks": "dapi",
    "a token of Vault": "hvs.,hvb.",
    "a token of DigitalOcean or Shopify": "_v1_,shpat_,shpca_,shppa_,shpss_",
    "a key of Azure": "accountkey=,sharedaccesskey=,sig=",
    "a key of WireGuard": "privatekey,presharedkey",
    "an entry of .netrc": "machine",
    "a signed token (JWT)": ".eyj",
    "a password in an address": "@",
    "a password": "pass,pwd,psk,secret",
    "a header of authorization": "authorization",
    "a login of a registry": "auth,_password",
    "a key of Kubernetes": "client-key-data",
    "a hash of a password": ":$",
    "a webhook": "webhook",
    "a token of Telegram": ":aa",
    "a key of Twilio or Mailgun": "sk,key-",
    "a token of Atlassian": "atatt3,.atlasv1.",
    "a key of a provider of models": "pplx-,r8_,nvapi-,csk-,fw_,tvly-,lsv2_",
}
"""Lower-case keywords of which each such secret contains at least one: a cheap check before the pattern search."""

_TEXTS = tuple(
    (
        name,
        re.compile(pattern.replace("(?im)", "(?m)").removeprefix("(?i)")),
        pattern.startswith("(?i"),
        tuple(WORDS_IN.get(name, "").split(",")),
    )
    for name, pattern in SECRET_TEXTS
)
"""Case-insensitive patterns are searched in lower-cased text, which is several times as fast."""
_MAX_COPY_MARKS = 4

MIN_VALUE, MAX_VALUE = 20, 200
"""Characters of a key or token that is the whole content of a file."""

MIN_ENTROPY = 3.5
"""Bits for each character of a random word, as gitleaks' rules for generic keys require."""

_OPAQUE = re.compile(r"[A-Za-z0-9_+=~-]+(?:[./][A-Za-z0-9_+=~-]+)?")


def is_secret_path(path: PurePath) -> bool:
    """Whether an absolute path is that of a file of secrets: by its name, a folder that it is in, or its place."""
    parts = normalized_parts(path)
    is_in_folder = any(SECRET_FOLDERS & set(original_names(part)) for part in parts)
    is_in_place = not SECRET_PLACES.isdisjoint(itertools.pairwise(parts))
    return is_in_folder or is_in_place or bool(parts and (is_secret_name(parts[-1]) or _says_secret(path.name)))


def _says_secret(name: str) -> bool:
    """Whether the words of a name, or of one that it may be a copy of, say that it is a file of secrets."""
    return any(map(has_secret_words, original_names(unicodedata.normalize("NFKC", name))))


def normalized_parts(path: PurePath) -> tuple[str, ...]:
    """Return the parts of a path in the form in which the most lenient file system matches them."""
    return tuple(map(_normalized, path.parts))


def _normalized(part: str) -> str:
    normalized = unicodedata.normalize("NFKC", part).casefold()
    return normalized.rstrip(" .") or normalized


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a lower-case file name is that of a file of secrets or of a copy of one."""
    return any(_NAMES.match(original) for original in original_names(name))


@lru_cache(maxsize=4096)
def original_names(name: str) -> tuple[str, ...]:
    """Return a name and the names it may be a copy of: `.netrc~`, `.#.netrc`, `id_rsa.bak.gz`, `kaggle (1).json`."""
    names = latest = dict.fromkeys([name])
    for _ in range(_MAX_COPY_MARKS):
        latest = dict.fromkeys(shorter for text in latest for shorter in _without_mark(text) if shorter not in names)
        names = names | latest
    return tuple(names)


def _without_mark(name: str) -> Iterator[str]:
    """Yield what a name is without the last mark of a copy, at its end or before its ending."""
    if shorter := _COPY_MARK.sub("", name):
        yield shorter
        if name.endswith((".swp", ".swo")):
            yield shorter.removeprefix(".")
    stem, dot, ending = name.rpartition(".")
    if stem:
        yield f"{_COPY_MARK.sub('', stem)}{dot}{ending}"


def secret_in(text: str) -> str:
    """Return the kind of secret that a text contains; empty if none is found."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lowered = text.lower()
    for name, pattern, is_lower, keywords in _TEXTS:
        if any(keyword in lowered for keyword in keywords) and pattern.search(lowered if is_lower else text):
            return name
    return "a key or token alone" if _is_value_alone(text) else ""


def _is_value_alone(text: str) -> bool:
    """Whether a text is one random word and nothing else: no number in hexadecimal, no path, no words of a language."""
    value = text[: MAX_VALUE + 100].strip()
    kinds = (str.islower, str.isupper, str.isdigit)
    if not (MIN_VALUE <= len(value) <= MAX_VALUE and _OPAQUE.fullmatch(value)):
        return False
    if not all(any(map(kind, value)) for kind in kinds):
        return False
    shares = [value.count(letter) / len(value) for letter in set(value)]
    return -sum(share * math.log2(share) for share in shares) >= MIN_ENTROPY

"""Whether the words in a file's name say that it holds a secret: `openai_key.txt`, `rootkey.csv`, `RecoveryCodes.pdf`.

A name is cut into words at separators, at capitals within it and at digits. What counts is where a word stands: in
English the last noun of a name is what the file has (`api_key`), and words before it say of what (`primary_key`).
"""

from __future__ import annotations

import re
import unicodedata

SOURCE_ENDINGS = frozenset({
    "py", "pyi", "ipynb", "js", "mjs", "cjs", "ts", "tsx", "jsx", "java", "kt", "go", "rs", "c", "h", "cc", "cpp",
    "hpp", "cs", "rb", "php", "r", "jl", "lua", "swift", "scala", "sql", "css", "scss", "less", "html", "htm", "vue",
    "svelte", "m", "sh", "bat", "ps1", "tex", "bib", "proto", "graphql", "png", "jpg", "jpeg", "gif", "svg", "webp",
    "bmp", "ico", "mp3", "wav", "ogg", "flac", "mp4", "mov", "avi", "mkv", "ttf", "otf", "woff", "woff2", "parquet",
    "feather", "arrow", "npy", "npz", "h5", "hdf5", "pt", "pth", "onnx", "safetensors", "whl", "so", "dll", "dylib",
    "exe", "o", "a", "class", "jar", "pyc", "lock", "po", "pot", "mo", "map", "d",
})  # fmt: skip
"""Endings of code, pictures, sounds, models and other files that are about a thing rather than a note of it."""

SECRETS = frozenset({
    "secret", "password", "passwd", "passphrase", "passcode", "credential", "cred", "apikey", "privkey", "mnemonic",
    "htpasswd", "keypair", "keytab", "pwd", "pw", "otp", "totp", "passkey", "passwort", "passworter", "kennwort",
    "contrasena", "senha", "wachtwoord", "parola", "haslo",
})  # fmt: skip
"""Words for a secret; the last ones are those for a password in other languages, without accents."""

CODES = frozenset({
    "code", "key", "kit", "seed", "phrase", "sheet", "list",
})  # fmt: skip
SPARE = frozenset({
    "recovery", "backup", "rescue", "emergency", "scratch", "recover", "2fa", "mfa", "tfa", "otp", "totp", "mnemonic",
    "seed", "wallet",
})  # fmt: skip
"""Words that make the codes after them a second way in: *recovery codes*, *seed phrase*."""

AFTER = frozenset({
    "backup", "bak", "old", "new", "copy", "orig", "original", "save", "saved", "tmp", "temp", "final", "draft",
    "prod", "production", "dev", "development", "test", "testing", "staging", "stage", "stg", "qa", "uat", "live",
    "local", "public", "default", "export", "exported", "list", "file", "files", "json", "txt", "info", "data",
    "value", "values", "store", "id", "ids", "and", "only", "my", "mine", "the", "sandbox", "demo", "rotated",
    "latest", "current", "main", "master", "v", "plain", "clear", "raw", "enc", "encrypted", "decrypted", "dump",
    "sheet", "note", "notes", "all", "web", "app", "server", "client", "user", "admin",
})  # fmt: skip
"""Words after a secret's that say which one, or in what form."""

PLAIN_KEYS = frozenset({
    "primary", "foreign", "public", "pub", "sort", "sorting", "partition", "answer", "index", "lookup", "join",
    "joining", "candidate", "natural", "surrogate", "composite", "unique", "map", "legend", "hot", "short", "shortcut",
    "arrow", "major", "minor", "musical", "music", "translation", "column", "row", "dict", "group", "grouping",
    "shard", "hash", "cache", "missing", "duplicate", "survey", "color", "colour", "chart", "figure", "table", "plot",
    "object", "bucket", "data", "feature", "config", "redis", "metric", "json", "state", "event", "route", "query",
    "dictionary", "codebook", "sample", "site", "piano", "wrong", "correct", "exam", "quiz", "homework", "solution",
    "grading", "marking", "business", "cluster", "distribution", "dist", "bind", "binding", "key", "identification",
    "species", "dichotomous", "turn", "low", "high", "off",
})  # fmt: skip
"""Words before *key* that make it no secret."""

PLAIN_TOKENS = frozenset({
    "special", "added", "stop", "num", "max", "min", "total", "input", "output", "prompt", "completion", "vocab",
    "bpe", "word", "unique", "design", "count", "padding", "pad", "eos", "bos", "mask", "unk", "text", "training",
    "train", "sub", "unigram", "line", "lexer", "parser", "syntax", "theme", "color", "colour", "merged", "style",
    "css", "reserved",
})  # fmt: skip
"""Words before *token* that make it a piece of text, or of a design."""

PLAIN_PASSES = frozenset({
    "boarding", "season", "ski", "by", "ticket", "first", "second", "third", "high", "low", "band", "bus", "train",
    "rail", "park", "day", "week", "guest", "press", "backstage", "test", "forward", "backward", "one", "two",
    "single", "multi", "mountain", "wrist", "bike",
})  # fmt: skip
"""Words before *pass* that make it no password."""

PLAIN_WORDS_IN_KEY = frozenset({
    "monkey", "donkey", "turkey", "hockey", "whiskey", "jockey", "lackey", "flunkey", "mickey", "hokey", "pokey",
    "jokey", "smokey", "hickey", "dickey", "rickey", "latchkey", "turnkey", "hotkey", "lowkey", "highkey", "offkey",
    "alkey", "malarkey", "okey", "oakey", "starkey", "sharkey", "mackey", "leakey", "cockney", "keykey", "passkey",
    "sortkey", "primarykey", "foreignkey", "publickey", "pubkey", "answerkey", "partitionkey", "hashkey", "mapkey",
    "disckey", "dukey", "pinkey", "buckey", "bluekey", "florkey", "shortkey", "groupkey", "joinkey", "rowkey",
    "cachekey", "objectkey",
})  # fmt: skip
"""Words that end in *key* and are none."""

NEGATIONS = frozenset({"to", "no", "non", "not", "without"})
"""Words before a secret's by which the file has none, or only leads to one."""

TABLES = frozenset({"csv", "tsv", "xls", "xlsx", "ods"})
"""Endings with which *key* and *keys* alone are the key of a table."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ATTACHED = re.compile(r"2(?:fa|factor)(?![a-z])", re.IGNORECASE)
_COMPOUNDS = ("password", "passwd", "passphrase", "credential", "apikey", "secretkey", "privatekey", "accesskey")
"""What is found within a longer word too: `mypasswords`, `awsaccesskeys`."""

KEYS_FIRST = frozenset({
    "key", "token", "apikey", "password", "passwd", "pwd", "pass", "secret", "cred", "credential", "login",
})  # fmt: skip
SERVICES = frozenset({
    "openai", "anthropic", "claude", "gemini", "google", "gcp", "aws", "s3", "azure", "github", "gitlab", "bitbucket",
    "huggingface", "hf", "mistral", "groq", "cohere", "slack", "discord", "telegram", "twilio", "stripe", "paypal",
    "sendgrid", "mailgun", "kaggle", "wandb", "databricks", "snowflake", "postgres", "mysql", "mongodb", "redis",
    "docker", "npm", "pypi", "heroku", "cloudflare", "digitalocean", "api", "db", "wifi", "ftp", "smtp", "ssh", "vpn",
})  # fmt: skip
"""What a key is for, where that comes after it: `key_openai.txt`."""

PRIVATE_OF = frozenset({
    "rsa", "dsa", "ec", "ecdsa", "ed", "ssh", "pgp", "gpg", "ssl", "tls", "ca", "jwt", "wg", "wireguard", "id",
    "server", "client", "host",
})  # fmt: skip
"""Words before *private* that make it a private key."""


def words_of(stem: str) -> list[str]:
    """Return the words of a name in lower case and in the singular, without numbers."""
    plain = "".join(text for text in unicodedata.normalize("NFKD", stem) if not unicodedata.combining(text))
    spelled = _ATTACHED.sub(" mfa ", plain)
    words = [word.lower() for word in _WORD.findall(spelled) if not word.isdigit()]
    return [singular(word) for word in words]


def singular(word: str) -> str:
    """Return an English word without the ending of the plural."""
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def has_secret_words(name: str) -> bool:
    """Return whether the words of a file's name, in its own capitals, say that it holds a secret."""
    stem, _, ending = name.lstrip(".").rpartition(".")
    if not stem or not re.fullmatch(r"[A-Za-z0-9]{1,10}", ending):
        stem, ending = name, ""
    if ending.lower() in SOURCE_ENDINGS:
        return False
    words = words_of(stem)
    if words == ["private"] or stem.lower() == "token" or (len(words) == 2 and _is_pair_of_secret(*words)):
        return True
    while len(words) > 1 and words[-1] in AFTER and words[-1] not in SECRETS:
        words.pop()
    if not words:
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if before in NEGATIONS or (words == ["key"] and ending.lower() in TABLES):
        return False
    if last in SECRETS or any(compound in last for compound in _COMPOUNDS):
        return True
    return _is_key(last, before) or _is_token(last, before, words) or _is_way_in(words)


def _is_pair_of_secret(first: str, second: str) -> bool:
    return (first in KEYS_FIRST and second in SERVICES) or (first in PRIVATE_OF and second == "private")


def _is_key(last: str, before: str) -> bool:
    if last == "key":
        return before not in PLAIN_KEYS
    return last.endswith("key") and last not in PLAIN_WORDS_IN_KEY


def _is_token(last: str, before: str, words: list[str]) -> bool:
    if last == "token":
        return before not in PLAIN_TOKENS and len(words) > 1
    return len(last) > len("token") and last.endswith("token")


def _is_way_in(words: list[str]) -> bool:
    """Return whether the words are those of spare codes, of a login, or of a passing word."""
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in CODES and before in SPARE:
        return True
    if last in ("pass", "pin", "login", "logon"):
        return before not in PLAIN_PASSES and (last != "login" or not before or before in ("my", "all", "browser"))
    return last == "mfa" and len(words) <= 2

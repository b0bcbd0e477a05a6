"""What keys of services look like: their prefixes, their structures, and what stands before them."""

from __future__ import annotations

LEAST_KEY = 10
"""Characters after a prefix from which on a text is a key: `hf_transfer` and `sk-learn` are none."""

_PREFIX = (
    r"\b(?:sk|pk|rk|gsk|xai|csk|pplx|hf|nvapi|fw|tgp|r8|gh[oprsu]|github_pat|glpat|xapp|xox[abeoprs]|npm|pypi|dop_v1"
    r"|shpat|whsec|lin_api|figd)[-_]"
)
KEY_FORMS = (
    rf"{_PREFIX}(?:[\w-]{{{LEAST_KEY},}}+|(?=[\w-]{{0,{LEAST_KEY}}}\*)[\w*-]{{6,}}+)"
    r"|\bAIza[\w-]{10,}+|\bA(?:KI|SI)A[A-Z0-9]{12,}+|\bSG\.[\w-]{10,}+\.[\w-]{10,}+"
    r"|\beyJ[\w-]{10,}+(?:\.[\w-]*+){1,2}"
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\w\s+/=]*+(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?"
)
"""The pattern of keys that tell by themselves what they are; each alternative takes linear time."""

_NAME = r"(?i:(?<![A-Za-z])(?:{names})[\"']{{0,2}}\s{{0,3}}[:=]\s{{0,3}}[\"']?)"
_KEY_NAMES = r"api[-_ ]?key|secret[-_ ]?(?:access[-_ ]?)?key|client[-_ ]?secret|(?:access|auth)[-_ ]?token"
_PASSWORD_NAMES = r"password|passwd|pwd|passphrase"
NAMED_KEYS = (
    r"(?<=[Bb]earer\ )[^\s\"',;]{6,}"
    r"|(?<=[?&]key=)[^\s&\"']+"
    r"|(?<=://)(?!NAME:PASSWORD@)[^\s/@:]+:[^\s/@]+(?=@)"
    rf"|{_NAME.format(names=_KEY_NAMES)}(?P<key>[^\s\"',;&]{{3,}})"
    rf"|{_NAME.format(names=_PASSWORD_NAMES)}(?P<password>(?=[^\s\"',;&]{{0,40}}\d)[^\s\"',;&]{{6,}})"
)
"""The pattern of keys that what stands before them tells: a header, an address, a name, of a password with a digit."""

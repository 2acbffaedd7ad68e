"""What may be stored and shown of a text: no password, no token, and nothing that a terminal would obey.

The addresses that a command works with stay whole; what is written of them goes through here: params, tags, names and notes
of runs, tables, pages, messages and logs.
"""

import os
import re
import unicodedata
from urllib.parse import quote, unquote

HIDDEN = "***"
"""What stands in place of a secret."""
SECRETS = (
    "OPENAI_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN",
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
)  # fmt: skip
"""Variables of the environment whose values are hidden wherever they stand."""
SHORTEST, PLACEHOLDER = 6, 8
"""Characters of a secret of an address, and of such a variable: a shorter one is a placeholder, or stands in too many words."""

_ADDRESS = re.compile(
    r"""(?<![A-Za-z0-9+.-]) (?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://
    (?P<login>[^/?\#\s]*  # before the first slash, as it should be
    |[^:/?\#\s\[]*:(?:(?!://)\S)*)@  # or with a password that has a slash, a question mark or a hash in it""",
    re.VERBOSE,
)
_PORT = re.compile(r"\d{1,5}[/?#]")
_WEB = ("http", "https")
_NAMED = ("ssh", "git", "wasb", "wasbs", "abfs", "abfss")
"""Schemes with a name before the @ that is no secret: of an account, or of a container."""
_QUERY = re.compile(
    r"""(?P<name>[?&;#][\w.%-]*(?:key|token|secret|passw(?:or)?d|passphrase|pwd|pass|sig|signature|auth|authorization|credentials?)=)
    [^&\#\s]*[^&\#\s"'`),.;:>\]}]""",
    re.IGNORECASE | re.VERBOSE,
)
_REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Format characters that would reorder the text around them."""


def redacted(text: str, *secrets: str) -> str:
    """Return a text as it may be stored and shown: passwords, tokens and keys are hidden, all else stays.

    Args:
        text: that addresses may stand in.
        secrets: further texts to hide.
    """
    text = _ADDRESS.sub(_hidden, text)
    text = _QUERY.sub(rf"\g<name>{HIDDEN}", text)
    known = [value for name in SECRETS if len(value := os.environ.get(name, "").strip()) >= PLACEHOLDER]
    for secret in sorted(filter(None, (*known, *secrets)), key=len, reverse=True):
        text = text.replace(secret, HIDDEN).replace(quote(secret, safe=""), HIDDEN)
    return text


def _hidden(address: re.Match[str]) -> str:
    user, colon, password = address["login"].partition(":")
    if _is_place(address) or (address["scheme"] in _NAMED and not colon):
        return address[0]
    if password in ("", "x-oauth-basic"):  # then the user is the token
        return f"{address['scheme']}://{HIDDEN}@"
    return f"{address['scheme']}://{user}:{HIDDEN}@"


def _is_place(address: re.Match[str]) -> bool:
    """Tell whether what stands before the @ is no login, but a host with its port and a path: `http://host:80/a@b`."""
    return address["scheme"] in _WEB and bool(_PORT.match(address["login"].partition(":")[2]))


def split_login(address: str) -> tuple[str, tuple[str, str] | None]:
    """Return a web address without what stands before its @, and that: user and password, or None."""
    found = _ADDRESS.match(address)
    if found is None or _is_place(found):
        return address, None
    user, _, password = found["login"].partition(":")
    return f"{found['scheme']}://{address[found.end() :]}", (unquote(user), unquote(password))


def secrets_of(address: str) -> tuple[str, ...]:
    """Return what is secret in a web address: a server may say it in its answer, too."""
    _, login = split_login(address)
    named = (found[0].removeprefix(found["name"]) for found in _QUERY.finditer(address))
    return tuple(value for value in (*(login or ()), *named) if len(value) >= SHORTEST)


def printable(text: str) -> str:
    r"""Return a text as a terminal may get it: controls, halves of surrogate pairs and changes of direction like \x1b."""
    return "".join(char if char in "\n\t" or not _obeyed(char) else _escape(char) for char in text)


def _obeyed(char: str) -> bool:
    return char in _REORDERING or unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")


def _escape(char: str) -> str:
    return f"\\x{ord(char):02x}" if ord(char) < 0x100 else f"\\u{ord(char):04x}"


def shown(text: str) -> str:
    """Return a text as a command may print it."""
    return printable(redacted(text))

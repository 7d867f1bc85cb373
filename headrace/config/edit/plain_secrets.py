"""Whether a file's text has a secret in it, written out, so that no page may show the text."""

from __future__ import annotations

import re
from typing import Final

# A key that is named like a secret, with a value that does not come from outside. A reference with
# a default has the default in it. A mask of a column with such a name is none.
_NAMED: Final = re.compile(
    r"""(?ix) [\w.-]* (?: secret | passw | passphrase | salt | token | credential | jaas | user[._]info
        | (?:access|account|api|private|ssl)[._-]?key ) [\w.-]* ["']? \s* : \s*
        (?! ["']? \$\{ (?: file: [^}]* | [^}:]* ) \} | (?: redact | sha256 ) \b )
        (?P<value> [^\s,{}#] )"""
)
# An address with a password: https://user:password@host.
_IN_ADDRESS: Final = re.compile(r"""://[^/\s"'@]*?:(?!\$\{(?:file:[^}]*|[^}:]*)\}@)[^/\s"'@]+@""")


def line_of_secret(text: str) -> int | None:
    """Return the first line of a YAML text that may have a secret in it; None where none has.

    It rather takes something else for a secret than the other way round.
    """
    starts = [
        *(found.start("value") for found in _NAMED.finditer(text)),
        *(found.start() for found in _IN_ADDRESS.finditer(text)),
    ]
    return text.count("\n", 0, min(starts)) + 1 if starts else None

"""`${VAR}`, `${VAR:default}` and `${file:PATH}` inside a scalar; `$${` is a literal `${`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.problems import nearest, shown_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from headrace.config.yaml.placeholders import Placeholders

_REFERENCE = re.compile(r"\$\$\{|\$\{([^}]*)(\}?)")
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::(.*))?", re.DOTALL)
# A group of a pattern may be known by its number.
_PLACEHOLDER = re.compile(r"([A-Za-z_0-9]+)(?::(.*))?", re.DOTALL)
_LARGEST_FILE = 2**20


class Fault(Exception):
    """What cannot be read: a reference, for one, that cannot be filled in."""

    def __init__(self, message: str, suggestion: str) -> None:
        super().__init__(message)
        self.message = message
        self.suggestion = suggestion


@dataclass(frozen=True, slots=True)
class Expanded:
    """A scalar with its references filled in. `secret`: something from outside the file is in it.

    `varies`: a placeholder is in it. A fault comes after its offset in the raw text.
    """

    text: str
    secret: bool = False
    varies: bool = False
    faults: tuple[tuple[int, Fault], ...] = ()


def expand(
    text: str,
    environment: Mapping[str, str],
    folders: Sequence[Path],
    placeholders: Placeholders | None = None,
) -> Expanded:
    """Fill in every reference; `folders` are where `${file:…}` looks, in order.

    A placeholder wins over a variable of the environment with its name.
    """
    if "${" not in text:
        return Expanded(text)
    pieces: list[str] = []
    faults: list[tuple[int, Fault]] = []
    secret, varies, end = False, False, 0
    for found in _REFERENCE.finditer(text):
        pieces.append(text[end : found.start()])
        end = found.end()
        if found[1] is None:
            pieces.append("${")
            continue
        try:
            of_topic = None if placeholders is None else _of_topic(found[1], placeholders)
            if of_topic is not None:
                pieces.append(of_topic)
                varies = True
                continue
            value, from_outside = _filled(found, environment, folders, placeholders)
        except Fault as fault:
            faults.append((found.start(), fault))
            continue
        pieces.append(value)
        secret = secret or from_outside
    pieces.append(text[end:])
    return Expanded("".join(pieces), secret, varies, tuple(faults))


def _of_topic(inside: str, placeholders: Placeholders) -> str | None:
    """Return what a placeholder stands for, None where it is none."""
    found = _PLACEHOLDER.fullmatch(inside)
    if found is None or not placeholders.has(found[1]):
        return None
    # Where nobody knows what there is, any text will do.
    value = placeholders.values.get(found[1], "x")
    if value is None:
        value = found[2]
    if value is None:
        raise Fault(
            f"the group {found[1]} took no part in the match of topic {placeholders.topic}",
            f"write ${{{found[1]}:default}}",
        )
    return value


def _filled(
    found: re.Match[str],
    environment: Mapping[str, str],
    folders: Sequence[Path],
    placeholders: Placeholders | None,
) -> tuple[str, bool]:
    inside, closing = found[1], found[2]
    if not closing:
        raise Fault('"${" without a closing "}"', "write $${ for a literal ${")
    if inside.startswith("file:"):
        return _file_text(inside.removeprefix("file:").strip(), folders), True
    if "${" in inside:
        raise Fault("a ${…} inside another ${…}", "put the whole value in one variable")
    variable = _VARIABLE.fullmatch(inside)
    if variable is None and placeholders is not None and _PLACEHOLDER.fullmatch(inside):
        raise _unknown(inside.partition(":")[0], placeholders)
    if variable is None:
        raise Fault(
            f'"{found[0]}" is not a variable', "write ${NAME}, ${NAME:default} or ${file:PATH}"
        )
    name, default = variable.groups()
    if name in environment:
        return environment[name], True
    if default is not None:
        return default, False
    if placeholders is not None:
        raise _unknown(name, placeholders)
    near = nearest(name, (known for known in environment if known[:1] == name[:1]))
    meant = f"did you mean ${{{near}}}? otherwise " if near else ""
    raise Fault(f"${{{name}}} is not set", f"{meant}export {name} or write ${{{name}:default}}")


def _unknown(name: str, placeholders: Placeholders) -> Fault:
    """Return why a name in a file for many topics stands for nothing."""
    message = f"${{{name}}} is no placeholder of for_each, and not set in the environment"
    near = nearest(name, placeholders.values)
    known = ", ".join(f"${{{one}}}" for one in placeholders.names)
    return Fault(message, f"did you mean ${{{near}}}?" if near else f"placeholders: {known}")


def _file_text(written: str, folders: Sequence[Path]) -> str:
    shown = f"${{file:{written}}}"
    if not written:
        raise Fault(f"{shown} does not name a file", "write ${file:PATH}")
    for folder in folders:
        path = folder / written
        try:
            if not path.is_file():
                continue
            if path.stat().st_size > _LARGEST_FILE:
                raise Fault(f"{shown} is larger than 1 MiB", "name a file that holds one value")
            return path.read_text(encoding="utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise Fault(f"{shown} is not UTF-8 text", "write the file as UTF-8") from None
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or "not a path"
            raise Fault(f"{shown} cannot be read: {reason}", "correct the path") from None
    tried = " and ".join(dict.fromkeys(shown_path(folder) for folder in folders))
    raise Fault(f"{shown}: there is no such file", f"looked in {tried}")

"""A YAML file as text and as a tree of nodes; what is not YAML is said in words."""

from __future__ import annotations

import bisect
import re
import warnings
from typing import TYPE_CHECKING, Any, Protocol

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

from headrace import proposed_files
from headrace.config.yaml.expansion import Fault
from headrace.config.yaml.libyaml import compose_in_c
from headrace.problems import nearest, shown_path

if TYPE_CHECKING:
    from pathlib import Path


class Mark(Protocol):
    """Where something stands in a text."""

    index: int


class Node(Protocol):
    """A part of a file: `id` is scalar, sequence or mapping, as both parsers say it."""

    id: str
    tag: object
    value: Any
    start_mark: Mark
    # None or empty where a scalar is plain.
    style: str | None


class NotReadable(Fault):
    """A file without a tree of nodes, and where and why that is so."""

    def __init__(self, message: str, suggestion: str = "", place: tuple[int, int] = (1, 1)) -> None:
        super().__init__(message, suggestion)
        self.place = place


class Lines:
    """Line and column, both from 1, of an index into a text."""

    __slots__ = ("_starts",)

    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def position(self, index: int) -> tuple[int, int]:
        """Return line and column of that character."""
        line = bisect.bisect_right(self._starts, index)
        return line, index - self._starts[line - 1] + 1


def read_text(path: Path) -> str:
    """Return the file's text, or say why there is none."""
    try:
        content = proposed_files.read_bytes(path)
    except FileNotFoundError:
        raise NotReadable("there is no such file", _neighbours(path)) from None
    except IsADirectoryError:
        raise NotReadable("this is a folder, not a file", "name the YAML file in it") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "not a path"
        raise NotReadable(f"cannot be read: {reason}") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        before = content[: problem.start].decode("utf-8", errors="replace")
        place = Lines(before).position(len(before))
        raise NotReadable("this byte is not UTF-8", "save the file as UTF-8", place) from None


def compose(text: str) -> Node:
    """Return the root node of the one document in a text."""
    return compose_in_c(text) or compose_in_python(text)


def compose_in_python(text: str) -> Node:
    """Return the same from a parser that says where a mistake is, and reads all of YAML 1.2."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            node: Node | None = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as problem:
        raise _syntax_error(text, problem) from None
    except ReaderError as problem:
        index = problem.position if isinstance(problem.position, int) else 0
        message = "a control character, which YAML does not allow"
        raise NotReadable(message, "remove it", Lines(text).position(index)) from None
    except RecursionError:
        raise NotReadable("this is nested too deep") from None
    except (YAMLError, ValueError, TypeError, IndexError, KeyError, AttributeError, AssertionError):
        # ruamel breaks in its own ways over damaged input; for a user it is all one.
        raise NotReadable("this is not YAML") from None
    if node is None:
        raise NotReadable("the file is empty")
    return node


_WORDS: tuple[tuple[str, str, str], ...] = (
    (r"found character '\\t'", "a tab, but YAML needs spaces", "indent with spaces"),
    (r"mapping values are not allowed", "a second key on one line", 'quote a text with ": " in it'),
    (r"found character '(.)'", "a text may not begin with {0}", "put the text in quotes"),
    (r"found undefined alias '(.*)'", "*{0} is not defined", "define it before with &{0}"),
    (r"expected a single document", "a second document", "one file holds one document"),
    (r"but found another document", "a second document", "one file holds one document"),
    (r"found unexpected end of stream", "a quote is not closed", "close it"),
    (r"expected ',' or '[\]}]'", "a , or a closing bracket is missing here", ""),
    (r"could not find expected ':'", "a key without a colon", "write key: value"),
    (
        r"expected <block end>, but",
        "the indentation of this line does not match the lines above",
        "",
    ),
)


def _syntax_error(text: str, problem: MarkedYAMLError) -> NotReadable:
    mark = problem.problem_mark or problem.context_mark
    if "end of stream" in str(problem.problem) and problem.context_mark:
        mark = problem.context_mark  # where it was opened, not the end of the file
    place = Lines(text).position(min(mark.index, len(text))) if mark else (1, 1)
    said = str(problem.problem or "this is not YAML").splitlines()[0]
    message, suggestion = f"not YAML: {said}", ""
    for pattern, words, advice in _WORDS:
        found = re.search(pattern, said)
        if found:
            message = "not YAML: " + words.format(*found.groups())
            suggestion = advice.format(*found.groups())
            break
    line = "".join(text.splitlines()[place[0] - 1 : place[0]])
    if re.search(r"[{\[,:]\s*\$\{", line):
        suggestion = 'inside { } and [ ] write "${VAR}" with quotes'
    return NotReadable(message, suggestion, place)


def _neighbours(path: Path) -> str:
    try:
        names = [one.name for one in path.parent.iterdir() if one.suffix in {".yaml", ".yml"}]
    except (OSError, ValueError):
        return ""
    near = nearest(path.name, names)
    return f'did you mean "{shown_path(path.parent / near)}"?' if near else ""

"""A value of a file under check: what is written there, and how a check reports what is wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace import proposed_files
from headrace.config.yaml.model_errors import shown
from headrace.config.yaml.nodes import Lines
from headrace.problems import Problem, did_you_mean, shown_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from headrace.config.yaml.document import Document, KeyPath
    from headrace.expressions.tokens import ExpressionProblem


@dataclass(frozen=True, slots=True)
class KnownNames:
    """What the workspace defines. None: not known, so nothing is said about it.

    `addresses` are those of each cluster, as far as they are known.
    """

    root: Path | None = None
    clusters: frozenset[str] | None = None
    catalogs: frozenset[str] | None = None
    addresses: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def main_name(self, cluster: str) -> str:
        """Return one name for all clusters that are the same one, as an address of both tells."""
        same, left = {cluster}, [cluster]
        while left:
            own = self.addresses.get(left.pop(), frozenset())
            new = {name for name, others in self.addresses.items() if own & others} - same
            same |= new
            left += new
        return min(same)


@dataclass(frozen=True, slots=True)
class Section:
    """A value of a file, or the whole file. Every question about it is safe, whatever is there.

    Questions take the keys that lead on from it.
    """

    document: Document
    known: KnownNames
    path: KeyPath = ()

    @property
    def file(self) -> Section:
        """The whole file that this is in."""
        return Section(self.document, self.known)

    @property
    def line(self) -> int:
        """The line that it is on."""
        return self.document.at(self.document.position(self.path).index)[0]

    @property
    def name(self) -> str:
        """The key of this value; the number of an item."""
        return str(self.path[-1])

    def at(self, *path: str | int) -> Section:
        """Return a value within this one, which need not be there."""
        return Section(self.document, self.known, (*self.path, *path))

    def each(self, *path: str | int) -> Iterator[Section]:
        """Give the items of a list, none where there is no list."""
        return (self.at(*path, number) for number in range(len(self.items(*path))))

    def entries(self, *path: str | int) -> Iterator[Section]:
        """Give the values of a mapping, none where there is no mapping."""
        return (self.at(*path, key) for key in self.mapping(*path))

    def value(self, *path: str | int) -> object:
        """Return what is written, None where nothing is."""
        return self.document.get(*self.path, *path)

    def text(self, *path: str | int) -> str | None:
        """Return a usable text, None where there is something else, or nothing, or not yet."""
        is_open = self.document.is_open((*self.path, *path))
        return None if is_open else self.example(*path)

    def example(self, *path: str | int) -> str | None:
        """Return the same; where the text is not known yet, an example of it."""
        value = self.value(*path)
        is_usable = (*self.path, *path) not in self.document.unusable
        return value if isinstance(value, str) and value.strip() and is_usable else None

    def mapping(self, *path: str | int) -> dict[str, object]:
        """Return a mapping, an empty one where there is none."""
        value = self.value(*path)
        return value if isinstance(value, dict) else {}

    def items(self, *path: str | int) -> list[object]:
        """Return a list's items, none where there is no list."""
        value = self.value(*path)
        return value if isinstance(value, list) else []

    def is_secret(self, *path: str | int) -> bool:
        """Say whether something from outside the file is in that value."""
        return self.document.position((*self.path, *path)).secret

    def shown(self, *path: str | int) -> str:
        """Return a value as it was written."""
        return shown(self.document, (*self.path, *path))

    def report(
        self, message: str, suggestion: str = "", *, key: bool = False, offset: int | None = None
    ) -> None:
        """Add a problem at this value, at its key, or at a character of its text."""
        self.document.report(self.path, message, suggestion, key=key, offset=offset)

    def report_unknown(self, message: str, known: Iterable[str]) -> None:
        """Add a problem about a word, with the nearest known one unless the word is secret."""
        word = "" if self.is_secret() else self.text() or ""
        self.report(message, did_you_mean(word, sorted(known)))

    def report_expression(self, problem: ExpressionProblem) -> None:
        """Add a problem at its character, without the expression's words where one is secret."""
        if self.is_secret():
            message = "this is not a usable expression after ${…} is filled in"
            self.report(message, "try it with the value instead of ${…}")
        else:
            self.report(problem.message, problem.suggestion or "", offset=problem.offset)

    def report_in(self, path: Path, text: str, offset: int, message: str, suggestion: str) -> None:
        """Add a problem in another file, one that this file names."""
        place = Lines(text).position(min(offset, len(text)))
        self.document.problems.append(Problem(path, *place, message, suggestion))

    def check_cluster(self, *path: str | int) -> None:
        """Report a cluster that is not one of headrace.yaml's."""
        _check_defined(self.at(*path), "cluster", self.known.clusters)

    def check_catalog(self, *path: str | int) -> None:
        """Report a catalog that is not one of headrace.yaml's."""
        _check_defined(self.at(*path), "catalog", self.known.catalogs)

    def find_file(self) -> Path | None:
        """Return the file that this value names, beside this file or under the workspace."""
        name = self.text()
        if name is None:
            return None
        here = self.document.path.parent
        folders = list(dict.fromkeys([here, self.known.root or here]))
        self.document.named.update(folder / name for folder in folders)
        for folder in folders:
            try:
                if proposed_files.is_file(folder / name):
                    return folder / name
            except (OSError, ValueError):
                continue
        position = self.document.position(self.path)
        shown_name = name if position.varies and not position.secret else position.raw or name
        tried = " and ".join(shown_path(folder / shown_name) for folder in folders)
        self.report(f"there is no file {self.shown()}", f"looked for {tried}")
        return None


def _check_defined(named: Section, what: str, known: frozenset[str] | None) -> None:
    name = named.text()
    if name is None or known is None or name in known:
        return
    message = f"headrace.yaml defines no {what} {named.shown()}"
    if known:
        named.report_unknown(message, known)
    else:
        named.report(message, f"define it under {what}s:")


def addresses_of(bootstrap_servers: str) -> frozenset[str]:
    """Return the addresses in `bootstrap_servers`."""
    return frozenset(filter(None, (one.strip() for one in bootstrap_servers.split(","))))

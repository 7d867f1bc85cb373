"""What the checks of a kind file have in common: the document, and what is known around it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.config.explain import shown
from headrace.config.problems import Problem, did_you_mean, shown_path
from headrace.config.yaml_text import Lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.config.document import Document, KeyPath


@dataclass(frozen=True, slots=True)
class Known:
    """What the workspace defines. None: not known, so nothing is said about it."""

    root: Path | None = None
    clusters: frozenset[str] | None = None
    catalogs: frozenset[str] | None = None


@dataclass(slots=True)
class Sheet:
    """A document under examination. Every question about it is safe, whatever is in it."""

    document: Document
    known: Known

    def text(self, *path: str | int) -> str | None:
        """Return a usable text, None where there is something else or nothing."""
        value = self.document.get(*path)
        usable = isinstance(value, str) and value.strip() and path not in self.document.unusable
        return str(value) if usable else None

    def mapping(self, *path: str | int) -> dict[str, object]:
        """Return a mapping, an empty one where there is none."""
        value = self.document.get(*path)
        return value if isinstance(value, dict) else {}

    def items(self, *path: str | int) -> list[object]:
        """Return a list's items, none where there is no list."""
        value = self.document.get(*path)
        return value if isinstance(value, list) else []

    def is_secret(self, *path: str | int) -> bool:
        """Say whether something from outside the file is in that value."""
        return self.document.place(path).secret

    def shown(self, *path: str | int) -> str:
        """Return a value as it was written."""
        return shown(self.document, path)

    def report(
        self,
        path: KeyPath,
        message: str,
        suggestion: str = "",
        *,
        key: bool = False,
        offset: int | None = None,
    ) -> None:
        """Add a problem."""
        self.document.report(path, message, suggestion, key=key, offset=offset)

    def unknown(self, path: KeyPath, message: str, known: Iterable[str]) -> None:
        """Add a problem about a word, with the nearest known one unless the word is secret."""
        word = self.text(*path) or ""
        names = sorted(known)
        listed = did_you_mean("", names)
        self.report(path, message, listed if self.is_secret(*path) else did_you_mean(word, names))

    def check_cluster(self, *path: str | int) -> None:
        """Report a cluster that is not one of headrace.yaml's."""
        self._check_defined(path, "cluster", self.known.clusters)

    def check_catalog(self, *path: str | int) -> None:
        """Report a catalog that is not one of headrace.yaml's."""
        self._check_defined(path, "catalog", self.known.catalogs)

    def _check_defined(self, path: KeyPath, what: str, known: frozenset[str] | None) -> None:
        name = self.text(*path)
        if name is None or known is None or name in known:
            return
        message = f"headrace.yaml defines no {what} {self.shown(*path)}"
        if known:
            self.unknown(path, message, known)
        else:
            self.report(path, message, f"define it under {what}s:")

    def find_file(self, *path: str | int) -> Path | None:
        """Return the file that a value names, beside this file or under the workspace."""
        name = self.text(*path)
        if name is None:
            return None
        here = self.document.path.parent
        folders = [here] if self.known.root in {None, here} else [here, self.known.root]
        for folder in folders:
            place = Path(folder or here) / name
            try:
                if place.is_file():
                    return place
            except (OSError, ValueError):
                continue
        raw = self.document.place(path).raw or name
        tried = " and ".join(shown_path(Path(folder or here) / raw) for folder in folders)
        self.report(path, f"there is no file {self.shown(*path)}", f"looked for {tried}")
        return None

    def report_in(self, place: Path, text: str, offset: int, message: str, suggestion: str) -> None:
        """Add a problem in another file, one that this file names."""
        line, column = Lines(text).place(min(offset, len(text)))
        self.document.problems.append(Problem(place, line, column, message, suggestion))

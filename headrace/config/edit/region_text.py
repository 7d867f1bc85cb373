"""A deployment that is added to a file by hand's rules: comments, order and quotes stay."""

from __future__ import annotations

import difflib
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

from headrace.errors import Terminal, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

# How far a list's dash and its text stand in. Whoever wrote the file had one of these.
INDENTS: Final = ((4, 2), (2, 0), (3, 1), (6, 4))
UNBROKEN: Final = 2**20


@dataclass(frozen=True, slots=True)
class RegionChoice:
    """What a deployment does differently. What is empty is as the file says."""

    name: str
    cluster: str = ""
    topic: str = ""
    region: str = ""
    trigger: str = ""

    @property
    def override(self) -> dict[str, Any]:
        """The value under `overrides`."""
        source = {"cluster": self.cluster, "topic": self.topic}
        whole: dict[str, Any] = {
            "source": {key: value for key, value in source.items() if value},
            "region": self.region,
            "trigger": self.trigger,
        }
        return {key: value for key, value in whole.items() if value}


def with_region(text: str, choice: RegionChoice) -> str:
    """Return a stream's file with one more deployment."""
    tries = list(_tries(text, choice))
    return min(tries, key=lambda one: _distance(text, one))


def _tries(text: str, choice: RegionChoice) -> Iterator[str]:
    for sequence, offset in INDENTS:
        yaml = YAML()
        yaml.preserve_quotes = True
        yaml.width = UNBROKEN
        yaml.indent(mapping=2, sequence=sequence, offset=offset)
        try:
            data = yaml.load(text)
        except (YAMLError, ValueError, RecursionError):
            raise Terminal("the file is not YAML", "mend it by hand first") from None
        if not isinstance(data, CommentedMap):
            raise Terminal("the file is not a stream's", "mend it by hand first")
        _add(data, choice)
        out = io.StringIO()
        yaml.dump(data, out)
        yield out.getvalue()


def _add(data: CommentedMap, choice: RegionChoice) -> None:
    there = data.get("overrides")
    if there is None or (isinstance(there, CommentedMap) and not there):
        there = data["overrides"] = _block(there)
    if not isinstance(there, CommentedMap):
        raise Terminal("overrides is not a mapping in the file", "mend it by hand first")
    if choice.name in there:
        raise UsageError(
            f"the file has a deployment {choice.name} already", "edit it in the file by hand"
        )
    override = CommentedMap()
    for key, value in choice.override.items():
        override[key] = _flow(value) if isinstance(value, dict) else value
    if not override:
        override.fa.set_flow_style()
    there[choice.name] = override


def _block(there: CommentedMap | None) -> CommentedMap:
    """Return an empty mapping whose entries get lines of their own."""
    found = CommentedMap() if there is None else there
    found.fa.set_block_style()
    return found


def _flow(values: dict[str, str]) -> CommentedMap:
    found = CommentedMap(values)
    found.fa.set_flow_style()
    return found


def _distance(before: str, after: str) -> int:
    """Return how many lines differ."""
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return sum(1 for line in lines if line[:1] in "+-")

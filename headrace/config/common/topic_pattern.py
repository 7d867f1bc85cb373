"""The pattern of a file for many topics: which topics it matches, and what of their names."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from headrace.config.common.scalars import refusal
from headrace.config.yaml.placeholders import placeholders_of
from headrace.expressions.compiled.functions.linear_patterns import c, compiler, is_linear, parser

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.config.yaml.placeholders import Placeholders

WANTED: Final = "a regular expression for names of topics"
# Kafka's own topics, those of tools that keep their state in Kafka, and the ledgers of streams.
_INTERNAL: Final = re.compile(r"__.*|_schemas|_confluent.*|headrace\..+\.ledger")
# The characters of an example, in turn: two parts of it shall not be the same by chance.
_TRIED: Final = "xyzabcdefghijklmnopqrstuvw"
_OTHERS: Final = "0123456789XYZABCDEFGHIJKLMNOPQRSTUVW_-."
# Each part of any length multiplies the ways through a name, which has 249 characters at most.
_MOST_OPEN: Final = 3
_REPEATS: Final = frozenset([c.MAX_REPEAT, c.MIN_REPEAT])


@dataclass(frozen=True, slots=True)
class TopicPattern:
    """A regular expression that has to match a whole name."""

    text: str
    _regex: re.Pattern[str] = field(repr=False, compare=False)

    @classmethod
    def parse(cls, text: str) -> TopicPattern:
        """Read a pattern; the refusal says what is wrong with it."""
        try:
            regex = re.compile(text)
            is_quick = _is_quick(text)
        except re.error as problem:
            raise refusal(WANTED, str(problem)) from None
        except (OverflowError, RecursionError):
            raise refusal(WANTED, "it is too large") from None
        if not is_quick:
            reason = "it may look at a name again and again"
            advice = "no repetition within another, and three parts of any length at most"
            raise refusal(WANTED, reason, advice)
        return cls(text, regex)

    def match(self, topic: str, cluster: str) -> Placeholders | None:
        """Return what a topic's placeholders stand for, None where it does not match."""
        found = self._regex.fullmatch(topic)
        if found is None or is_internal(topic):
            return None
        return placeholders_of(topic, self._groups(found), cluster)

    def sample(self, cluster: str) -> Placeholders:
        """Return an example of a topic that matches; no real one where none was found."""
        example = _example(parser.parse(self.text), count())
        found = self._regex.fullmatch(example)
        if found is not None:
            return placeholders_of(example, self._groups(found), cluster, is_sample=True)
        numbers = range(1, self._regex.groups + 1)
        groups = [*map(str, numbers), *self._regex.groupindex]
        return placeholders_of("topic", ((one, "x") for one in groups), cluster, is_sample=True)

    def leaves_out(self, used: Iterable[str]) -> bool:
        """Whether topics may differ in a part that is in none of these placeholders."""
        index = self._regex.groupindex
        numbers = {index[name] if name in index else int(name) for name in used if name != "topic"}
        return "topic" not in set(used) and _varies(parser.parse(self.text), numbers)

    def _groups(self, found: re.Match[str]) -> Iterable[tuple[str, str | None]]:
        yield from ((str(number), text) for number, text in enumerate(found.groups(), start=1))
        yield from found.groupdict().items()


def is_internal(topic: str) -> bool:
    """Whether a topic is Kafka's own, a tool's, or a ledger of ours: no pattern matches those."""
    return _INTERNAL.fullmatch(topic) is not None


def _is_quick(pattern: str) -> bool:
    """Return whether a name takes little time: what is linear does, and what is nearly so."""
    return is_linear(pattern, whole=True) or _open_parts(parser.parse(pattern)) <= _MOST_OPEN


def _open_parts(tree: Any, *, within: bool = False) -> int:  # noqa: ANN401 - a tree of Python's own parser
    """Count the repetitions; more than is allowed where one is within another, or goes back."""
    count = 0
    for kind, value in tree:
        if kind in _REPEATS:
            _, most, inner = value
            repeats = int(most) > 1
            if repeats and within:
                return _MOST_OPEN + 1
            count += int(repeats) + _open_parts(inner, within=within or repeats)
        elif kind is c.SUBPATTERN:
            count += _open_parts(value[3], within=within)
        elif kind is c.BRANCH:
            if within:
                return _MOST_OPEN + 1
            count += max(_open_parts(one) for one in value[1])
        elif kind in {c.ASSERT, c.ASSERT_NOT}:
            count += _open_parts(value[1], within=within)
        elif kind not in {c.LITERAL, c.NOT_LITERAL, c.IN, c.ANY, c.AT}:
            return _MOST_OPEN + 1
    return count


def _example(tree: Any, turns: Iterator[int]) -> str:  # noqa: ANN401 - as above
    """Return a text that a pattern may match."""
    found = []
    for kind, value in tree:
        if kind is c.LITERAL:
            found.append(chr(value))
        elif kind in {c.ANY, c.IN, c.NOT_LITERAL}:
            found.append(_character((kind, value), next(turns)))
        elif kind in _REPEATS:
            least, most, inner = value
            found.append(_example(inner, turns) * min(max(int(least), 1), int(most)))
        elif kind is c.SUBPATTERN:
            found.append(_example(value[3], turns))
        elif kind is c.BRANCH:
            found.append(_example(value[1][0], turns))
    return "".join(found)


def _character(node: Any, turn: int) -> str:  # noqa: ANN401 - as above
    step = compiler.compile(parser.SubPattern(parser.State(), [node]))
    first = turn % len(_TRIED)
    return next(filter(step.match, _TRIED[first:] + _TRIED[:first] + _OTHERS), "x")


def _varies(tree: Any, captured: set[int]) -> bool:  # noqa: ANN401 - as above
    """Whether a pattern has a part outside of some groups that is not always the same."""
    for kind, value in tree:
        if kind is c.SUBPATTERN:
            if value[0] not in captured and _varies(value[3], captured):
                return True
        elif kind in _REPEATS:
            least, most, inner = value
            if least != most or _varies(inner, captured):
                return True
        elif kind not in {c.LITERAL, c.AT, c.ASSERT, c.ASSERT_NOT}:
            return True
    return False

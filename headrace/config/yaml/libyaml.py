"""The tree of nodes of a file without mistakes, from the parser in C: thirty times as fast."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.nodes import ScalarNode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.config.yaml.nodes import Node

_PREFIX: Final = "tag:yaml.org,2002:"
# It calls itself for each level, on a stack that it does not watch.
_DEEPEST: Final = 4_000
# Directives and tags; tabs, blocks of text and keys of JSON, of which this one takes more than YAML allows.
_LEFT_TO_THE_OTHER: Final = re.compile(
    r"""^%|\t|(?:^|[ \[{,])!|[|>][-+0-9]*\s*(?:\#|$)|['"\]}]:\S""", re.MULTILINE
)
_OPENS_A_LEVEL: Final = "[{-?:"


def compose_in_c(text: str) -> Node | None:
    """Return the root node of the one document; None where another parser has to look at it.

    That one reads what this one refuses, and says better what is wrong.
    """
    if _Composer is None or _LEFT_TO_THE_OTHER.search(text):
        return None
    if sum(map(text.count, _OPENS_A_LEVEL)) > _DEEPEST:
        return None
    try:
        node: Node | None = _Composer(text).get_single_node()
    except (yaml.YAMLError, ValueError):
        return None
    return node


_resolver = YAML(typ="safe", pure=True).resolver


@lru_cache(maxsize=4096)
def _plain_tag(value: str) -> str:
    # YAML 1.2, in which `on` and `no` are texts.
    return str(_resolver.resolve(ScalarNode, value, (True, False)))


class _Tags:
    """Says what a node is, where the file does not; the composer asks it."""

    def descend_resolver(self, parent: object, index: object) -> None:
        """Take no notice: tags do not depend on where a node is."""

    def ascend_resolver(self) -> None:
        """Take no notice, as above."""

    def resolve(self, kind: type[yaml.Node], value: str, implicit: Sequence[bool]) -> str:
        """Return the tag of a node that has none of its own."""
        if kind is yaml.ScalarNode and implicit[0]:
            if not value or value[0] in ":?":
                raise ValueError("the two parsers differ here")
            return _plain_tag(value)
        if kind is yaml.ScalarNode:
            return f"{_PREFIX}str"
        return f"{_PREFIX}map" if kind is yaml.MappingNode else f"{_PREFIX}seq"


def _composer() -> Callable[[str], Any] | None:
    try:
        from yaml.cyaml import CParser  # noqa: PLC0415 - a PyYAML that was built without libyaml has none
    except ImportError:
        return None
    return type("Composer", (CParser, _Tags), {})


_Composer = _composer()

"""Both parsers of YAML make the same tree of a file, as far as it is read."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.config.yaml.libyaml import compose_in_c
from headrace.config.yaml.nodes import NotReadable, compose_in_python
from tests.unit.config.workspaces import APP, FULL_STREAM, HEADRACE, LAKE_TABLE, STREAM

if TYPE_CHECKING:
    from headrace.config.yaml.nodes import Node

FILES = (HEADRACE, STREAM, FULL_STREAM, LAKE_TABLE, APP)
SIGNS = st.text(alphabet="{}[]:,'\"#&*!|>%@`-? \n\tä😀a1.~<=yesNO0x_", max_size=8)
ODD = (
    "a: yes\nb: no\nc: on\nd: 0o17\ne: 017\nf: 1_000\ng: 1:30\nh: ~\ni: 0x1F\nj: .5\nk: 1e3\nl: +1\n",
    "a: |\n  text\n   more\nb: >-\n  folded\n  text\n",
    "a: 'it''s'\nb: \"\\u00e4\\n\"\nc: plain: no\n",
    "ä: [ü, {ö: 😀}]\n",
    "a: &one {b: 1}\nc: *one\nd:\n  <<: *one\n",
    "a: !!str 5\nb: !!int '5'\nc: !other x\n",
    "? [a, b]\n: c\n",
    "a: 2026-01-01\nb: 2026-01-01T00:00:00Z\n",
    "- a\n- - b\n  - c\n",
    "a: ${A}\nb: '${B}'\nc: [\"${C}\"]\n",
    "{a: 127.0.0.1:9092, b: 'x'}\n",
)
# No YAML; tags; blocks of text.
LEFT = (ODD[1], ODD[2], ODD[5])


def flat(node: Node) -> list[tuple[object, ...]]:
    """What is read of a tree."""
    own = (node.id, str(node.tag), node.start_mark.index)
    if node.id == "scalar":
        return [(*own, str(node.value), not node.style)]
    parts = [one for item in node.value for one in (item if isinstance(item, tuple) else (item,))]
    return [own, *(row for part in parts for row in flat(part))]


def compare(text: str) -> bool:
    """Whether the parser in C has made a tree; it is the other one's then."""
    found = compose_in_c(text)
    if found is None:
        return False
    try:
        other = compose_in_python(text)
    except NotReadable as problem:
        pytest.fail(f"only one parser reads {text!r}: {problem.message}")
    assert flat(found) == flat(other), text
    return True


@pytest.mark.parametrize("text", [*FILES, *ODD])
def test_a_sound_file(text: str) -> None:
    assert compare(text) == (text not in LEFT)


@settings(max_examples=300, deadline=None)
@given(data=st.data(), text=st.sampled_from([*FILES, *ODD]))
def test_a_damaged_file(data: st.DataObject, text: str) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 30, len(text))))
    compare(text[:start] + data.draw(SIGNS) + text[end:])


@pytest.mark.parametrize("opened", ["[", "{a: ", "- ", "? ", "a:\n"])
@pytest.mark.parametrize("depth", [900, 3_900, 100_000])
def test_a_file_that_is_nested_too_deep_ends_nothing(opened: str, depth: int) -> None:
    # A stack of the size that threads have.
    thread = threading.Thread(target=compose_in_c, args=(opened * depth,))
    thread.start()
    thread.join()

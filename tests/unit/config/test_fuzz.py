"""Whatever is in a file, what comes out is problems with places in it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from headrace.config.common.section import KnownNames
from headrace.config.kind_files import check_file, check_workspace_file
from tests.unit.config.workspaces import APP, FULL_STREAM, HEADRACE, LAKE_TABLE, STREAM, Files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.config.yaml.document import Document

SAME_FILES = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
SIGNS = st.text(alphabet="abk:-[]{}&*!|>'\"%@`#,? \n\t<~$0.", max_size=60)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


def assert_located(document: Document) -> None:
    lines = document.source.split("\n") or [""]
    for problem in document.problems:
        assert 1 <= problem.line <= len(lines) + 1, problem
        assert problem.column >= 1, problem
        if problem.line <= len(lines):
            assert problem.column <= len(lines[problem.line - 1]) + 2, problem
        assert problem.message


@SAME_FILES
@given(text=st.text(max_size=200) | SIGNS)
def test_any_text_is_a_workspace_or_has_problems(files: Files, text: str) -> None:
    path = files.write("headrace.yaml", text.encode("utf-8", errors="surrogatepass"))
    document, workspace = check_workspace_file(path)
    assert (workspace is None) == bool(document.problems)
    assert_located(document)


@SAME_FILES
@given(content=st.binary(max_size=100))
def test_any_bytes_are_a_workspace_or_have_problems(files: Files, content: bytes) -> None:
    document, workspace = check_workspace_file(files.write("headrace.yaml", content))
    assert (workspace is None) == bool(document.problems)


@SAME_FILES
@given(data=st.data(), text=st.sampled_from([HEADRACE, STREAM, FULL_STREAM, LAKE_TABLE, APP]))
def test_a_damaged_file_is_sound_or_has_problems(
    files: Files, data: st.DataObject, text: str
) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 30, len(text))))
    damaged = text[:start] + data.draw(SIGNS) + text[end:]
    path = files.write("streams/damaged.yaml", damaged)
    checked = check_file(path, KnownNames(files.root, frozenset({"fronting"}), frozenset()))
    assert (checked.config is None) == bool(checked.document.problems)
    assert_located(checked.document)


def leaves(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of each scalar of a document."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from leaves(inner, (*path, number))
    else:
        yield path


def changed(value: object, path: tuple[str | int, ...], leaf: object) -> object:
    """Return a document with one scalar replaced."""
    if not path:
        return leaf
    head, *rest = path
    if isinstance(value, dict):
        return {k: changed(v, tuple(rest), leaf) if k == head else v for k, v in value.items()}
    assert isinstance(value, list)
    return [changed(v, tuple(rest), leaf) if n == head else v for n, v in enumerate(value)]


SOUND_FILES = [YAML(typ="safe").load(one) for one in (FULL_STREAM, LAKE_TABLE, APP)]
# Where a file of the user's own passes on what others understand.
FREE = {"properties", "conf", "overrides"}


@SAME_FILES
@given(data=st.data(), sound=st.sampled_from(SOUND_FILES))
def test_a_value_of_another_shape_is_refused_where_it_stands(
    files: Files, data: st.DataObject, sound: dict[str, object]
) -> None:
    paths = [path for path in leaves(sound) if not FREE & set(path)]
    path = data.draw(st.sampled_from(paths))
    shape = data.draw(st.sampled_from([{"no": {"such": 1}}, [[{"no": 1}]]]))
    text = json.dumps(changed(sound, path, shape))
    checked = check_file(files.write("streams/odd.yaml", text), KnownNames(files.root))
    assert checked.config is None, path
    assert_located(checked.document)
    # The file is one line: a problem's column is in the value, or in what is around it.
    ends = text.index(json.dumps(shape)) + len(json.dumps(shape))
    assert any(one.column <= ends for one in checked.document.problems)


def test_aliases_that_multiply_are_stopped(files: Files) -> None:
    levels = "\n".join(f"k{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))
    path = files.write("headrace.yaml", f"k0: &a0 [x]\n{levels}\n")
    document, workspace = check_workspace_file(path)
    assert workspace is None
    assert any(
        "the aliases in this file expand to too much" in one.message for one in document.problems
    )
    assert len(document.problems) < 30


def test_deep_nesting_is_stopped(files: Files) -> None:
    for text in ("[" * 5000, "a: " + "[" * 500 + "]" * 500, "- " * 3000):
        document, workspace = check_workspace_file(files.write("headrace.yaml", text))
        assert workspace is None
        assert document.problems

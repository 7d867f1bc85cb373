"""Whatever is in a file, what comes out is problems with places in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.config.kinds import check_workspace_file, examine
from headrace.config.sheet import Known
from tests.unit.config.workspaces import APP, FULL_STREAM, HEADRACE, LAKE_TABLE, STREAM, Files

if TYPE_CHECKING:
    from headrace.config.document import Document

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
    examined = examine(path, Known(files.root, frozenset({"fronting"}), frozenset()))
    assert (examined.config is None) == bool(examined.document.problems)
    assert_located(examined.document)


@SAME_FILES
@given(
    kind=st.sampled_from(["stream", "lake_table", "app"]),
    values=st.dictionaries(
        st.sampled_from(
            [
                "name",
                "source",
                "hygiene",
                "outputs",
                "table",
                "batch",
                "sources",
                "transform",
                "watermarks",
                "sink",
                "overrides",
            ]
        ),
        VALUES,
    ),
)
def test_any_value_under_a_known_key_is_sound_or_a_problem(
    files: Files, kind: str, values: dict[str, object]
) -> None:
    import json

    text = json.dumps({"kind": kind, **values})
    examined = examine(files.write("streams/odd.yaml", text), Known(files.root))
    assert examined.config is None
    assert examined.document.problems
    assert_located(examined.document)


def test_aliases_that_multiply_are_stopped(files: Files) -> None:
    levels = "\n".join(f"k{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))
    path = files.write("headrace.yaml", f"k0: &a0 [x]\n{levels}\n")
    document, workspace = check_workspace_file(path)
    assert workspace is None
    assert any("more than this file can mean" in one.message for one in document.problems)
    assert len(document.problems) < 30


def test_deep_nesting_is_stopped(files: Files) -> None:
    for text in ("[" * 5000, "a: " + "[" * 500 + "]" * 500, "- " * 3000):
        document, workspace = check_workspace_file(files.write("headrace.yaml", text))
        assert workspace is None
        assert document.problems

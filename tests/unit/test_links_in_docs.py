"""Links and paths in the documentation lead to something that is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "examples").glob("*/*.md"),
]
NOW = [page for page in PAGES if page.name != "CHANGELOG.md"]
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
# A path of this repository.
PATH = re.compile(
    r"`((?:headrace|router|lake_writer|backfill|stream_app|tests|tools|benchmarks|docs)/[\w./-]+)`"
)

STANDS_FOR = re.compile(r"\b(KIND|NAME)\b")


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    broken = []
    for name, anchor in LINK.findall(page.read_text()):
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(f"{name}#{anchor}")
    assert broken == []


@pytest.mark.parametrize("page", NOW, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_is_there(page: Path) -> None:
    named = [path for path in PATH.findall(page.read_text()) if not STANDS_FOR.search(path)]
    assert [path for path in named if not (ROOT / path).exists()] == []
    assert named or page.name != "CONTRIBUTING.md"


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_module_that_a_page_names_is_there(name: str) -> None:
    text, _, _ = (ROOT / name).read_text().partition("## History of the rooms")
    named = re.findall(r"`([\w./-]*\w\.py)`", text)
    tops = (
        "headrace",
        "router",
        "lake_writer",
        "backfill",
        "stream_app",
        "fleet",
        "tests",
        "benchmarks",
        "tools",
    )
    there = [str(path.relative_to(ROOT)) for top in tops for path in (ROOT / top).rglob("*.py")]
    missing = [
        one
        for one in named
        if not STANDS_FOR.search(one) and not any(f"/{path}".endswith(f"/{one}") for path in there)
    ]
    assert named
    assert missing == []

"""ARCHITECTURE.md is about the tree that is there."""

from __future__ import annotations

import re
from pathlib import Path

from tools.draw_layers import PICTURE, draw

ROOT = Path(__file__).parents[2]
PRODUCT = ("headrace", "router", "lake_writer", "backfill", "stream_app", "fleet")


def folders() -> set[str]:
    """Every package of the product, and every folder of the top."""
    packages = {
        str(init.parent.relative_to(ROOT))
        for name in PRODUCT
        for init in (ROOT / name).rglob("__init__.py")
        if "templates" not in init.parts
    }
    top = {"tests", "benchmarks", "deploy", "examples", "docs", "tools"}
    return packages | {one for one in top if (ROOT / one).is_dir()}


def test_every_folder_has_its_line() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    tree = page.partition("## The tree")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `([\w/]+)/` \|", tree, re.MULTILINE)) == folders()


def test_every_module_of_headrace_itself_is_named() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    modules = {one.name for one in (ROOT / "headrace").glob("*.py")} - {"__init__.py"}
    assert [one for one in sorted(modules) if f"`{one}`" not in page] == []


def test_the_picture_of_the_layers_is_the_contracts_one() -> None:
    assert PICTURE.read_text(encoding="utf-8") == draw((ROOT / "pyproject.toml").read_text()), (
        "make generated"
    )

"""Which sets of jars Spark gets, by what a workspace declares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.config.load import load_workspace
from headrace.spark import needed_jar_sets

if TYPE_CHECKING:
    from pathlib import Path

ON_S3 = 'catalogs:\n  lake: {type: sql, uri: "sqlite:///c.db", warehouse: "s3://lake/warehouse"}\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("clusters: {}\n", ["spark"]),
        ("checkpoint_dir: hdfs://namenode:8020/headrace\n", ["spark"]),
        ("checkpoint_dir: s3a://lake/headrace\n", ["spark", "s3a"]),
        (ON_S3, ["spark", "s3"]),
        (f"{ON_S3}checkpoint_dir: s3a://lake/headrace\n", ["spark", "s3", "s3a"]),
    ],
)
def test_tables_and_checkpoints_bring_their_own(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    (tmp_path / "headrace.yaml").write_text(text)
    assert needed_jar_sets(load_workspace(tmp_path)) == expected

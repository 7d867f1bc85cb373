"""Catalogs as headrace.yaml names them: what no stage can use is refused, and shown to nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.config.load import load_workspace
from headrace.errors import BadConfig
from headrace.iceberg.catalog import S3_FILE_IO, jar_sets, spark_catalog_settings

if TYPE_CHECKING:
    from pathlib import Path

S3 = (
    'warehouse: "s3://b/w", s3.endpoint: "http://127.0.0.1:9000", s3.region: eu, '
    "s3.access-key-id: me, s3.secret-access-key: mine"
)


def settings(root: Path, catalog: str) -> tuple[dict[str, str], list[str]]:
    """Return what Spark gets of a catalog, without the prefix, and the jars that it takes."""
    (root / "headrace.yaml").write_text(f"catalogs:\n  c: {{{catalog}}}\n")
    held = load_workspace(root).catalog("c")
    given = spark_catalog_settings(held)
    prefix = "spark.sql.catalog.c"
    assert given.pop(prefix) == "org.apache.iceberg.spark.SparkCatalog"
    return {name.removeprefix(f"{prefix}."): value for name, value in given.items()}, [
        *jar_sets(held)
    ]


@pytest.mark.parametrize(
    "uri", ["mysql://u:hidden@h/db", "postgresql:///db?host=/run&password=hidden", "hidden"]
)
def test_a_sql_catalog_that_spark_has_no_driver_for(tmp_path: Path, uri: str) -> None:
    (tmp_path / "headrace.yaml").write_text(f'catalogs:\n  c: {{type: sql, uri: "{uri}"}}\n')
    with pytest.raises(BadConfig) as refused:
        load_workspace(tmp_path)
    assert "2:23: expected uri: sqlite:///FILE or postgresql://" in str(refused.value)
    assert "hidden" not in str(refused.value)


def test_postgresql_as_jdbc_names_it(tmp_path: Path) -> None:
    uri = "postgresql+psycopg2://me:a%20b@h:5433/db?sslmode=require"
    assert settings(tmp_path, f'type: sql, uri: "{uri}", warehouse: /w') == (
        {
            "type": "jdbc",
            "jdbc.schema-version": "V1",
            "uri": "jdbc:postgresql://h:5433/db?sslmode=require",
            "jdbc.user": "me",
            "jdbc.password": "a b",
            "warehouse": "file:///w",
        },
        ["postgres"],
    )


def test_s3_as_the_aws_bundle_names_it(tmp_path: Path) -> None:
    found, jars = settings(tmp_path, f'type: sql, uri: "sqlite:///c.db", {S3}')
    assert jars == ["s3"]
    assert found["uri"].startswith(f"jdbc:sqlite:{tmp_path}/c.db?")
    assert (found["io-impl"], found["client.region"]) == (S3_FILE_IO, "eu")
    assert found["s3.path-style-access"] == "true"
    assert found["s3.secret-access-key"] == "mine"
    virtual, _ = settings(tmp_path, f'type: rest, uri: "http://h", {S3}, s3.path-style-access: "f"')
    assert virtual["s3.path-style-access"] == "f"


def test_rest_takes_no_jars_of_its_own(tmp_path: Path) -> None:
    found, jars = settings(tmp_path, 'type: rest, uri: "http://h", token: t, warehouse: main')
    assert found == {"type": "rest", "uri": "http://h", "token": "t", "warehouse": "main"}
    assert jars == []

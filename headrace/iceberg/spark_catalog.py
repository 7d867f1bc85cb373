"""A catalog in Spark's words: pyiceberg's names carried over, and the jars that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from headrace.iceberg.catalog import catalog_properties, sqlite_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headrace.config.workspace.workspace import Catalog
    from headrace.jars.lock import JarSet

TYPES: Final = {"sql": "jdbc", "rest": "rest", "hive": "hive", "glue": "glue"}
S3_FILE_IO: Final = "org.apache.iceberg.aws.s3.S3FileIO"
S3_SCHEMES: Final = ("s3://", "s3a://", "s3n://")
# How long one client waits while another holds the SQLite file.
SQLITE_BUSY_MS: Final = 30_000


def spark_catalog_settings(catalog: Catalog) -> dict[str, str]:
    """Return the settings that give Spark the same catalog under the same name."""
    given = catalog_properties(catalog)
    properties = {**given, "type": TYPES[catalog.type]}
    if catalog.type == "sql":
        properties |= _jdbc(given)
    if _is_on_s3(given):
        properties |= _s3(given)
    prefix = f"spark.sql.catalog.{catalog.name}"
    settings = {f"{prefix}.{name}": value for name, value in properties.items()}
    return {prefix: "org.apache.iceberg.spark.SparkCatalog", **settings}


def jar_sets(catalog: Catalog) -> Iterator[JarSet]:
    """Yield the sets of jars that Spark needs for this catalog, and for no other one."""
    given = catalog_properties(catalog)
    if catalog.type == "sql" and given.get("uri", "").startswith("postgresql"):
        yield "postgres"
    if catalog.type == "glue" or _is_on_s3(given):
        yield "s3"


def _jdbc(given: Mapping[str, str]) -> dict[str, str]:
    schema = {"jdbc.schema-version": "V1"}
    file = sqlite_file(dict(given))
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        return schema | {"uri": f"jdbc:sqlite:{file}?busy_timeout={SQLITE_BUSY_MS}"}
    uri = urlsplit(given.get("uri", ""))
    # Without the user and the password: Spark masks those by their names.
    host = uri.netloc.rpartition("@")[2]
    query = f"?{uri.query}" if uri.query else ""
    own = {"jdbc.user": uri.username, "jdbc.password": uri.password}
    return (
        schema
        | {"uri": f"jdbc:postgresql://{host}{uri.path}{query}"}
        | {name: unquote(value) for name, value in own.items() if value is not None}
    )


def _is_on_s3(given: Mapping[str, str]) -> bool:
    return given.get("warehouse", "").startswith(S3_SCHEMES) or any(
        name.startswith("s3.") for name in given
    )


def _s3(given: Mapping[str, str]) -> dict[str, str]:
    named = {"io-impl": S3_FILE_IO}
    if "s3.region" in given:
        named["client.region"] = given["s3.region"]
    if "s3.endpoint" in given and given.get("s3.force-virtual-addressing") != "true":
        # As pyiceberg does: a server of one's own has no name for every bucket.
        named["s3.path-style-access"] = "true"
    return {name: value for name, value in named.items() if name not in given}


def spark_name(name: str) -> str:
    """Write `catalog.database.table` in quotes, part by part."""
    return ".".join(quoted(part) for part in name.split("."))


def quoted(part: str) -> str:
    """Write one name in quotes."""
    return f"`{part.replace('`', '``')}`"

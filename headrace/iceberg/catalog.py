"""Iceberg, as the stages use it: one catalog under two clients, pyiceberg and Spark; tables by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from headrace.errors import TableMissing, Terminal, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyiceberg.catalog import Catalog as PyIcebergCatalog
    from pyiceberg.table import Table

    from headrace.config.workspace.workspace import Catalog, Workspace
    from headrace.jars.lock import JarSet


TYPES: Final = {"sql": "jdbc", "rest": "rest", "hive": "hive", "glue": "glue"}
S3_FILE_IO: Final = "org.apache.iceberg.aws.s3.S3FileIO"
S3_SCHEMES: Final = ("s3://", "s3a://", "s3n://")
# How long one client waits while another holds the SQLite file.
SQLITE_BUSY_MS: Final = 30_000


def catalog_properties(catalog: Catalog) -> dict[str, str]:
    """Return pyiceberg's properties, with local paths as URIs that Spark reads the same way."""
    properties = catalog.properties()
    warehouse = properties.get("warehouse", "")
    if warehouse.startswith("/"):
        properties["warehouse"] = f"file://{warehouse}"
    return properties


def open_catalog(catalog: Catalog) -> PyIcebergCatalog:
    """Open a catalog with pyiceberg; an embedded one is made where it is missing."""
    from pyiceberg.catalog import load_catalog  # noqa: PLC0415 - a third of a second, and Spark's settings need none of it
    from pyiceberg.exceptions import NotInstalledError  # noqa: PLC0415 - as above

    properties = catalog_properties(catalog)
    file = sqlite_file(properties)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
    try:
        return load_catalog(catalog.name, **properties)
    except NotInstalledError as problem:
        raise Terminal(
            f"catalog {catalog.name} ({catalog.type}) needs a Python package that is not installed",
            "for PostgreSQL: pip install 'headrace[postgres]'",
        ) from problem
    except Exception as problem:
        # What a catalog's client raises differs from kind to kind; its address is a secret.
        kind = type(problem).__name__
        raise Terminal(
            f"catalog {catalog.name} ({catalog.type}) could not be opened: {kind}",
            f"check catalogs.{catalog.name} in headrace.yaml",
        ) from problem


def sqlite_file(properties: dict[str, str]) -> Path | None:
    """Return the file of a SQLite catalog, None where it is of another kind."""
    uri = properties.get("uri", "")
    scheme, separator, rest = uri.partition(":///")
    if not separator or scheme.partition("+")[0] != "sqlite" or not rest:
        return None
    return Path(rest.partition("?")[0])


def load_table(workspace: Workspace, name: str) -> Table:
    """Load `catalog.database.table`, or say which tables there are."""
    return table_loader(workspace, name)()


def table_loader(workspace: Workspace, name: str) -> Callable[[], Table]:
    """Return what loads `catalog.database.table` again each time, over one connection."""
    from pyiceberg.exceptions import NoSuchTableError  # noqa: PLC0415 - as above

    catalog_name, database, table = split_name(name)
    catalog = open_catalog(workspace.catalog(catalog_name))

    def load() -> Table:
        try:
            return catalog.load_table((*database, table))
        except NoSuchTableError:
            raise TableMissing(name, _tables(catalog, catalog_name)) from None

    return load


def split_name(name: str) -> tuple[str, tuple[str, ...], str]:
    """Split `catalog.database.table`; a database may itself have dots."""
    parts = name.split(".")
    if len(parts) < 3 or not all(parts):
        raise UsageError(f"{name} is not a table name", "write it as CATALOG.DATABASE.TABLE")
    return parts[0], tuple(parts[1:-1]), parts[-1]


def _tables(catalog: PyIcebergCatalog, catalog_name: str) -> list[str]:
    from pyiceberg.exceptions import NoSuchNamespaceError  # noqa: PLC0415 - as above

    found = []
    for namespace in catalog.list_namespaces():
        try:
            tables = catalog.list_tables(namespace)
        except NoSuchNamespaceError:
            continue
        found += [".".join((catalog_name, *table)) for table in tables]
    return found


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

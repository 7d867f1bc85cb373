"""Iceberg, as the stages use it: one catalog under two clients, tables by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError, NotInstalledError

from headrace.errors import TableMissing, Terminal, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.catalog import Catalog as PyIcebergCatalog
    from pyiceberg.table import Table

    from headrace.config.workspace.workspace import Catalog, Workspace


def catalog_properties(catalog: Catalog) -> dict[str, str]:
    """Return pyiceberg's properties, with local paths as URIs that Spark reads the same way."""
    properties = catalog.properties()
    warehouse = properties.get("warehouse", "")
    if warehouse.startswith("/"):
        properties["warehouse"] = f"file://{warehouse}"
    return properties


def open_catalog(catalog: Catalog) -> PyIcebergCatalog:
    """Open a catalog with pyiceberg; an embedded one is made where it is missing."""
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
    found = []
    for namespace in catalog.list_namespaces():
        try:
            tables = catalog.list_tables(namespace)
        except NoSuchNamespaceError:
            continue
        found += [".".join((catalog_name, *table)) for table in tables]
    return found

"""How OpenLineage names a dataset, and what a table's metadata says of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from headrace.errors import TableMissing
from headrace.iceberg.catalog import catalog_properties, split_name, sqlite_file, table_loader
from headrace.schema.fit import type_word
from headrace.schema.model import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyiceberg.schema import Schema
    from pyiceberg.table import Table
    from pyiceberg.types import IcebergType, StructType

    from headrace.config.workspace.workspace import Workspace
    from headrace.lineage.jobs import LineageDataset
    from headrace.schema.model import Type


@dataclass(frozen=True, slots=True)
class Column:
    """A column; `type` is None where only Spark could say, `columns` are those of a struct."""

    name: str
    type: str | None
    columns: Sequence[Column] = ()


@dataclass(frozen=True, slots=True)
class NamedDataset:
    """A dataset by OpenLineage's rules for names.

    A table is named by where its files are, as other integrations name it. `symlink` is its name in
    its catalog, and `snapshot_id` its current snapshot.
    """

    namespace: str
    name: str
    columns: Sequence[Column] = ()
    symlink: tuple[str, str] | None = None
    catalog: str | None = None
    catalog_type: str | None = None
    snapshot_id: int | None = None


@dataclass(slots=True)
class DatasetNames:
    """Looks datasets up. A table is loaded again each time, over one connection to its catalog."""

    workspace: Workspace
    _loaders: dict[str, Callable[[], Table]] = field(default_factory=dict)

    def named(self, dataset: LineageDataset) -> NamedDataset:
        """Return the dataset under its name; a table's catalog is asked, and may not answer."""
        kind, _, where = dataset.location.partition(":")
        columns = columns_of(dataset.columns)
        match kind:
            case "kafka":
                cluster, _, topic = where.partition("/")
                servers = self.workspace.cluster(cluster).bootstrap_servers
                return NamedDataset(f"kafka://{first_server(servers)}", topic, columns)
            case "search":
                address, _, index = where.rpartition("/")
                return NamedDataset(f"search://{address}", index, columns)
            case "jsonl":
                return NamedDataset("file", str(self.workspace.root / where), columns)
            case _:
                return self._table(where)

    def _table(self, identifier: str) -> NamedDataset:
        catalog_name, database, name = split_name(identifier)
        catalog = self.workspace.catalog(catalog_name)
        if identifier not in self._loaders:
            file = sqlite_file(catalog_properties(catalog))
            if file is not None and not file.exists():
                # To open it would make it, while a job may be doing so.
                raise TableMissing(identifier, ())
            self._loaders[identifier] = table_loader(self.workspace, identifier)
        table = self._loaders[identifier]()
        namespace, path = by_location(table.location())
        snapshot = table.current_snapshot()
        return NamedDataset(
            namespace,
            path,
            table_columns(table.schema()),
            (catalog_namespace(catalog.shown_properties(), namespace), ".".join((*database, name))),
            catalog_name,
            catalog.type,
            None if snapshot is None else snapshot.snapshot_id,
        )


def first_server(bootstrap_servers: str) -> str:
    """Return the host and port by which a cluster is named: the first one, without a protocol."""
    first = bootstrap_servers.split(",", maxsplit=1)[0].strip().rpartition("://")[2]
    return first if ":" in first else f"{first}:9092"


def by_location(location: str) -> tuple[str, str]:
    """Return the namespace and name of files: `s3://bucket` and a path, `file` and a path."""
    parts = urlsplit(location)
    if parts.scheme in {"", "file"}:
        return "file", parts.path
    scheme = "s3" if parts.scheme in {"s3a", "s3n"} else parts.scheme
    # A name before the host may be a user's, with a password.
    host = parts.netloc.rpartition("@")[2] if scheme != "abfss" else parts.netloc
    return f"{scheme}://{host}", parts.path.strip("/")


def catalog_namespace(properties: Mapping[str, str], location: str) -> str:
    """Return the namespace of a table's name in its catalog: its warehouse, where that is shown."""
    warehouse = properties.get("warehouse", "")
    if not warehouse or "@" in warehouse:
        return location
    return f"file:{warehouse}" if warehouse.startswith("/") else warehouse


def columns_of(columns: Mapping[str, Type | None]) -> list[Column]:
    """Return the columns of records."""
    return [_column(name, kind) for name, kind in columns.items()]


def _column(name: str, kind: Type | None) -> Column:
    if isinstance(kind, Record):
        return Column(name, "record", columns_of({one.name: one.type for one in kind.fields}))
    return Column(name, None if kind is None else type_word(kind))


def table_columns(schema: Schema) -> list[Column]:
    """Return the columns of a table."""
    return [_table_column(one.name, one.field_type) for one in schema.fields]


def _table_column(name: str, kind: IcebergType) -> Column:
    if kind.is_struct:
        fields = cast("StructType", kind).fields
        inner = [_table_column(one.name, one.field_type) for one in fields]
        return Column(name, "struct", inner)
    return Column(name, str(kind))

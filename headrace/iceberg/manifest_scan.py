"""What a plan needs of a manifest's entries, and nothing else of them: a million within seconds.

An entry holds sizes, counts and bounds of every column. To make objects of them is most of what a
manifest costs. Here a function is put together from the manifest's own schema that steps over all
but a few fields.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

import fastavro
from pyiceberg.avro.decoder import new_decoder

from headrace.records.avro.source import Body
from headrace.records.codegen import Names, function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

DELETED = 2
KEPT = {
    "status": "read_int",
    "file_path": "read_utf8",
    "file_format": "read_utf8",
    "record_count": "read_int",
    "file_size_in_bytes": "read_int",
}
BOUNDS = ("lower_bounds", "upper_bounds")
NULLS = "null_value_counts"
SKIPPED = {
    "boolean": "skip_boolean()",
    "int": "skip_int()",
    "long": "skip_int()",
    "float": "skip_float()",
    "double": "skip_double()",
    "bytes": "skip_bytes()",
    "string": "skip_utf8()",
}
NUMBERS = ("int", "long")


class LiveFile(NamedTuple):
    """A live data file, with the lower and upper bound of each column that was asked for.

    Bounds are as Iceberg keeps them, None where there are none. `nulls` counts the rows in which the
    first of those columns is null, None where the writer did not count them.
    """

    path: str
    file_format: str
    rows: int
    size_bytes: int
    nulls: int | None
    bounds: tuple[tuple[bytes | None, bytes | None], ...]


def live_entries(manifest: bytes, *field_ids: int) -> Iterator[LiveFile]:
    """Yield the entries of a manifest that are not deleted, with those columns' bounds."""
    # What it gives has more than its types say.
    blocks: Any = fastavro.block_reader(BytesIO(manifest))
    scan = _Source(field_ids).scan_of(blocks.writer_schema)
    for block in blocks:
        found: list[LiveFile] = []
        scan(new_decoder(block.bytes_.read()), block.num_records, found)
        yield from found


class _Source:
    """The source of a function that reads a block of entries, by the schema of their writer."""

    def __init__(self, field_ids: Sequence[int]) -> None:
        self._field_ids = field_ids
        self._body = Body(Names({"LiveFile": LiveFile}))
        self._named: dict[str, Any] = {}

    def scan_of(self, schema: Any) -> Callable[..., None]:  # noqa: ANN401 - Avro's schema is JSON
        """Return the function: it takes a decoder, a count of entries, and a list to add to."""
        body, (lower, upper) = self._body, BOUNDS
        bounds = "".join(f"({lower}.get({one}), {upper}.get({one}))," for one in self._field_ids)
        with body.block("for _ in range(count):"):
            body.line(f"{lower}, {upper}, nulls = {{}}, {{}}, None")
            self._record(schema)
            with body.block(f"if status != {DELETED}:"):
                body.line(
                    "found.append(LiveFile(file_path, file_format, record_count,"
                    f" file_size_in_bytes, nulls, ({bounds})))"
                )
        return function("scan", ("decoder", "count", "found"), body.lines, body.names.objects)

    def _record(self, schema: Any) -> None:  # noqa: ANN401 - as above
        for field in schema["fields"]:
            name, kind = field["name"], field["type"]
            if name == "data_file":
                self._record(kind)
            elif name in KEPT:
                self._body.line(f"{name} = decoder.{KEPT[name]}()")
            elif name in BOUNDS or name == NULLS:
                self._pass(kind, name)
            else:
                self._pass(kind)

    def _pass(self, kind: Any, into: str | None = None) -> None:  # noqa: ANN401 - as above
        """Step over a value; bounds are put into the dict of that name, a count into `nulls`."""
        if isinstance(kind, list):
            self._union(kind, into)
        elif isinstance(kind, str):
            if kind in SKIPPED:
                self._body.line(f"decoder.{SKIPPED[kind]}")
            elif kind != "null":
                self._pass(self._named[kind], into)
        elif kind["type"] == "array":
            self._array(kind["items"], into)
        elif kind["type"] == "record":
            self._named[kind["name"]] = kind
            for field in kind["fields"]:
                self._pass(field["type"])
        elif kind["type"] == "fixed":
            self._named[kind["name"]] = kind
            self._body.line(f"decoder.skip({kind['size']})")
        else:
            self._pass(kind["type"], into)

    def _union(self, kinds: list[Any], into: str | None) -> None:
        body, branch = self._body, self._body.variable()
        body.line(f"{branch} = decoder.read_int()")
        for number, kind in enumerate(kinds):
            if kind != "null":
                with body.block(f"if {branch} == {number}:"):
                    self._pass(kind, into)

    def _array(self, items: Any, into: str | None) -> None:  # noqa: ANN401 - as above
        body, count = self._body, self._body.variable()
        body.line(f"{count} = decoder.read_int()")
        with body.block(f"while {count}:"):
            # A negative count is followed by how many bytes that many take.
            with body.block(f"if {count} < 0:"):
                body.line(f"{count} = -{count}")
                body.line("decoder.skip_int()")
            if into == NULLS:
                number = self._field_ids[0]
                body.line(f"pairs = decoder.read_ints(2 * {count})")
                with body.block(f"if {number} in pairs[::2]:"):
                    body.line(f"nulls = pairs[2 * pairs[::2].index({number}) + 1]")
            elif into is not None:
                body.line(f"decoder.read_int_bytes_dict({count}, {into})")
            elif (numbers := _numbers_in(items)) is not None:
                # In one call for all: with one for each, this would be most of the time.
                body.line(f"decoder.read_ints({numbers} * {count})")
            else:
                with body.block(f"for _ in range({count}):"):
                    self._pass(items)
            body.line(f"{count} = decoder.read_int()")


def _numbers_in(kind: Any) -> int | None:  # noqa: ANN401 - Avro's schema is JSON
    """Return how many numbers a value is, where it is nothing else."""
    if isinstance(kind, str):
        return 1 if kind in NUMBERS else None
    if isinstance(kind, dict) and kind["type"] == "record":
        inside = [_numbers_in(field["type"]) for field in kind["fields"]]
        return None if None in inside else len(inside)
    return None

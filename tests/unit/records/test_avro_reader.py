"""What comes in: framing, poison, and a registry that does not know or does not answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from headrace.errors import Transient
from headrace.records.avro.resolution import Resolver
from headrace.records.avro.source import MOST_EMPTY_ITEMS
from headrace.records.avro.writer import long_bytes
from headrace.records.avro.writer_schema import Fields, parse, smallest
from headrace.records.framing import VALUE_HEADER
from headrace.records.rows import BadRecord
from headrace.schema.avro import parse_avro
from tests.unit.records.avro_values import framed, read_with, reader_of, written

if TYPE_CHECKING:
    from tests.registry_server import RegistryServer

WIDE = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"  # the largest long


def of(kind: object, *, name: str = "E", more: tuple[object, ...] = ()) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": "x", "type": kind}, *more]}


def logical(kind: str, name: str, **more: object) -> dict[str, object]:
    return {"type": kind, "logicalType": name, **more}


def refusal(server: RegistryServer, writer: object, payload: bytes, reader: object = None) -> str:
    with pytest.raises(BadRecord) as bad:
        read_with(server, writer, parse_avro(reader or writer), payload)
    return bad.value.reason


def test_the_schema_is_named_in_the_value_or_in_a_header(registry_server: RegistryServer) -> None:
    schema = of("long")
    held = registry_server.put("s", schema)
    read = reader_of(registry_server, parse_avro(schema))
    guid = b"\x01" + held.guid.bytes
    for _ in range(2):
        assert read(framed(held.id, b"\x0e"), None).f0 == 7
        assert read(framed(held.id, b"\x0e"), [("trace", b"1")]).f0 == 7
        assert read(guid + b"\x0e", []).f0 == 7
        assert read(b"\x0e", [(VALUE_HEADER, guid)]).f0 == 7
    assert len(registry_server.asked) == 2


def test_each_record_is_read_with_its_own_schema(registry_server: RegistryServer) -> None:
    old = registry_server.put("s", of("int"))
    new = registry_server.put("s", of("long", more=({"name": "y", "type": "string"},)))
    read = reader_of(registry_server, parse_avro(of("long")))
    assert read(framed(new.id, b"\x0e\x02a"), None).f0 == 7
    assert read(framed(old.id, b"\x0c"), None).f0 == 6


def test_a_record_without_a_value(registry_server: RegistryServer) -> None:
    read = reader_of(registry_server, parse_avro(of("long")))
    for value, reason in ((None, "has no value"), (b"", "is empty"), (b"{}", "0x7b")):
        with pytest.raises(BadRecord, match=reason):
            read(value, None)


def test_an_id_that_the_registry_does_not_know_is_the_records_fault(
    registry_server: RegistryServer,
) -> None:
    read = reader_of(registry_server, parse_avro(of("long")))
    with pytest.raises(BadRecord) as bad:
        read(framed(77, b"\x02"), None)
    assert (bad.value.reason, bad.value.kind) == (
        "its schema id 77 is not in the registry",
        "decode",
    )


def test_a_registry_that_is_silent_is_nobodys_fault(registry_server: RegistryServer) -> None:
    held = registry_server.put("s", of("long"))
    read = reader_of(registry_server, parse_avro(of("long")))
    registry_server.stop()
    with pytest.raises(Transient):
        read(framed(held.id, b"\x0e"), None)
    registry_server.start()
    assert read(framed(held.id, b"\x0e"), None).f0 == 7


def test_a_schema_that_cannot_be_the_streams_is_named(registry_server: RegistryServer) -> None:
    held = registry_server.put("s", of("string"))
    read = reader_of(registry_server, parse_avro(of("long")))
    for _ in range(2):
        with pytest.raises(BadRecord) as bad:
            read(framed(held.id, b"\x02a"), None)
        reason = f"its schema {held.id} cannot be read as this stream's: x is string, not long"
        assert (bad.value.reason, bad.value.kind) == (reason, "schema")


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '"Missing"',
        "[]",
        '{"type": "record"}',
        "[" * 100_000,
        "7",
        '{"type": []}',
        '["null", ["long", "string"]]',
        "[" * 200 + '"long"' + "]" * 200,
        json.dumps([{"type": "fixed", "name": f"F{n}", "size": 1} for n in range(20_000)]),
    ],
)
def test_a_schema_that_is_none(registry_server: RegistryServer, text: str) -> None:
    held = registry_server.put("s", text)
    read = reader_of(registry_server, parse_avro(of("long")))
    with pytest.raises(BadRecord, match=f"its schema {held.id} cannot be read: ") as bad:
        read(framed(held.id, b""), None)
    assert bad.value.kind == "schema"


def test_a_schema_of_another_format(registry_server: RegistryServer) -> None:
    held = registry_server.put("s", 'syntax = "proto3";', form="PROTOBUF")
    read = reader_of(registry_server, parse_avro(of("long")))
    with pytest.raises(BadRecord, match=f"id {held.id} is PROTOBUF, not Avro") as bad:
        read(framed(held.id, b""), None)
    assert bad.value.kind == "schema"


SYMBOLS = {"type": "enum", "name": "K", "symbols": ["a", "b"]}


@pytest.mark.parametrize(
    ("kind", "payload", "reason"),
    [
        ("string", WIDE, "x is longer than the value it is in"),
        ("string", b"\x08abc", "x is longer than the value it is in"),
        ("string", b"\x01", "x has a length below zero"),
        ("string", b"\x04\xc3\x28", "a text in it is not UTF-8"),
        ("bytes", WIDE, "x is longer than the value it is in"),
        ("long", b"\x80" * 12, "a number in it is longer than 64 bits"),
        ("long", b"\xff" * 9 + b"\x02", "a number in it is longer than 64 bits"),
        ("long", b"\x80", "ends before its record does"),
        ("int", b"\x80\x80\x80\x80\x10", "x is no int"),
        ("boolean", b"\x02", "x is no boolean"),
        ("float", b"\x00\x00\x00", "ends before its record does"),
        ("long", b"\x02\x02", "1 bytes follow the record"),
        (SYMBOLS, b"\x04", "x has a symbol that is not in its enum"),
        (SYMBOLS, b"\x01", "x has a symbol that is not in its enum"),
        (["null", "long"], b"\x04\x02", "x has a type that is not in its union"),
        (["null", "long"], b"\x01\x02", "x has a type that is not in its union"),
        (
            logical("bytes", "decimal", precision=3, scale=1),
            b"\x04\x03\xe8",
            "x is no decimal of 3",
        ),
        (logical("bytes", "decimal", precision=3, scale=1), b"\x00", "x is no decimal of 3"),
        (logical("int", "date"), b"\xfe\xff\xff\xff\x0f", "x is beyond the years 0001 to 9999"),
        (logical("long", "timestamp-millis"), WIDE, "x is beyond the years 0001 to 9999"),
        (logical("int", "time-millis"), b"\x01", "x is beyond 00:00 to 24:00"),
        ({"type": "array", "items": "long"}, WIDE + b"\x02", "more items than"),
        ({"type": "array", "items": "long"}, b"\xff" * 9 + b"\x01\x02", "more items than"),
        ({"type": "map", "values": "long"}, WIDE, "more items than"),
    ],
)
def test_poison_is_told(
    registry_server: RegistryServer, kind: object, payload: bytes, reason: str
) -> None:
    assert reason in refusal(registry_server, of(kind), payload)


def test_items_that_take_no_bytes_are_counted(registry_server: RegistryServer) -> None:
    writer = of({"type": "array", "items": "null"})
    reader = of({"type": "array", "items": ["null", "long"]})
    assert "more items" in refusal(registry_server, writer, WIDE + b"\x00", reader)
    row = read_with(registry_server, writer, parse_avro(reader), b"\x04\x00")
    assert row.f0 == [None, None]


def named(name: str, *fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


NOTHING: tuple[tuple[object, object], ...] = (
    ("null", ["null", "long"]),
    (named("R"), named("R", {"name": "n", "type": "long", "default": 7})),
    (named("R", {"name": "n", "type": "null"}), named("R", {"name": "n", "type": ["null", "int"]})),
)


@pytest.mark.parametrize(("nothing", "read_as"), NOTHING)
@pytest.mark.parametrize(("outer", "key"), [("array", b""), ("map", b"\x02k")])
def test_nested_items_that_take_no_bytes_are_counted_together(
    registry_server: RegistryServer, nothing: object, read_as: object, outer: str, key: bytes
) -> None:
    """A few bytes never become millions of items, however their arrays lie in each other."""

    def schema(item: object) -> dict[str, Any]:
        content = "items" if outer == "array" else "values"
        return of({"type": outer, content: {"type": "array", "items": item}})

    schema_id = registry_server.put("s", schema(nothing)).id
    read = reader_of(registry_server, parse_avro(schema(read_as)))
    half = key + long_bytes(MOST_EMPTY_ITEMS // 2) + b"\x00"

    def payload(arrays: int) -> bytes:
        return framed(schema_id, long_bytes(arrays) + half * arrays + b"\x00")

    # Each record has a count of its own, the one after a bad one too.
    for _ in range(2):
        found = read(payload(2), None).f0
        inner = found if outer == "array" else [found["k"]]
        assert {len(one) for one in inner} == {MOST_EMPTY_ITEMS // 2}
        with pytest.raises(BadRecord, match="more items than"):
            read(payload(3), None)


@pytest.mark.parametrize("count", [WIDE, b"\xff" * 9 + b"\x01\x00"])
def test_unwanted_items_that_take_no_bytes_take_no_time(
    registry_server: RegistryServer, count: bytes
) -> None:
    unwanted = ({"name": "y", "type": {"type": "array", "items": "null"}},)
    row = read_with(
        registry_server,
        of("long", more=unwanted),
        parse_avro(of("long")),
        b"\x0e" + count + b"\x00",
    )
    assert row.f0 == 7


def test_blocks_with_their_length_in_bytes(registry_server: RegistryServer) -> None:
    two_blocks = b"\x03\x04\x02\x04\x02\x06\x00"  # two items in two bytes, then one
    longs = {"type": "array", "items": "long"}
    assert read_with(registry_server, of(longs), parse_avro(of(longs)), two_blocks).f0 == [1, 2, 3]
    unwanted = ({"name": "y", "type": longs},)
    writer = of("long", more=unwanted)
    assert read_with(registry_server, writer, parse_avro(of("long")), b"\x0e" + two_blocks).f0 == 7
    too_long = b"\x0e" + b"\x03" + WIDE
    assert "longer than" in refusal(registry_server, writer, too_long, of("long"))


def test_a_type_within_itself_is_passed_over_as_deep_as_can_be(
    registry_server: RegistryServer,
) -> None:
    node = {
        "type": "record",
        "name": "Node",
        "fields": [{"name": "next", "type": ["null", "Node"]}, {"name": "v", "type": "int"}],
    }
    writer = of("long", more=({"name": "y", "type": node},))

    def nested(depth: int) -> bytes:
        return b"\x0e" + b"\x02" * depth + b"\x00\x02" + b"\x02" * depth

    assert read_with(registry_server, writer, parse_avro(of("long")), nested(50)).f0 == 7
    deep = refusal(registry_server, writer, nested(1_000_000), of("long"))
    assert deep == "its records are nested too deep"


def test_the_least_size_of_a_type_is_looked_for_once() -> None:
    """A type that is named again and again is one type: looking at it is not doubled each time."""
    innermost: Any = named("R0", {"name": "a", "type": "null"})
    for depth in range(1, 40):
        again = {"name": "b", "type": f"R{depth - 1}"}
        innermost = named(f"R{depth}", {"name": "a", "type": innermost}, again)
    assert smallest(parse(json.dumps(innermost))) == 0
    held = parse(json.dumps(named("R", {"name": "a", "type": "R"})))
    assert isinstance(held, Fields)
    assert smallest(held) == 1


def test_a_record_in_many_branches_is_resolved_once_at_a_path() -> None:
    """Branches that hold the same records: without that, each level multiplies the ones below."""
    depth, branches = 6, 8
    inner: Any = "long"
    for level in range(depth):
        first = named(f"n{level}.x0.R{level}", {"name": "x", "type": inner})
        rest = [
            named(
                f"n{level}.x{number}.R{level}",
                {"name": "x", "type": inner if isinstance(inner, str) else names_of(inner)},
            )
            for number in range(1, branches)
        ]
        inner = [first, *rest]
    reader: Any = "long"
    for level in range(depth):
        reader = named(f"R{level}", {"name": "x", "type": reader})
    resolver = Resolver()
    resolver.reader(parse(json.dumps(inner)), parse_avro(reader))
    assert len(resolver._records) == depth * branches  # noqa: SLF001 - the work that was done


def names_of(union: list[dict[str, Any]]) -> list[str]:
    return [branch["name"] for branch in union]


def test_nobody_shares_a_default(registry_server: RegistryServer) -> None:
    added = {"name": "y", "type": {"type": "map", "values": "long"}, "default": {"a": 1}}
    reader = parse_avro(of("long", more=(added,)))
    held = registry_server.put("s", of("long"))
    read = reader_of(registry_server, reader)
    first = read(framed(held.id, b"\x02"), None)
    first.f1["b"] = 2
    assert read(framed(held.id, b"\x02"), None).f1 == {"a": 1}


def test_the_whole_record_may_be_one_of_a_union(registry_server: RegistryServer) -> None:
    other = of("string", name="Other")
    writer = [other, of("long")]
    payload = written(writer, ("E", {"x": 7}))
    assert read_with(registry_server, writer, parse_avro(of("long")), payload).f0 == 7
    refused = refusal(registry_server, writer, written(writer, ("Other", {"x": "a"})), of("long"))
    assert "is record Other, not E" in refused

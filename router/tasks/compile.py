"""A stream's way with a record as one Python function: decode, check, filter, project, send.

Each output's filter and projection stand in it as expressions, so that a record costs no call but
those that do something.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from headrace.expressions.compiled.compiler import (
    Compiled,
    NotCompiled,
    compile_expression,
    compile_filter,
)
from headrace.expressions.compiled.runtime.numbers import LARGEST_LONG
from headrace.records.avro.writer import AvroWriter
from headrace.records.codegen import function
from headrace.records.decoding import decoding, region_of
from headrace.records.json.writer import JsonWriter
from headrace.records.rows import row_class
from headrace.schema.model import Field, Primitive, Record
from router.plan.model import ToTable, ToTopic, left_to_spark
from router.tasks.passed_on import times_passed_on, with_texts
from router.tasks.sent_lines import names_of_sent_lines, sent_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from headrace.kafka.message import Message
    from headrace.records.decoding import Decoding
    from router.plan.model import Outlet, RoutePlan

Route: TypeAlias = "Callable[..., tuple[int, ...]]"

ALWAYS: Final = Compiled(
    "True", Primitive.BOOLEAN, nullable=False, constants={}, metadata=frozenset()
)
_METADATA: Final = {
    "kafka_ingestion_ts": "m_kafka_ingestion_ts = ingestion_us(m)",
    "topic": "m_topic = TOPIC",
    "partition": "m_partition = number",
    "offset": "m_offset = m.offset()",
    "region": "m_region = region_of(m.headers(), REGION)",
}
_TEXT: Final = (Primitive.STRING, Primitive.UUID, Primitive.BYTES)


@dataclass(frozen=True, slots=True)
class CompiledOutlet:
    """An output whose every expression is known to mean in Python what it means in Spark."""

    outlet: Outlet
    passes: Compiled
    columns: tuple[Compiled, ...]
    key: Compiled | None
    schema: Record

    @property
    def expressions(self) -> Iterable[Compiled]:
        """All that is evaluated for it."""
        return (self.passes, *self.columns, *([] if self.key is None else [self.key]))


def compile_outlet(outlet: Outlet, schema: Record) -> CompiledOutlet | NotCompiled:
    """Return an output's expressions compiled, or which of them cannot be, and why."""
    if isinstance(outlet.target, ToTable):
        return NotCompiled("Spark writes its table")
    left = left_to_spark(outlet)
    if left is not None:
        return left
    passes = ALWAYS if outlet.filter is None else compile_filter(outlet.filter, schema)
    if isinstance(passes, NotCompiled):
        return NotCompiled(f"filter: {passes.reason}")
    columns: list[Compiled] = []
    for column in outlet.columns:
        compiled = compile_expression(column.expression, schema)
        if isinstance(compiled, NotCompiled):
            return NotCompiled(f"column {column.name}: {compiled.reason}")
        columns.append(compiled)
    key = _key(outlet, schema)
    if isinstance(key, NotCompiled):
        return NotCompiled(f"key: {key.reason}")
    if _is_raw(outlet) and columns[0].type not in _TEXT:
        return NotCompiled("raw bytes of a column that is neither text nor bytes")
    fields = tuple(
        Field(column.name, compiled.type, compiled.nullable)
        for column, compiled in zip(outlet.columns, columns, strict=True)
    )
    return CompiledOutlet(outlet, passes, tuple(columns), key, Record(outlet.name, fields))


def compile_route(plan: RoutePlan, outlets: Sequence[CompiledOutlet]) -> Route:
    """Return the function that routes records of one partition.

    Its arguments are (messages, number, now_ms, sends, bad, failed). `sends` has for each output
    a pair: a client's `produce`, which may raise BufferError, and what takes (topic, value, key,
    headers) and waits. `bad` gets (message, Broken), `failed` gets (which output, message,
    exception). It returns how many records each output was given.
    """
    texts, region = times_passed_on(plan, outlets), plan.source.region
    decoder = decoder_of(plan, texts)
    encodings = _Encodings(plan.source.schema, texts)
    each = [_steps(index, one, encodings, region) for index, one in enumerate(outlets)]
    numbers = range(len(outlets))
    used = frozenset[str]().union(*(e.metadata for one in outlets for e in one.expressions))
    body = [
        *(f"w{index} = 0; send{index}, wait{index} = sends[{index}]" for index in numbers),
        "origin = f'{TOPIC}/{number}/'",
        "for m in messages:",
        *_indented((*decoder.first, *decoder.lines)),
        *_indented(_METADATA[name] for name in sorted(used)),
        "    headers = None",
        *(f"    e{number} = None" for number in encodings.numbers),
        *_indented(line for steps in each for line in steps),
        f"return ({''.join(f'w{index}, ' for index in numbers)})",
    ]
    names: dict[str, object] = {
        "TOPIC": plan.source.topic,
        "REGION": region,
        "region_of": region_of,
        "ingestion_us": ingestion_us,
        **names_of_sent_lines(region),
        **decoder.names,
        **encodings.names,
    }
    for index, one in enumerate(outlets):
        names[f"topic{index}"] = one.outlet.sent_to
        for expression in one.expressions:
            names |= expression.constants
    arguments = ["messages", "number", "now_ms", "sends", "bad", "failed"]
    return function("route", arguments, body, names)


def decoder_of(plan: RoutePlan, texts: Collection[str] = ()) -> Decoding:
    """Return how the records of a stream are decoded and checked, whoever evaluates its outputs.

    `texts` are times that rows hold as the text of them.
    """
    source = plan.source
    return decoding(
        source.format,
        source.schema,
        plan.hygiene,
        source.registry,
        needs_time=plan.needs_time,
        texts=texts,
    )


def ingestion_us(message: Message) -> int:
    """Return a record's timestamp in microseconds; one that Spark's type cannot hold is its end."""
    at_us: int = message.timestamp()[1] * 1000
    return max(-LARGEST_LONG - 1, min(at_us, LARGEST_LONG))


class _Encodings:
    """The values to be sent: outputs with the same columns share one."""

    def __init__(self, source: Record, texts: Collection[str]) -> None:
        self._source_schema, self._texts = source, texts
        self._known: dict[object, int] = {}
        self.names: dict[str, object] = {}
        self._sources: dict[int, str] = {}

    @property
    def numbers(self) -> Iterable[int]:
        return self._sources

    def of(self, one: CompiledOutlet) -> tuple[int, str]:
        """Return the number of an output's encoding, and its source."""
        target = one.outlet.target
        form = target.format if isinstance(target, ToTopic) else "json"
        avro = target.avro if isinstance(target, ToTopic) else None
        key = (form, avro, one.schema.fields, tuple(column.source for column in one.columns))
        if key not in self._known:
            number = self._known[key] = len(self._known)
            self._sources[number] = self._source(number, one)
        number = self._known[key]
        return number, self._sources[number]

    def _source(self, number: int, one: CompiledOutlet) -> str:
        values = [column.source for column in one.columns]
        target = one.outlet.target
        if isinstance(target, ToTopic) and target.format == "raw":
            return values[0]
        prefix = f"x{number}_"
        if isinstance(target, ToTopic) and target.avro is not None:
            schema, schema_id = target.avro
            self.names[f"{prefix}write"] = AvroWriter(schema, schema_id)
            self.names[f"{prefix}row"] = row_class(schema)
            named = {
                column.name: f"({value})"
                for column, value in zip(one.outlet.columns, values, strict=True)
            }
            placed = (named.get(field.name, "None") for field in schema.fields)
            return f"{prefix}write({prefix}row({', '.join(placed)}))"
        written, values = with_texts(one, self._source_schema, self._texts)
        source, names = JsonWriter(written).source(values, prefix)
        self.names |= names
        return source


def _steps(index: int, one: CompiledOutlet, encodings: _Encodings, region: str | None) -> list[str]:
    number, encode = encodings.of(one)
    key = "None" if one.key is None else one.key.source
    record, has_origin = f"topic{index}, e{number}, key", one.outlet.has_origin
    sent = sent_lines(index, record, has_origin=has_origin, region=region)
    return [
        "try:",
        f"    passes = {one.passes.source}",
        "    if passes:",
        f"        if e{number} is None: e{number} = {encode}",
        f"        key = {key}",
        "except Exception as problem:",
        f"    failed.append(({index}, m, problem))",
        "else:",
        "    if passes:",
        *(f"        {line}" for line in sent),
        f"        w{index} += 1",
    ]


def _key(outlet: Outlet, schema: Record) -> Compiled | NotCompiled | None:
    column = outlet.target.key_column if not isinstance(outlet.target, ToTable) else None
    if column is None:
        return None
    expression = next(one.expression for one in outlet.columns if one.name == column)
    compiled = compile_expression(expression, schema)
    if isinstance(compiled, NotCompiled) or compiled.type in _TEXT:
        return compiled
    return compile_expression(f"cast(({expression}) AS string)", schema)


def _is_raw(outlet: Outlet) -> bool:
    return isinstance(outlet.target, ToTopic) and outlet.target.format == "raw"


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]

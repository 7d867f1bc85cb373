"""How each type of a schema stands in JSON, and the way from there to a column.

Dates and times may be ISO text or a number in the schema's own unit; bytes are base64;
a decimal is a number or a text. Spark's own reader would take any number for seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - as everybody names it
from pyspark.sql import types as T  # noqa: N812 - as above

from headrace.formats.defaults import default_json
from headrace.schema.model import Array, Decimal, Enumeration, Fixed, Map, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column

    from headrace.schema.model import Field, Type


DAY_DIGITS = 7
MILLI_DIGITS = 15
MICRO_DIGITS = 18
WIDEST_DECIMAL = 38
# The years that every reader knows, Python and SQL among them: 0001 to 9999.
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
FIRST_MICRO, LAST_MICRO = FIRST_DAY * 86_400_000_000, (LAST_DAY + 1) * 86_400_000_000 - 1
DATE_TEXT = r"^\s*\d{4}-\d{1,2}-\d{1,2}\s*$"
# With its date: a time of day alone would become one of today.
TIMESTAMP_TEXT = r"^\s*\d{4}-\d{1,2}-\d{1,2}([T ].*)?$"

PLAIN: dict[Primitive, T.DataType] = {
    Primitive.BOOLEAN: T.BooleanType(),
    Primitive.INT: T.IntegerType(),
    Primitive.LONG: T.LongType(),
    Primitive.FLOAT: T.FloatType(),
    Primitive.DOUBLE: T.DoubleType(),
    Primitive.BYTES: T.BinaryType(),
    Primitive.STRING: T.StringType(),
    Primitive.UUID: T.StringType(),
}


def json_struct(record: Record) -> T.StructType:
    """Return the type that a whole JSON object is parsed to."""
    return T.StructType([T.StructField(f.name, json_type(f.type)) for f in record.fields])


def json_type(kind: Type) -> T.DataType:
    """Return the type that JSON text is parsed to, before it becomes what the schema says."""
    match kind:
        case Record():
            return json_struct(kind)
        case Array():
            return T.ArrayType(json_type(kind.item))
        case Map():
            return T.MapType(T.StringType(), json_type(kind.value))
        case Decimal():
            # As many more digits as there is room for: what would be rounded is seen.
            return T.DecimalType(WIDEST_DECIMAL, WIDEST_DECIMAL - kind.precision + kind.scale)
        case Fixed():
            return T.BinaryType()
        case Enumeration():
            return T.StringType()
        case Primitive():
            # Points in time arrive as text or number alike, and are told apart by us.
            return PLAIN.get(kind, T.StringType())


def from_json_value(value: Column, kind: Type) -> Column:
    """Return the schema's value of a parsed one; what is no such value becomes null."""
    match kind:
        case Record():
            inner = [field_value(value[f.name], f).alias(f.name) for f in kind.fields]
            return F.when(value.isNotNull(), F.struct(*inner))
        case Array():
            return F.transform(value, _each(kind.item)) if changes(kind.item) else value
        case Map():
            if not changes(kind.value):
                return value
            convert_value = _each(kind.value)
            return F.transform_values(value, lambda _, item: convert_value(item))
        case Enumeration():
            return F.when(value.isin(*kind.symbols), value)
        case Fixed():
            return F.when(F.length(value) == kind.size, value)
        case Primitive():
            convert = CONVERSIONS.get(kind)
            return convert(value) if convert else value
        case Decimal():
            return _decimal(value, kind)


def field_value(parsed: Column, field: Field) -> Column:
    """Return a field's value of a parsed one; where a record has none, the schema's default."""
    value = from_json_value(parsed, field.type)
    if not fills_in(field):
        return value
    struct = T.StructType([T.StructField("v", json_type(field.type))])
    default = F.from_json(F.lit(f'{{"v":{default_json(field)}}}'), struct)["v"]
    return F.coalesce(value, from_json_value(default, field.type))


def fills_in(field: Field) -> bool:
    """Whether a missing value is the schema's to give."""
    return field.default is not None and not field.nullable


def _each(kind: Type) -> Callable[[Column], Column]:
    return lambda item: from_json_value(item, kind)


def changes(kind: Type) -> bool:
    """Whether a parsed value still has to be converted, itself or inside."""
    match kind:
        case Record():
            return any(changes(field.type) or fills_in(field) for field in kind.fields)
        case Array():
            return changes(kind.item)
        case Map():
            return changes(kind.value)
        case Primitive():
            return kind in CONVERSIONS
        case _:
            return isinstance(kind, Enumeration | Fixed | Decimal)


def _number(value: Column, digits: int) -> Column:
    # No more digits than the conversion after it can take: it would end the job, not the record.
    return F.when(value.rlike(rf"^\s*-?\d{{1,{digits}}}\s*$"), F.trim(value).cast("long"))


def _decimal(value: Column, kind: Decimal) -> Column:
    exact = value.try_cast(T.DecimalType(kind.precision, kind.scale))
    return F.when(exact == value, exact)


def _timestamp(unit: Callable[[Column], Column], digits: int) -> Callable[[Column], Column]:
    return lambda value: _in_our_years(
        F.coalesce(unit(_number(value, digits)), _matching(value, TIMESTAMP_TEXT, "timestamp"))
    )


def _local_timestamp(unit: Callable[[Column], Column], digits: int) -> Callable[[Column], Column]:
    # The session is in UTC, so a point in time and its local reading have the same digits.
    return lambda value: _in_our_years(
        F.coalesce(
            unit(_number(value, digits)).cast("timestamp_ntz"),
            _matching(value, TIMESTAMP_TEXT, "timestamp_ntz"),
        )
    )


def _in_our_years(time: Column) -> Column:
    micros = F.unix_micros(time.cast("timestamp"))
    return F.when(micros.between(FIRST_MICRO, LAST_MICRO), time)


def _date(value: Column) -> Column:
    days = F.date_from_unix_date(_number(value, DAY_DIGITS).cast("int"))
    date = F.coalesce(days, _matching(value, DATE_TEXT, "date"))
    return F.when(F.unix_date(date).between(FIRST_DAY, LAST_DAY), date)


def _matching(value: Column, pattern: str, target: str) -> Column:
    return F.when(value.rlike(pattern), value.try_cast(target))


def _time(units_per_s: int, target: str) -> Callable[[Column], Column]:
    def convert(value: Column) -> Column:
        text = F.concat(F.lit("1970-01-01T"), value, F.lit("Z"))
        micros = F.unix_micros(text.try_cast("timestamp"))
        parsed = (micros / (1_000_000 // units_per_s)).cast("long")
        whole = F.coalesce(_number(value, MICRO_DIGITS), parsed)
        inside = F.when(whole.between(0, 86_400 * units_per_s - 1), whole)
        return inside.cast(target)

    return convert


CONVERSIONS: dict[Primitive, Callable[[Column], Column]] = {
    Primitive.DATE: _date,
    Primitive.TIME_MILLIS: _time(1_000, "int"),
    Primitive.TIME_MICROS: _time(1_000_000, "long"),
    Primitive.TIMESTAMP_MILLIS: _timestamp(F.timestamp_millis, MILLI_DIGITS),
    Primitive.TIMESTAMP_MICROS: _timestamp(F.timestamp_micros, MICRO_DIGITS),
    Primitive.LOCAL_TIMESTAMP_MILLIS: _local_timestamp(F.timestamp_millis, MILLI_DIGITS),
    Primitive.LOCAL_TIMESTAMP_MICROS: _local_timestamp(F.timestamp_micros, MICRO_DIGITS),
}

"""The functions that are one expression or one call at run time; `rows` says how a row is read.

Of several rows of one name the first counts that the arguments fit uncast, or else the last.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from typing import TYPE_CHECKING, Final
from urllib.parse import quote_plus

from headrace.expressions.compiled.functions.rows import Row
from headrace.expressions.compiled.functions.time_formats import reader, writer
from headrace.expressions.compiled.operators.coercion import BOOLEAN, STRING, WHOLE
from headrace.expressions.compiled.runtime import (
    case,
    encodings,
    lists,
    moments,
    numbers,
    patterns,
    texts,
)
from headrace.expressions.compiled.runtime.errors import overflow
from headrace.schema.model import Array
from headrace.times import DAY_US

if TYPE_CHECKING:
    from collections.abc import Mapping

_UNSIGNED: Final = 0xFFFF_FFFF_FFFF_FFFF
_HOUR_US: Final = 3_600_000_000
_SECONDS: Final = "yyyy-MM-dd HH:mm:ss"
_SUMS: Final = {
    0: hashlib.sha256,
    224: hashlib.sha224,
    256: hashlib.sha256,
    384: hashlib.sha384,
    512: hashlib.sha512,
}
_UTF_8: Final = dict.fromkeys(("utf-8", "utf8"), "")
_CUT: Final = f"{{t}} if ({{t}} := {{0}} // {{by}} * {{by}}) >= {-(2**63)} else {{f}}('timestamp')"
_STEPS: Final = {
    "microsecond": 1,
    "millisecond": 1000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": _HOUR_US,
    "day": DAY_US,
    "dd": DAY_US,
}
_UNITS: Final = {**_STEPS, "week": 7 * DAY_US, "dayofyear": DAY_US}
_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
_STARTS: Final = {
    **dict.fromkeys(("year", "yyyy", "yy"), moments.year_start),
    **dict.fromkeys(("month", "mm", "mon"), moments.month_start),
    "quarter": moments.quarter_start,
    "week": moments.week_start,
}
_TEXTS: Final = Array(STRING, item_nullable=True)

_TABLE: Final = (
    Row("upper ucase", "s>s", case.upper),
    Row("lower lcase", "s>s", case.lower),
    Row("trim btrim", "s>s", "{0}.strip(' ')"),
    Row("ltrim", "s>s", "{0}.lstrip(' ')"),
    Row("rtrim", "s>s", "{0}.rstrip(' ')"),
    Row("btrim", "s's>s", "{0}.strip({1})"),
    Row("btrim", "ss>s", texts.stripped),
    Row("trim-leading", "s's>s", "{0}.lstrip({1})"),
    Row("trim-leading", "ss>s", texts.trimmed_left),
    Row("trim-trailing", "s's>s", "{0}.rstrip({1})"),
    Row("trim-trailing", "ss>s", texts.trimmed_right),
    Row("length len char_length character_length", "y>i", "len({0})"),
    Row("length len char_length character_length", "s>i", "len({0})"),
    Row("octet_length", "y>i", "len({0})"),
    Row("octet_length", "s>i", "len({0}.encode())"),
    Row("bit_length", "y>i", "len({0}) * 8"),
    Row("bit_length", "s>i", "len({0}.encode()) * 8"),
    Row("left", "si>s", texts.first),
    Row("right", "si>s?", texts.last),
    Row("replace", "sss>s", texts.replaced, defaults=("",)),
    Row("startswith", "ss>b", "{0}.startswith({1})"),
    Row("endswith", "ss>b", "{0}.endswith({1})"),
    Row("contains", "ss>b", "{1} in {0}"),
    Row("instr", "ss>i", "{0}.find({1}) + 1"),
    Row("locate position", "ss>i", "{1}.find({0}) + 1"),
    Row("locate position", "ss'i>i", texts.position_of),
    Row("lpad", "sis>s", texts.padded_left, defaults=(" ",)),
    Row("rpad", "sis>s", texts.padded_right, defaults=(" ",)),
    Row("repeat", "si>s", texts.repeated),
    Row("space", "i>s", texts.spaces),
    Row("overlay", "ssii>s", texts.overlaid, defaults=(-1,)),
    Row("split_part", "ssi>s!?", texts.split_part),
    # Another delimiter would be looked for once more behind each of its positions.
    Row("substring_index", "s'si>s!", texts.before_delimiter),
    Row("translate", "sss>s", texts.translated),
    Row("find_in_set", "ss>i", texts.position_in_set),
    Row("quote", "s>s?", texts.quoted),
    Row("ascii", "s>i", texts.code_of),
    Row("chr char", "l>s", texts.character_of),
    Row("reverse", "[>=", "{0}[::-1]"),
    Row("reverse", "s>s", "{0}[::-1]"),
    Row("rlike regexp regexp_like", "s%>b", "{1}.search({0}) is not None"),
    Row("regexp_substr", "s/>s~", patterns.first_found),
    Row("regexp_count", "s/>i", "len({1}.findall({0}))"),
    Row("regexp_instr", "s/>i", patterns.position_found),
    Row("is_valid_utf8", "s>b", "True"),
    Row("make_valid_utf8 validate_utf8 try_validate_utf8", "s>s?", "{0}"),
    Row("luhn_check", "s>b?", encodings.has_luhn_digit),
    Row("encode to_binary", "s's>y?", "{0}.encode({by})", by=_UTF_8),
    Row("base64", "y>s", "{f}({0}).decode()", base64.b64encode),
    Row("unhex", "s>y~", encodings.bytes_of_hex),
    Row("hex", "#>s", f"format({{0}} & {_UNSIGNED}, 'X')"),
    Row("hex", "y>s", "{0}.hex().upper()"),
    Row("md5", "y>s", "{f}({0}, usedforsecurity=False).hexdigest()", hashlib.md5),
    Row("sha1 sha", "y>s", "{f}({0}, usedforsecurity=False).hexdigest()", hashlib.sha1),
    Row("sha2", "y'i>s?", "{by}({0}).hexdigest()", by=_SUMS),
    Row("crc32", "y>l", zlib.crc32),
    Row("url_encode", "s>s?", "{f}({0}, safe='*').replace('~', '%7E')", quote_plus),
    Row("url_decode", "s>s!?", encodings.url_decoded),
    Row("bin", "l>s", f"format({{0}} & {_UNSIGNED}, 'b')"),
    Row("conv", "sii>s!~", encodings.converted),
    Row("positive +", "#>=", "{0}"),
    Row("positive +", "d>d", "{0}"),
    Row("negative -", "#>=^", "-{0}"),
    Row("negative -", "d>d", "-{0}"),
    Row("abs", "#>=^", "abs({0})"),
    Row("abs", "d>d", "abs({0})"),
    Row("~", "I>i", "~{0}"),
    Row("~", "L>l", "~{0}"),
    Row("sign signum", "d>d?", numbers.signum),
    Row("floor", "#>l?", "{0}"),
    Row("floor", "D>l?", numbers.clamped_floor),
    Row("ceil ceiling", "#>l?", "{0}"),
    Row("ceil ceiling", "D>l?", numbers.clamped_ceil),
    Row("shiftleft", "li>l", "{f}({0}, {1}, 64)", numbers.shifted_left),
    Row("shiftleft", "ii>i", "{f}({0}, {1}, 32)", numbers.shifted_left),
    Row("shiftright", "li>l", "{0} >> ({1} & 63)"),
    Row("shiftright", "ii>i", "{0} >> ({1} & 31)"),
    Row("shiftrightunsigned", "li>l", "{f}({0}, {1}, 64)", numbers.shifted_right),
    Row("shiftrightunsigned", "ii>i", "{f}({0}, {1}, 32)", numbers.shifted_right),
    Row("bit_count", "b>i", f"({{0}} & {_UNSIGNED}).bit_count()"),
    Row("bit_count", "#>i", f"({{0}} & {_UNSIGNED}).bit_count()"),
    Row("sqrt", "d>d?", numbers.square_root),
    Row("rint", "d>d?", numbers.to_even),
    Row("degrees", "d>d?", "{0} * 57.29577951308232"),
    Row("radians", "d>d?", "{0} * 0.017453292519943295"),
    Row("factorial", "i>l~", numbers.factorial),
    Row("width_bucket", "dddl>l~", numbers.bucket),
    Row("size cardinality array_size", "[>i", "len({0})"),
    Row("size cardinality", "{>i", "len({0})"),
    Row("map_contains_key", "{S>b?", "{1} in {0}"),
    Row("map_keys", "{>", "[*{0}]", of=lambda _: _TEXTS),
    Row("map_values", "{>", "[*{0}.values()]", of=lambda kind: Array(kind.item, True)),
    Row(
        "array_compact",
        "[>",
        "[x for x in {0} if x is not None]",
        of=lambda kind: Array(kind.item, False),
    ),
    Row("array_distinct", "[>=", "[*{{x: None for x in {0}}}]", items=(STRING, BOOLEAN, *WHOLE)),
    Row("array_join", "[s>s", lists.joined, items=(STRING,)),
    Row("array_join", "[ss>s", lists.joined, items=(STRING,)),
    Row("year", "a>i", "{f}({0})[0]", moments.civil),
    Row("quarter", "a>i", "({f}({0})[1] + 2) // 3", moments.civil),
    Row("month", "a>i", "{f}({0})[1]", moments.civil),
    Row("day dayofmonth", "a>i", "{f}({0})[2]", moments.civil),
    Row("dayofyear", "a>i", moments.day_of_year),
    Row("weekofyear", "a>i", moments.week),
    Row("dayofweek", "a>i", "({0} + 4) % 7 + 1"),
    Row("weekday", "a>i", "({0} + 3) % 7"),
    Row("dayname", "a>s", moments.day_name),
    Row("monthname", "a>s", moments.month_name),
    Row("last_day", "a>a^", moments.month_end),
    Row("next_day", "as>a!?", moments.next_day),
    Row("add_months", "ai>a!", moments.months_later),
    Row("date_add dateadd", "ai>a", moments.days_later),
    Row("date_sub", "ai>a", "{f}({0}, -{1})", moments.days_later),
    Row("datediff date_diff", "aa>i", "{f}({0}, -{1})", moments.days_later),
    Row("trunc", "a's>a^?", by=_STARTS),
    Row("make_date", "iii>a!", moments.date_of),
    Row("unix_date", "a>i", "{0}"),
    Row("date_from_unix_date", "i>a", "{0}"),
    Row("to_date date", "a>a", "{0}"),
    Row("hour", "t>i", f"{{0}} // {_HOUR_US} % 24"),
    Row("minute", "t>i", "{0} // 60000000 % 60"),
    Row("second", "t>i", "{0} // 1000000 % 60"),
    # What is cut off only makes it less: one bound is enough.
    Row("date_trunc", "'st>t!?", _CUT, overflow, _STEPS),
    Row("date_trunc", "'st>t?", f"{{f}}({{by}}({{0}} // {DAY_US}))", moments.start_of_day, _STARTS),
    Row("timestampadd", "'s#m>m!", "{f}({1}, {0} * {by})", moments.micros_later, _UNITS),
    Row("timestampadd", "'sIm>m!", "{f}({1}, {0} * {by})", moments.moment_months_later, _MONTHS),
    Row("timestampdiff", "'smm>l!", "{f}({1} - {0}, {by})", moments.whole_units, _UNITS),
    Row("timestampdiff", "'smm>l", "int({f}({0}, {1}) / {by})", moments.months_from, _MONTHS),
    Row("date_format", "t's>s!", by=writer),
    Row(
        "from_unixtime",
        "l's>s!?",
        "{by}({f}(0, {0} * 1000000))",
        moments.micros_later,
        writer,
        (_SECONDS,),
    ),
    # Other than unix_seconds they round towards 1970.
    Row(
        "unix_timestamp to_unix_timestamp",
        "S's>l!",
        "{f}({by}({0}), 1000000)",
        moments.whole_units,
        reader,
        (_SECONDS,),
    ),
    Row("unix_timestamp to_unix_timestamp", "t>l", "{f}({0}, 1000000)", moments.whole_units),
    Row("unix_seconds", "t>l", "{0} // 1000000"),
    Row("unix_millis", "t>l", "{0} // 1000"),
    Row("unix_micros", "t>l", "{0}"),
    Row("timestamp_seconds", "#>t^", "{0} * 1000000"),
    Row("timestamp_millis", "l>t^", "{0} * 1000"),
    Row("timestamp_micros", "l>t", "{0}"),
    Row("to_timestamp_ntz", "w>w", "{0}"),
    Row("to_timestamp_ltz", "t>t", "{0}"),
)


def _by_name() -> Mapping[str, list[Row]]:
    rows: dict[str, list[Row]] = {}
    for row in _TABLE:
        for name in row.names.split():
            rows.setdefault(name, []).append(row)
    return rows


ROWS: Final = _by_name()

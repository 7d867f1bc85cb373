"""Which of Spark's functions an expression may call, and why the others not."""

from __future__ import annotations

# Deterministic and scalar: the same record gives the same value, live and in a replay.
_ALLOWED = """
abs acos acosh asin asinh atan atan2 atanh bin bround cbrt ceil ceiling conv cos cosh cot csc
degrees e exp expm1 factorial floor greatest hex hypot least ln log log10 log1p log2 mod negative
pi pmod positive pow power radians rint round sec shiftleft shiftright shiftrightunsigned sign
signum sin sinh sqrt tan tanh unhex width_bucket try_add try_subtract try_multiply try_divide
try_mod div getbit bit_count bit_get

ascii base64 btrim char char_length character_length chr concat concat_ws contains decode
elt encode endswith find_in_set format_number format_string initcap instr lcase left len length
levenshtein locate lower lpad ltrim luhn_check mask octet_length bit_length overlay position printf
quote regexp_count regexp_extract regexp_extract_all regexp_instr regexp_like
regexp_replace regexp_substr regexp rlike like ilike repeat replace reverse right rpad rtrim
sentences soundex space split split_part startswith string substr substring substring_index
to_binary to_char to_number to_varchar translate trim try_to_binary try_to_number ucase unbase64
upper is_valid_utf8 make_valid_utf8 validate_utf8 try_validate_utf8 collate collation

add_months convert_timezone date date_add date_diff date_format date_from_unix_date date_part
date_sub date_trunc dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear extract
from_unixtime from_utc_timestamp hour last_day make_date make_dt_interval make_interval make_time
make_timestamp make_timestamp_ltz make_timestamp_ntz make_ym_interval minute month monthname
months_between next_day quarter second timestamp timestamp_micros timestamp_millis
timestamp_seconds timestampadd timestampdiff timediff to_date to_time to_timestamp
to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp trunc try_make_interval
try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz try_to_date try_to_time
try_to_timestamp unix_date unix_micros unix_millis unix_seconds unix_timestamp weekday weekofyear
year time_diff time_trunc

case coalesce equal_null if ifnull isnan isnotnull isnull nanvl nullif nullifzero nvl nvl2 when
zeroifnull

aggregate  array array_append array_compact array_contains array_distinct
array_except array_insert array_intersect array_join array_max array_min array_position
array_prepend array_remove array_repeat array_size array_sort array_union arrays_overlap arrays_zip
cardinality element_at exists filter flatten forall get map map_concat map_contains_key map_entries
map_filter map_from_arrays map_from_entries map_keys map_values map_zip_with named_struct reduce
sequence size slice sort_array str_to_map struct transform transform_keys transform_values
try_element_at zip_with

from_csv from_json get_json_object json_array_length json_object_keys to_csv to_json
parse_json try_parse_json variant_get try_variant_get is_variant_null to_variant_object
from_xml to_xml xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number
xpath_short xpath_string

crc32 hash md5 sha sha1 sha2 xxhash64
parse_url try_parse_url url_decode url_encode try_url_decode

bigint binary boolean cast decimal double float int smallint tinyint try_cast typeof
dec numeric varchar character
"""
ALLOWED = frozenset(_ALLOWED.split())

# Words of the grammar that may stand before a parenthesis and call nothing.
KEYWORDS = frozenset(
    [
        "and",
        "or",
        "not",
        "in",
        "between",
        "like",
        "ilike",
        "rlike",
        "regexp",
        "when",
        "then",
        "else",
        "case",
        "from",
        "for",
        "div",
        "interval",
        "both",
        "leading",
        "trailing",
        "escape",
        "is",
        "distinct",
        "placing",
        "as",
    ]
)

CLOCK = "it gives another value in a replay than live"
CLOCK_ADVICE = "use a column of the record, such as __metadata__.kafka_ingestion_ts"
_GROUPS: tuple[tuple[str, str, str], ...] = (
    (
        """current_timestamp now current_date curdate localtimestamp current_time
       """,
        CLOCK,
        CLOCK_ADVICE,
    ),
    (
        """rand randn random uuid shuffle randstr uniform monotonically_increasing_id
        spark_partition_id input_file_name input_file_block_start input_file_block_length""",
        "it gives another value each time, so that a replay could not be compared",
        "compute it from the record, such as with xxhash64(…)",
    ),
    (
        """current_user user session_user current_catalog current_database current_schema
        current_timezone version""",
        "it depends on who runs the job, not on the record",
        "write the value itself",
    ),
    (
        """reflect java_method try_reflect""",
        "it runs any Java code",
        "use a function of Spark SQL",
    ),
    (
        """sum count avg mean min max first last first_value last_value any_value collect_list
        collect_set approx_count_distinct stddev stddev_pop stddev_samp variance var_pop var_samp
        percentile percentile_approx median mode count_if bool_and bool_or every some any max_by
        min_by corr covar_pop covar_samp skewness kurtosis array_agg string_agg listagg grouping
        grouping_id approx_percentile bit_and bit_or bit_xor try_sum try_avg count_min_sketch
        histogram_numeric regr_count regr_slope""",
        "it is an aggregate, and an expression sees one record at a time",
        "aggregate in an application (kind: app)",
    ),
    (
        """row_number rank dense_rank percent_rank cume_dist lag lead ntile nth_value window
        session_window window_time""",
        "it needs a window, and an expression sees one record at a time",
        "use an application (kind: app)",
    ),
    (
        """explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple
        variant_explode variant_explode_outer""",
        "it makes several records of one",
        "use an application (kind: app)",
    ),
    (
        """raise_error assert_true""",
        "it would stop the stream at a bad record",
        "use hygiene with on_bad_record",
    ),
    (
        """aes_encrypt aes_decrypt try_aes_decrypt""",
        "its key would stand in the file and in Spark's plans",
        "encrypt before Kafka, or in an application",
    ),
    (
        """schema_of_json schema_of_csv schema_of_xml schema_of_variant""",
        "it describes no record",
        "",
    ),
)
REFUSED = {name: (reason, advice) for names, reason, advice in _GROUPS for name in names.split()}

# Spark calls these without parentheses when no column has the name.
BARE_CALLS = frozenset(
    [
        "current_timestamp",
        "current_date",
        "current_time",
        "localtimestamp",
        "current_user",
        "user",
        "session_user",
        "current_catalog",
        "current_database",
        "current_schema",
        "grouping__id",
    ]
)

# Spark reads these texts as times of its own clock wherever it expects a date or a timestamp.
CLOCK_WORDS = frozenset({"now", "today", "tomorrow", "yesterday"})

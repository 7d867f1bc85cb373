"""Which of Spark's functions an expression may call, and why the others not."""

from __future__ import annotations

from headrace.expressions.compiled.functions.dispatch import COMPILED

# Deterministic and scalar, as those that are compiled: the same record gives the same value, live
# and in a replay.
_NAMES_LEFT_TO_SPARK = """
acos acosh asin asinh atan atan2 atanh cbrt cos cosh cot csc e exp expm1 hypot ln log log10 log1p
log2 pi pow power sec sin sinh tan tanh getbit bit_get

format_number format_string initcap levenshtein mask printf sentences soundex to_char to_number
to_varchar try_to_binary try_to_number unbase64 collate collation

convert_timezone from_utc_timestamp make_dt_interval make_interval make_time make_timestamp
make_timestamp_ltz make_timestamp_ntz make_ym_interval months_between timediff to_time
to_utc_timestamp try_make_interval try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz
try_to_date try_to_time try_to_timestamp time_diff time_trunc

case nanvl when

aggregate array_except array_insert array_intersect array_max array_min array_remove array_repeat
array_sort array_union arrays_overlap arrays_zip exists filter flatten forall map map_concat
map_entries map_filter map_from_arrays map_from_entries map_zip_with named_struct reduce sequence
slice sort_array str_to_map struct transform transform_keys transform_values zip_with

from_csv from_json get_json_object json_array_length json_object_keys to_csv to_json parse_json
try_parse_json variant_get try_variant_get is_variant_null to_variant_object from_xml to_xml xpath
xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string

parse_url try_parse_url try_url_decode

cast decimal float smallint tinyint try_cast typeof dec numeric varchar character
"""
LEFT_TO_SPARK = frozenset(_NAMES_LEFT_TO_SPARK.split())
ALLOWED = COMPILED | LEFT_TO_SPARK

# Words of the grammar that may stand before a parenthesis and call nothing.
_KEYWORDS = """
and or not in between like ilike rlike regexp when then else case from for div interval both leading
trailing escape is distinct placing as
"""
KEYWORDS = frozenset(_KEYWORDS.split())

CLOCK = "it gives another value in a replay than live"
CLOCK_ADVICE = "use a column of the record, such as __metadata__.kafka_ingestion_ts"
_GROUPS: tuple[tuple[str, str, str], ...] = (
    (
        "current_timestamp now current_date curdate localtimestamp current_time",
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
        "its key would be visible in the file and in Spark's plans",
        "encrypt before Kafka, or in an application",
    ),
    (
        """schema_of_json schema_of_csv schema_of_xml schema_of_variant""",
        "it does not describe a record",
        "",
    ),
)
REFUSED = {name: (reason, advice) for names, reason, advice in _GROUPS for name in names.split()}

# Spark reads these texts as times of its own clock wherever it expects a date or a timestamp.
CLOCK_WORDS = frozenset({"now", "today", "tomorrow", "yesterday"})

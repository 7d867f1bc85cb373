"""Each mistake at its line and column, with its remedy, and none hidden by another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.config.load import load_workspace
from headrace.config.validate import check_files
from headrace.errors import BadConfig

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.config.workspaces import Files

BAD_HEADRACE = """\
clusters:
  fronting: {bootstrap_servers: "127.0.0.1:9092", regio: us}
  consumer:
    properties: {}
catalogs:
  lake: {type: sqll, uri: "${HEADRACE_TEST_UNSET:}${HEADRACE_TEST_UNSET}"}
sparc: {}
"""
BAD_STREAM = """\
kind: stream
name: A b
source: {type: kafka, cluster: frontng, topic: playback_raw, format: json, schema: schemas/playback.avsc}
hygiene:
  required: [event_id, event_tz]
  max_future_skew: 15 minuts
  on_bad_record: quarantin
  quarantine: {cluster: frontng, topic: playback_raw}
outputs:
  - name: starts
    filtr: "x"
    filter: "evnt_type = 'start' and rand() > 1"
    project: [event_id, user_ids, "upper(country)", event_id]
    sink: {type: kafka, cluster: frontng, topic: playback_raw, format: json, key: usr}
  - name: starts
    filter: |
      event_type = 'start'
        AND count(1) > 0
    sink: {type: kafka, cluster: consumer, format: json, topic: "a b"}
    sink: 1
trigger: 5
overrides: []
"""
BAD_STREAM_PROBLEMS = """\
2:7: expected a name of a-z, 0-9, _ and -, got "A b" — did you mean "a_b"?
3:32: headrace.yaml defines no cluster "frontng" — did you mean "fronting"?
5:24: the schema has no column "event_tz" — did you mean "event_ts"?
6:20: expected a duration such as 30s, 15min or 1h30m, got "15 minuts": unknown unit "minuts" — did you mean "15 minutes"? units: ms, s, min, h, d
7:18: expected quarantine, drop or fail, got "quarantin" — did you mean "quarantine"?
8:25: headrace.yaml defines no cluster "frontng" — did you mean "fronting"?
8:41: the quarantine topic is the source topic: rejected records would be read again — use another topic
11:5: unknown key "filtr" — did you mean "filter"?
12:14: unknown column "evnt_type" — did you mean "event_type"?
12:38: rand() is not allowed: it gives another value each time, so that a replay could not be compared — compute it from the record, such as with xxhash64(…)
13:25: unknown column "user_ids" — did you mean "user_id"?
13:36: a computed column needs a name — write "upper(country) AS country"
13:53: two columns have the name "event_id" — give it another name: "event_id AS …"
14:34: headrace.yaml defines no cluster "frontng" — did you mean "fronting"?
14:50: this output writes to the topic that the stream reads: an endless loop — use another topic
14:83: the key "usr" is not among the output's columns — known: event_id, user_ids, upper, country
15:11: two outputs have the name "starts" — the other is on line 10
18:13: count() is not allowed: it is an aggregate, and an expression sees one record at a time — aggregate in an application (kind: app)
19:65: expected a Kafka topic: at most 249 letters, digits, '.', '_' and '-', got "a b"
20:5: duplicate key "sink" — it is also on line 19
21:10: expected a duration such as 30s, 15min or 1h30m, got 5: the unit is missing — units: ms, s, min, h, d
22:12: expected a mapping (key: value), got a list
"""
BAD_TABLE = """\
kind: lake_table
name: t
source: {type: kafka, cluster: consumer, topic: playback_starts, format: avro}
table:
  catalog: lak
  database: playback
  table: [starts]
  partition_by: ["dy(event_ts)", "day(__metadata__.kafka_ingestion_t)", "bucket(x)", "day("]
  target_file_size: 128MBB
  properties: {a: 1, b: {}}
batch: {max_interval: 60, max_rows: "5", max_bytes: 12}
schema_evolution: add
"""
BAD_TABLE_PROBLEMS = """\
3:1: missing key "schema": format avro needs one — add schema: an Avro schema file
5:12: headrace.yaml defines no catalog "lak" — did you mean "lake"?
7:10: expected a text, got a list
8:18: expected a partition such as day(column), bucket(16, column) or column, got "dy(event_ts)": unknown transform "dy" — did you mean "day"?
8:39: unknown column "__metadata__.kafka_ingestion_t" — did you mean "__metadata__.kafka_ingestion_ts"?
8:73: expected a partition such as day(column), bucket(16, column) or column, got "bucket(x)": bucket has another form — write "bucket(16, x)"
8:86: expected a partition such as day(column), bucket(16, column) or column, got "day("
9:21: expected a size such as 64MiB or 1GB, got "128MBB": unknown unit "MBB" — did you mean "128MB"? units: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB
10:25: expected a text or a number, got a mapping
11:23: expected a duration such as 30s, 15min or 1h30m, got 60: the unit is missing — units: ms, s, min, h, d
11:37: expected a whole number, got "5"
11:53: expected a size such as 64MiB or 1GB, got 12: the unit is missing — units: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB
12:19: expected none, add_columns or widen, got "add" — did you mean "add_columns"?
"""
BAD_APP = """\
kind: app
name: rmi
sources:
  a: {type: dynamic, selected: x, candidates: [b, k, nope]}
  b: {type: dynamic, selected: c, candidates: [c]}
  c: {type: dynamic, selected: a, candidates: [a]}
  self: {type: dynamic, selected: self, candidates: [self]}
  k: {type: kafak, cluster: consumer, topics: [], format: json}
  l: {cluster: consumer}
  m: {type: iceberg, catalog: lake, databse: x, table: t, max_misalignment_threshold: soon}
transform: {python: "rmi", sql: "SELECT * FROM a WHERE"}
watermarks: {aa: {column: event_ts, delay: 10}}
sink: {type: jsonl}
"""
BAD_APP_PROBLEMS = """\
4:32: selected "x" is not among the candidates — known: b, k, nope
4:47: source "a" leads back to itself: a → b → c → a — break the circle
4:54: no source is named "nope" — known: b, c, k, l, m, self
7:53: source "self" leads back to itself: self → self — break the circle
8:13: expected dynamic, kafka, iceberg or hybrid, got "kafak" — did you mean "kafka"?
9:3: missing key "type" in "sources.l" — add "type: …"
10:3: missing key "database" in "sources.m" — add "database: …"
10:37: unknown key "databse" — did you mean "database"?
10:87: expected a duration such as 30s, 15min or 1h30m, got "soon": not a number with a unit — units: ms, s, min, h, d
11:1: transform needs exactly one of python, sql and sql_file, but has python and sql
11:21: expected a function as "module:function", got "rmi"
11:50: does not parse: something is missing here
12:14: a watermark for "aa", which is not a source — did you mean "a"?
12:44: expected a duration such as 30s, 15min or 1h30m, got 10: the unit is missing — units: ms, s, min, h, d
13:1: missing key "path" in "sink" — add "path: …"
"""
BAD_HEADRACE_PROBLEMS = """\
2:51: unknown key "regio" — did you mean "region"?
3:3: missing key "bootstrap_servers" in "clusters.consumer" — add "bootstrap_servers: …"
6:16: expected sql, rest, hive or glue, got "sqll" — did you mean "sql"?
6:51: ${HEADRACE_TEST_UNSET} is not set
7:1: unknown key "sparc" — did you mean "spark"?
"""


def test_every_mistake_of_every_file_is_told_at_once(files: Files) -> None:
    files.write("headrace.yaml", BAD_HEADRACE)
    files.write("streams/playback.yaml", BAD_STREAM)
    files.write("tables/starts.yaml", BAD_TABLE)
    files.write("apps/rmi.yaml", BAD_APP)
    # A file that is no YAML at all hides none of the others.
    files.write("streams/broken.yaml", "kind: stream\nname:\tx\n\tb: 1\n")
    expected = {
        "apps/rmi.yaml": BAD_APP_PROBLEMS,
        "headrace.yaml": BAD_HEADRACE_PROBLEMS,
        "streams/playback.yaml": BAD_STREAM_PROBLEMS,
        "tables/starts.yaml": BAD_TABLE_PROBLEMS,
    }
    for name, lines in expected.items():
        found = [
            one.removeprefix(f"{name}:") for one in files.problems() if one.startswith(f"{name}:")
        ]
        # which variable is near depends on the machine's environment
        found = [
            one.split(" is not set")[0] + " is not set" if "UNSET" in one else one for one in found
        ]
        assert found == lines.splitlines()
    assert len([one for one in files.problems() if "broken.yaml" in one]) == 1


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "1:1: the file is empty"),
        ("# only words\n", "1:1: the file is empty"),
        (b"clusters: {}\nx: \xff\n", "2:4: this byte is not UTF-8 — save the file as UTF-8"),
        (
            "clusters:\n\tx: 1\n",
            "2:1: not YAML: a tab, but YAML needs spaces — indent with spaces",
        ),
        (
            "clusters: {}\n---\nx: 1\n",
            "2:1: not YAML: a second document — one file holds one document",
        ),
        ("- a\n", "1:1: expected a mapping (key: value), got a list"),
        ("clusters: *x\n", "1:11: not YAML: *x is not defined — define it before with &x"),
        ("clusters: &x {a: *x}\n", "1:15: this alias refers to itself — write it out"),
        (
            "clusters: !!python/name:os.system {}\n",
            "1:11: the tag !!python/name:os.system is not allowed here — remove it",
        ),
        ("state_dir: 'x\n", "1:12: not YAML: a quote is not closed — close it"),
        ("state_dir: @x\n", "1:12: not YAML: a text may not begin with @ — put the text in quotes"),
        (
            "state_dir: a: b\n",
            '1:13: not YAML: a second key on one line — quote a text with ": " in it',
        ),
        ("? [a]\n: b\n", "1:3: a key must be a plain text — write key: value"),
        ("state_dir: 12\n", '1:12: expected a text, got 12 — put it in quotes: "12"'),
        ("state_dir:\n", "1:1: expected a text, got nothing"),
        (
            "checkpoint_dir: hdfs:///apps\n",
            (
                "1:17: expected a URL with a host or a bucket, hdfs://HOST:PORT/… or "
                's3a://BUCKET/…, got "hdfs:///apps"'
            ),
        ),
        ("state_dir: ' '\n", '1:12: expected a text that is not empty, got " "'),
        (
            "clusters: {'a b': {bootstrap_servers: x}}\n",
            '1:12: "a b" is not a name that can be used — use a name of letters, digits, _, . and -',
        ),
        (
            "catalogs: {a: {type: sql, uri: }}\ncatalogs: {}\n",
            '2:1: duplicate key "catalogs" — it is also on line 1',
        ),
        ("state_dir: x\x01\n", "1:13: a control character, which YAML does not allow — remove it"),
    ],
)
def test_files_that_are_hardly_yaml(files: Files, content: str | bytes, problem: str) -> None:
    files.write("headrace.yaml", content)
    with pytest.raises(BadConfig) as caught:
        load_workspace()
    assert str(caught.value.problems[0]) == f"headrace.yaml:{problem}"


def test_braces_of_a_variable_within_braces_need_quotes(files: Files) -> None:
    files.write("headrace.yaml", "clusters: {a: {bootstrap_servers: ${X}}}\n")
    (problem,) = (one for one in files.problems())
    assert "not YAML" in problem
    assert problem.endswith('inside { } and [ ] write "${VAR}" with quotes')


def test_a_broken_headrace_yaml_keeps_nothing_back_about_streams(files: Files) -> None:
    files.write("headrace.yaml", "clusters: [\n")
    files.spoil("streams/playback.yaml", "event_type = ", "evnt_type = ")
    files.spoil(
        "streams/playback.yaml",
        "cluster: fronting, topic: playback_raw,",
        "cluster: none, topic: playback_raw,",
    )
    problems = files.problems()
    assert [one.split(":")[0] for one in problems] == ["headrace.yaml", "streams/playback.yaml"]
    assert 'unknown column "evnt_type"' in problems[1]


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ("{", "is not JSON"),
        ('{"type": "recor"}', "cannot be used"),
        ('"string"', "cannot be used"),
        (b"\xff", "UTF-8"),
    ],
)
def test_schemas_that_cannot_be_used(files: Files, schema: str | bytes, problem: str) -> None:
    files.write("schemas/other.avsc", schema)
    files.spoil("tables/starts.yaml", "schemas/playback.avsc", "schemas/other.avsc")
    problems = files.problems()
    assert problems
    assert all(one.startswith("tables/starts.yaml:3:") for one in problems)
    assert any(problem in one for one in problems)


def test_a_schema_is_sought_in_two_places(files: Files) -> None:
    files.spoil("tables/starts.yaml", "schemas/playback.avsc", "schemas/none.avsc")
    assert files.problems() == [
        (
            'tables/starts.yaml:3:88: there is no file "schemas/none.avsc" — '
            "looked for tables/schemas/none.avsc and schemas/none.avsc"
        )
    ]
    files.write("tables/schemas/none.avsc", (files.root / "schemas/playback.avsc").read_bytes())
    assert files.problems() == []


def test_a_deployment_must_not_close_a_loop_either(files: Files) -> None:
    files.spoil(
        "streams/playback.yaml",
        "overrides: {} ",
        "overrides: {eu: {source: {cluster: consumer, topic: playback_starts}, spark: {conf: {a.b: 4}}}}",
    )
    assert files.problems() == [
        (
            "streams/playback.yaml:13:51: this output writes to the topic that the stream reads "
            "in deployment eu: an endless loop — use another topic"
        )
    ]


def test_partitions_must_fit_their_columns(files: Files) -> None:
    files.spoil(
        "tables/starts.yaml",
        '["day(__metadata__.kafka_ingestion_ts)"]',
        '["days(event_ts)", "hour(country)", "truncate(event_id, 4)", "bucket(8, __metadata__)"]',
    )
    assert files.problems() == [
        (
            'tables/starts.yaml:4:98: "country" cannot be partitioned by hour — '
            "use a column of a timestamp or date type"
        ),
        (
            'tables/starts.yaml:4:145: "__metadata__" cannot be partitioned by bucket — '
            "use a column of a plain type, or a field in it"
        ),
    ]


def test_two_files_of_one_kind_and_name_would_share_their_state(files: Files) -> None:
    files.write("streams/copy.yaml", (files.root / "streams/playback.yaml").read_bytes())
    assert files.problems() == [
        (
            'streams/playback.yaml:2:7: a second stream with the name "playback": '
            "both would use the same state — the other is streams/copy.yaml"
        )
    ]


def test_only_our_own_files_are_examined(files: Files) -> None:
    bad = "kind: strem\n"
    for name in (".hidden/a.yaml", ".headrace/a.yaml", "env/lib/a.yaml", "inner/a.yaml", ".b.yaml"):
        files.write(name, bad)
    files.write("env/pyvenv.cfg", "")
    files.write("inner/headrace.yaml", "clusters: {}\n")
    files.write("deploy.yaml", "apiVersion: v1\nkind: Pod\n")
    files.write("words.yaml", "words: [a kind: of]\n")
    assert files.problems() == []
    files.write("sub/flow.yml", "{kind: strem}\n")
    assert files.problems()[0] == 'sub/flow.yml:1:1: missing key "name" — add "name: …"'


def test_files_outside_any_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lonely = tmp_path / "lonely.yaml"
    lonely.write_text("kind: app\nname: x\n")
    problems = [
        str(one) for one in check_files([lonely, tmp_path / "none.yaml", tmp_path], None).problems
    ]
    assert any("lonely.yaml:1:1: this file is in no workspace" in one for one in problems)
    assert any('lonely.yaml:1:1: missing key "sources"' in one for one in problems)
    assert any("none.yaml:1:1: there is no such file" in one for one in problems)
    assert any("this is a folder, not a file" in one for one in problems)

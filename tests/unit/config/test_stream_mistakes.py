"""Each mistake of a stream's rules, sinks and deployments at its place, with its remedy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.config.common.hygiene import MaskWith
from headrace.config.common.registries import RegistryConfig
from headrace.config.load import load_stream, load_workspace
from headrace.config.stream.sinks import SearchSink, StreamSink, TableSink, TopicSink
from headrace.secret import Secret
from tests.certificates import Authority
from tests.unit.config.workspaces import FULL_STREAM

if TYPE_CHECKING:
    from tests.unit.config.workspaces import Files

EVENT = json.dumps(
    {
        "type": "record",
        "name": "Event",
        "fields": [
            {"name": "id", "type": "string"},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
            {"name": "day", "type": {"type": "int", "logicalType": "date"}},
            {"name": "position_ms", "type": ["null", "long"]},
            {
                "name": "price",
                "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            },
            {"name": "ratio", "type": "double"},
            {"name": "live", "type": "boolean"},
            {"name": "blob", "type": "bytes"},
            {
                "name": "user",
                "type": {
                    "type": "record",
                    "name": "User",
                    "fields": [
                        {"name": "email", "type": "string"},
                        {"name": "age", "type": "int"},
                    ],
                },
            },
            {"name": "tags", "type": {"type": "array", "items": "string"}},
            {
                "name": "seats",
                "type": {
                    "type": "array",
                    "items": {
                        "type": "record",
                        "name": "Seat",
                        "fields": [
                            {"name": "row", "type": "int"},
                            {"name": "name", "type": "string"},
                        ],
                    },
                },
            },
        ],
    }
)
BAD = """\
kind: stream
name: bad
source:
  type: kafka
  cluster: fronting
  topic: events
  format: avro
  schema: schemas/events.avsc
  on_data_loss: skipp
hygiene:
  required: {columns: [id, user.mail, seats.row, __metadata__.region], on_bad_record: dorp}
  ranges:
    position_ms: {min: 0.5, max: ten}
    price: {min: "20.00", max: 5}
    day: {min: 2026-02-30}
    at: {max: yesterday}
    ratio: {on_bad_record: drop}
    id: {min: 1}
    nope: {min: 1, mx: 2}
    live: 5
  max_future_skew: {limt: 10min}
  max_size: {limit: 10, on_bad_record: drop}
  coerce: [user.ages, price]
  unknown_fields: refus
  mask:
    user.email: sha265
    seats.name: {keep_first: 0}
    live: redact
    blob: redact
    id: {}
    tags: {sha256: {salt: x}, keep_first: 3}
outputs:
  - name: a
    starting_offsets: newest
    project: [id, "ratio + 1 AS more"]
    sink: {type: kafka, cluster: consumer, topic: a, format: avro, schema: schemas/playback.avsc, compression: lz5}
  - name: b
    sink: {type: iceberg, catalog: lak, database: d, table: t, partition_by: ["day(att)", "hour(day)"], target_file_siz: 1MiB}
  - name: c
    sink: {type: search, url: "elastic:9200", index: Playback, id: idd, batch_rows: 100000}
  - name: d
    project: [id, at]
    sink: {type: stream, stream: playback.yaml, key: keyy, origin: non}
  - name: e
    sink: {type: stream, stream: ../tables/starts.yaml}
  - name: f
    sink: {type: stream, stream: playbck.yaml}
  - name: g
    sink: {type: stream, stream: bad.yaml}
  - name: h
    sink: {type: kafka, cluster: consumer, topic: h, format: json, schema: x, registry: {url: "http://x"}}
  - name: i
    sink: {type: kafk}
overrides:
  eu-west-1: {source: {clustr: x, starting_offsets: newest}, resources: {memory: 4, cores: none}, region: ""}
  us-west-2: {source: {cluster: nope}, spark: {cnf: {}}}
"""
BAD_PROBLEMS = """\
3:1: missing key "registry": format avro looks up the writers' schemas there — add registry: {url: "http://…"}
9:17: expected fail or skip, got "skipp" — did you mean "skip"?
11:28: the schema has no column "user.mail" — did you mean "user.email"?
11:39: "seats.row" is inside a list or a map, and this rule does not check those — name the list or the map itself
11:50: "__metadata__.region" is not a column of the schema, and hygiene checks only those — use a filter
11:87: expected quarantine, drop or fail, got "dorp" — did you mean "drop"?
13:24: expected a whole number, got 0.5: "position_ms" is of type long
13:34: expected a whole number, got "ten": "position_ms" is of type long
14:32: max 5 is below min "20.00" — no record could pass: swap the two
15:16: expected a date such as 2026-03-01, got "2026-02-30": "day" is of type date
16:15: expected a time such as 2026-03-01T00:00:00Z, got "yesterday": "at" is of type timestamp-micros
17:5: the range of "ratio" has neither min nor max — add one of them
18:5: "id" is of type string: a range is for numbers and times — use required, or a filter
19:5: the schema has no column "nope" — known: id, at, day, position_ms, price, ratio, live, blob, user, user.email, user.age, tags, …
19:20: unknown key "mx" — did you mean "max"?
20:5: "live" is of type boolean: a range is for numbers and times — use required, or a filter
20:11: expected a mapping (key: value), got 5
21:3: missing key "limit" in "hygiene.max_future_skew" — add "limit: …"
21:21: unknown key "limt" — did you mean "limit"?
22:21: expected a size such as 64MiB or 1GB, got 10: the unit is missing — units: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB
23:3: coerce is for format json: values of other formats already have types — remove it
23:12: the schema has no column "user.ages" — did you mean "user.age"?
23:23: "price" is of type decimal(9, 2), which cannot be converted — only texts, numbers and booleans can be converted
24:3: unknown_fields is for format json: other formats have no such fields — remove it
24:19: expected drop or refuse, got "refus" — did you mean "refuse"?
26:17: expected sha256 or redact, got "sha265" — did you mean "sha256"?
27:30: expected a number above 0, got 0
28:5: "live" is of type boolean, which cannot be masked — only texts can be masked; remove the column from project instead
29:5: "blob" is of type bytes, which cannot be masked — bytes can only be hashed: sha256
30:5: the mask of "id" needs exactly one of sha256 and keep_first — give one of them, or write sha256 or redact
31:5: the mask of "tags" needs exactly one of sha256 and keep_first — give one of them, or write sha256 or redact
34:23: expected earliest or latest, got "newest"
36:5: missing key "registry": format avro registers its schema there — add registry: {url: "http://…"}
36:76: the schema "schemas/playback.avsc" has no column "id", and format avro writes no other — known: event_id, event_type, user_id, title_id, country, event_ts
36:76: the schema "schemas/playback.avsc" has no column "more", and format avro writes no other — known: event_id, event_type, user_id, title_id, country, event_ts
36:76: the schema "schemas/playback.avsc" needs columns that this output does not have: event_id, event_type, user_id, title_id, event_ts — add "event_id" to project
36:112: expected lz4, zstd, snappy, gzip or none, got "lz5" — did you mean "lz4"?
38:36: headrace.yaml defines no catalog "lak" — did you mean "lake"?
38:84: unknown column "att" — did you mean "at"?
38:97: "day" cannot be partitioned by hour — use a column of a timestamp or date type
38:105: unknown key "target_file_siz" — did you mean "target_file_size"?
40:31: expected an address such as http://host:8081, got something else — begin it with http:// or https://
40:54: expected the name of an index: no capitals, no spaces, none of \\ / * ? " < > | , # :, got "Playback" — did you mean "playback"?
40:68: the id "idd" is not among the output's columns — did you mean "id"?
40:85: expected a number up to 10000, got 100000
43:34: the stream "playback.yaml" needs columns that this output does not have: event_id, event_type, user_id, title_id, event_ts — add "event_id" to project
43:54: the key "keyy" is not among the output's columns — known: id, at
43:68: expected header or none, got "non" — did you mean "none"?
45:34: "../tables/starts.yaml" is not a stream — name a file that begins with kind: stream
47:34: there is no file "playbck.yaml" — looked for streams/playbck.yaml and playbck.yaml
49:34: this output ends up in its own stream: bad → bad — break the circle
51:68: schema is for format avro, but this sink writes json — remove it, or use format avro
51:79: registry is for format avro, but this sink writes json — remove it, or use format avro
53:18: expected kafka, iceberg, search or stream, got "kafk" — did you mean "kafka"?
55:24: unknown key "clustr" — did you mean "cluster"?
55:53: expected earliest or latest, got "newest"
55:82: expected a size such as 64MiB or 1GB, got 4: the unit is missing — units: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB
55:92: expected a whole number, got "none"
55:107: expected a text that is not empty, got ""
56:33: headrace.yaml defines no cluster "nope" — known: consumer, fronting
56:48: unknown key "cnf" — did you mean "conf"?
"""
SOUND_HYGIENE = """\
hygiene:
  required: {columns: [id, user.email], on_bad_record: drop}
  ranges:
    position_ms: {min: 0, max: 7200000, on_bad_record: drop}
    user.age: {max: 150}
    price: {min: 0.5, max: "99.99"}
    at: {min: 2020-01-01T00:00:00Z, max: "2030-01-01"}
    day: {min: 2020-01-01}
  max_future_skew: {limit: 10min, on_bad_record: drop}
  max_size: 1MiB
  coerce: [id, user.age]
  unknown_fields: {policy: refuse, on_bad_record: fail}
  mask: {id: {sha256: {salt: pepper}}, user.email: {keep_first: 3}, blob: sha256, tags: redact, seats.name: redact}
"""
STREAM = """\
kind: stream
name: events
source: {type: kafka, cluster: fronting, topic: events, format: json, schema: schemas/events.avsc}
HYGIENE
outputs:
  - name: all
    sink: SINK
"""
KAFKA = "{type: kafka, cluster: consumer, topic: out, format: json, key: id}"


def write(files: Files, sink: str = KAFKA, hygiene: str = "") -> None:
    files.write("schemas/events.avsc", EVENT)
    text = STREAM.replace("HYGIENE\n", hygiene).replace("SINK", sink)
    files.write("streams/events.yaml", text)


def stream(name: str, reads: str, sinks: str) -> str:
    source = f"{{type: kafka, cluster: fronting, topic: {reads}, format: raw}}"
    return f"kind: stream\nname: {name}\nsource: {source}\noutputs:\n{sinks}"


def test_every_mistake_is_told_at_its_place(files: Files) -> None:
    files.write("schemas/events.avsc", EVENT)
    files.write("streams/bad.yaml", BAD)
    prefix = "streams/bad.yaml:"
    assert [one.removeprefix(prefix) for one in files.problems()] == BAD_PROBLEMS.splitlines()


@pytest.mark.parametrize(
    "sink",
    [
        KAFKA,
        "{type: kafka, cluster: consumer, topic: out, format: avro, registry: {url: 'http://r'}}",
        (
            "{type: kafka, cluster: consumer, topic: out, format: avro, schema: schemas/events.avsc, "
            "registry: {url: 'https://r:8081', subject: s}, compression: zstd, origin: none}"
        ),
        (
            "{type: iceberg, catalog: lake, database: d, table: t, partition_by: ['day(at)', "
            "'day(__metadata__.kafka_ingestion_ts)'], target_file_size: 64MiB}"
        ),
        "{type: search, url: 'http://u:p@e:9200', index: events-1}",
        "{type: search, url: 'http://e', index: events, id: id, batch_rows: 10000}",
        "{type: search, url: 'https://e', api_key: 'aWQ6a2V5', index: events}",
    ],
)
def test_rules_of_both_forms_and_every_sink_are_sound(files: Files, sink: str) -> None:
    write(files, sink, SOUND_HYGIENE)
    assert files.problems() == []


def test_no_output_has_the_name_of_the_quarantine(files: Files) -> None:
    write(files)
    file = files.root / "streams" / "events.yaml"
    named = file.read_text().replace("- name: all", "- name: quarantine")
    file.write_text(named)
    (problem,) = files.problems()
    assert problem.endswith(
        'the name "quarantine" stands for the stream\'s rejected records — give the output another name'
    )


def test_delivery_is_chosen_for_topics_alone(files: Files) -> None:
    files.write("streams/full.yaml", FULL_STREAM)
    Authority(files.root, "house")
    text = FULL_STREAM
    for name in ("lake", "search", "stream"):
        text = text.replace(f"- name: {name}\n", f"- name: {name}\n    delivery: at_least_once\n")
    files.write("streams/full.yaml", text)
    found = files.problems()
    assert len(found) == 2
    assert any("a sink of type iceberg has no choice of delivery" in one for one in found)
    assert any("a batch that is repeated overwrites its own documents" in one for one in found)


def test_a_stream_with_every_key_is_sound(files: Files) -> None:
    files.write("streams/full.yaml", FULL_STREAM)
    Authority(files.root, "house")
    assert files.problems() == []
    loaded = load_stream(Path("streams/full.yaml"), load_workspace())
    assert loaded.config.source.writers_registry == RegistryConfig(
        url=Secret("http://registry:8081")
    )
    assert isinstance(loaded.config.hygiene.mask["user_id"], MaskWith)
    avro, lake, search, target = (output.sink for output in loaded.config.outputs)
    assert isinstance(avro, TopicSink)
    assert (avro.subject, avro.compression) == ("full", "zstd")
    assert isinstance(lake, TableSink)
    assert (lake.identifier, lake.target_file_size) == ("lake.d.full", 64 * 2**20)
    assert isinstance(search, SearchSink)
    assert search.id_column == "event_id"
    assert isinstance(target, StreamSink)
    assert loaded.sink_schemas == {}


@pytest.mark.parametrize("source", ["format: json", "format: avro, registry: {url: 'http://r'}"])
def test_a_default_that_does_not_fit_its_type_is_told_before_any_record(
    files: Files, source: str
) -> None:
    write(files)
    event = json.loads(EVENT)
    event["fields"][3]["default"] = "oops"
    files.write("schemas/events.avsc", json.dumps(event))
    text = (files.root / "streams/events.yaml").read_text(encoding="utf-8")
    files.write("streams/events.yaml", text.replace("format: json", source, 1))
    assert files.problems() == [
        (
            f"streams/events.yaml:3:{67 + len(source)}: "
            'schema "schemas/events.avsc" cannot be used: Event.position_ms: '
            'its default "oops" is not a value of its type'
        )
    ]


def test_the_schema_that_an_output_names_is_loaded(files: Files) -> None:
    sink = KAFKA.replace("json", "avro, schema: schemas/events.avsc, registry: {url: 'http://r'}")
    write(files, sink)
    loaded = load_stream(Path("streams/events.yaml"), load_workspace())
    assert loaded.sink_schemas == {"all": loaded.schema}
    (output,) = loaded.config.outputs
    assert isinstance(output.sink, TopicSink)
    assert output.sink.subject == "out-value"


def test_bad_records_have_no_topic_only_where_no_rule_sends_them_there(files: Files) -> None:
    for on_bad, own, topic in (
        ("drop", "drop", None),
        ("drop", "quarantine", "events.quarantine"),
        ("quarantine", "drop", "events.quarantine"),
    ):
        rule = f"{{position_ms: {{min: 0, on_bad_record: {own}}}}}"
        write(files, hygiene=f"hygiene: {{ranges: {rule}, on_bad_record: {on_bad}}}\n")
        quarantine = load_stream(Path("streams/events.yaml"), load_workspace()).config.quarantine
        assert (quarantine.topic if quarantine else None) == topic


BESIDE = "format: avro, schema: schemas/events.avsc, registry: "
OAUTH = "bearer.auth.credentials.source: OAUTHBEARER"
PROPERTIES = {
    "ssl.ca.location: ca.pem, ssl.certificate.location: c.pem, ssl.key.location: k.pem": None,
    "basic.auth.user.info: 'u:hunter2'": None,
    "bearer.auth.credentials.source: STATIC_TOKEN, bearer.auth.token: t": None,
    "ssl.ca.locatoin: ca.pem": (
        '3:142: unknown key "ssl.ca.locatoin" — did you mean "ssl.ca.location"?'
    ),
    "ssl.key.location: k.pem": (
        '3:129: missing key "ssl.certificate.location": ssl.key.location needs it — '
        "add ssl.certificate.location"
    ),
    f"{OAUTH}, bearer.auth.client.id: i, bearer.auth.client.secret: hunter2": (
        '3:129: missing key "bearer.auth.issuer.endpoint.url": OAUTHBEARER needs it — '
        "add bearer.auth.issuer.endpoint.url"
    ),
    "bearer.auth.token: hunter2": (
        "3:142: bearer.auth.token has no effect without bearer.auth.credentials.source — "
        "add bearer.auth.credentials.source: STATIC_TOKEN or OAUTHBEARER"
    ),
    "bearer.auth.credentials.source: STATIC_TOKEN, bearer.auth.token: t, "
    "basic.auth.user.info: 'u:hunter2'": (
        "3:210: basic.auth.user.info and bearer.auth.credentials.source are two kinds of login — "
        "remove one of the two"
    ),
    "bearer.auth.credentials.source: SASL_INHERIT": (
        '3:174: expected STATIC_TOKEN or OAUTHBEARER, got "SASL_INHERIT"'
    ),
}


def test_what_is_said_about_registries(files: Files) -> None:
    write(files)
    files.spoil("streams/events.yaml", "format: json, schema: schemas/events.avsc", "XX")
    registered = "schema: {registry: {url: 'http://r', subject: s}}"
    for source, problem in {
        f"format: avro, {registered}": None,
        f"format: json, {registered}": None,
        "format: avro, schema: schemas/events.avsc, registry: {url: 'http://r'}": None,
        f"format: avro, {registered}, registry: {{url: 'http://r'}}": (
            "3:122: the schema already names its registry — remove one of the two"
        ),
        "format: json, schema: schemas/events.avsc, registry: {url: 'http://r'}": (
            "3:100: a registry next to the schema is for format avro, but this is json — remove it"
        ),
        "format: avro, schema: schemas/events.avsc, registry: {url: 'r:81', subject: s}": (
            "3:116: expected an address such as http://host:8081, got something else — "
            'begin it with http:// or https://|3:124: unknown key "subject" — known: url, properties'
        ),
        "format: avro, schema: schemas/events.avsc, registry: {url: 'http://u:a,b@r,https://s'}": (
            None
        ),
        "format: avro, schema: schemas/events.avsc, registry: {url: 'https://r, s:81'}": None,
        **{
            f"{BESIDE}{{url: 'https://r', properties: {{{given}}}}}": said
            for given, said in PROPERTIES.items()
        },
    }.items():
        files.spoil("streams/events.yaml", "XX", source)
        found = [one.removeprefix("streams/events.yaml:") for one in files.problems()]
        assert found == (problem.split("|") if problem else [])
        files.spoil("streams/events.yaml", source, "XX")


@pytest.mark.parametrize("url", ["''", "'  '", '"${NOTHING:}"'])
def test_an_empty_address_is_a_mistake(files: Files, url: str) -> None:
    for sink in (
        f"{{type: search, url: {url}, index: events}}",
        f"{{type: kafka, cluster: consumer, topic: out, format: avro, registry: {{url: {url}}}}}",
    ):
        write(files, sink)
        assert "expected an address such as http://host:8081" in files.problems()[0]


def test_an_address_is_never_shown(files: Files) -> None:
    write(files, "{type: search, url: 'u:hunter2@e:9200', index: events}")
    (problem,) = files.problems()
    assert "hunter2" not in problem
    assert "expected an address" in problem


def test_how_a_search_sink_logs_in(files: Files) -> None:
    files.write("schemas/events.avsc", EVENT)
    authority = Authority(files.root / "schemas", "house").certificate
    key = authority.with_suffix(".txt")
    key.write_text("no certificate")
    for login, problem in {
        "url: 'https://e', ca: schemas/house.pem": None,
        "url: 'https://e', ca: schemas/none.pem": 'there is no file "schemas/none.pem"',
        "url: 'https://e', ca: schemas/house.txt": "has no certificate in PEM — it begins with",
        "url: 'http://e', ca: schemas/house.pem": "ca has no effect: the url does not use TLS",
        "url: 'https://u:p@e', api_key: aWQ6a2V5": "are two kinds of login — remove one of the two",
        "url: 'https://e', api_key: 'id: hunter2'": "expected an API key as Elasticsearch encodes",
        'url: "https://e", api_key: "hunter2\\nx"': "expected an API key as Elasticsearch encodes",
    }.items():
        write(files, f"{{type: search, {login}, index: events}}")
        found = files.problems()
        assert len(found) == (0 if problem is None else 1), found
        assert (problem or "") in "".join(found)
        assert "hunter2" not in "".join(found)


def test_a_table_may_be_partitioned_by_a_computed_column(files: Files) -> None:
    sink = (
        "{type: iceberg, catalog: lake, database: d, table: t, partition_by: [half, 'day(nope)']}"
    )
    write(files, f"{sink}\n    project: [id, 'position_ms / 2 AS half']")
    assert files.problems() == [
        (
            'streams/events.yaml:6:91: unknown column "nope" — known: id, __metadata__, '
            "__metadata__.kafka_ingestion_ts, __metadata__.topic, __metadata__.partition, "
            "__metadata__.offset, __metadata__.region"
        )
    ]


def test_what_goes_to_another_stream_has_its_columns_and_types(files: Files) -> None:
    files.write(
        "streams/sink.yaml",
        stream("sink", "t", f"  - {{name: a, sink: {KAFKA}}}")
        .replace("format: raw", "format: json, schema: schemas/playback.avsc")
        .replace("key: id", "key: user_id"),
    )
    project = "[id AS event_id, live AS event_type, at AS user_id, 'upper(id) AS title_id', ratio AS event_ts]"
    write(files, f"{{type: stream, stream: sink.yaml, key: event_id}}\n    project: {project}")
    place = "streams/events.yaml:6:34: column"
    assert files.problems() == [
        (
            f'{place} "event_ts" is timestamp-micros in the stream "sink.yaml", but double in this output — '
            'convert it in project: "… AS event_ts"'
        ),
        (
            f'{place} "event_type" is string in the stream "sink.yaml", but boolean in this output — '
            'convert it in project: "… AS event_type"'
        ),
        (
            f'{place} "user_id" is string in the stream "sink.yaml", but timestamp-micros in this output — '
            'convert it in project: "… AS user_id"'
        ),
    ]


def test_what_goes_to_a_raw_stream_is_a_value(files: Files) -> None:
    files.write(
        "streams/sink.yaml",
        stream("sink", "t", f"  - {{name: a, sink: {KAFKA}}}").replace("key: id", "key: key"),
    )
    write(files, "{type: stream, stream: sink.yaml}")
    assert files.problems() == [
        (
            'streams/events.yaml:6:34: the stream "sink.yaml" reads the bytes value, which this '
            'output does not have — project an expression "… AS value"'
        )
    ]
    write(files, "{type: stream, stream: streams/sink.yaml}\n    project: [blob AS value]")
    assert files.problems() == []


def test_no_stream_ends_up_at_itself(files: Files) -> None:
    to = "  - {{name: {0}, sink: {{type: stream, stream: {0}.yaml}}}}\n"
    files.write("streams/a.yaml", stream("a", "ta", to.format("b")))
    files.write("streams/b.yaml", stream("b", "tb", to.format("c") + to.format("d")))
    files.write("streams/c.yaml", stream("c", "tc", to.format("d")))
    last = "  - {name: x, sink: {type: kafka, cluster: fronting, topic: TOPIC, format: raw}}\n"
    files.write("streams/d.yaml", stream("d", "td", last.replace("TOPIC", "elsewhere")))
    assert files.problems() == []
    # The last of them writes to the topic that the first one reads, by whatever kind of sink.
    files.write("streams/d.yaml", stream("d", "td", last.replace("TOPIC", "ta")))
    assert files.problems() == [
        (
            "streams/a.yaml:5:44: this output ends up in its own stream: a → b → d → a — "
            "break the circle"
        )
    ]
    files.write("streams/d.yaml", stream("d", "td", to.format("a")))
    circle = [one.split(": ", 1) for one in files.problems()]
    assert [(where, said.split(" — ")[0].rpartition(": ")[2]) for where, said in circle] == [
        ("streams/a.yaml:5:44", "a → b → d → a"),
        ("streams/b.yaml:5:44", "b → c → d → a → b"),
        ("streams/b.yaml:6:44", "b → d → a → b"),
        ("streams/c.yaml:5:44", "c → d → a → b → c"),
        ("streams/d.yaml:5:44", "d → a → b → d"),
    ]

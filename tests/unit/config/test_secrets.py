"""Values from outside a file reach the client that needs them, and nobody else."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING

import pytest

from headrace.config.load import load_workspace
from headrace.errors import BadConfig
from headrace.secret import Secret

if TYPE_CHECKING:
    from tests.unit.config.workspaces import Files

PASSWORD = "hunter2secret"  # noqa: S105 - the secret under test


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PW", PASSWORD)
    monkeypatch.setenv("PORT", "9092")


def test_a_secret_shows_itself_to_nobody() -> None:
    secret = Secret(PASSWORD)
    assert secret.reveal() == PASSWORD
    assert {str(secret), repr(secret), f"{secret}", "%s" % secret} == {"***"}  # noqa: UP031 - a way to leak
    assert secret == Secret(PASSWORD)
    assert secret != PASSWORD
    assert copy.deepcopy(secret) is secret
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(secret)


def test_secrets_of_a_workspace_are_masked_everywhere(files: Files) -> None:
    files.write("pw.txt", f"{PASSWORD}\r\n")
    files.write(
        "headrace.yaml",
        'clusters:\n  c: {bootstrap_servers: "h:${PORT}", properties: {sasl.password: "${PW}", n: 5}}\n'
        'catalogs:\n  l: {type: sql, uri: "postgresql://u:${PW}@h", s3.key: "${file:pw.txt}"}\n',
    )
    workspace = load_workspace()
    catalog = workspace.catalog("l")
    assert workspace.cluster("c").client_properties() == {
        "bootstrap.servers": "h:9092",
        "sasl.password": PASSWORD,
        "n": "5",
    }
    assert catalog.properties()["uri"] == f"postgresql://u:{PASSWORD}@h"
    assert catalog.properties()["s3.key"] == PASSWORD
    shown = f"{workspace!r} {workspace} {catalog.config.model_dump_json()} {catalog.config.model_dump()}"
    assert PASSWORD not in shown
    assert "sasl.password" in shown


LEAKS = {
    "headrace.yaml": """\
clusters:
  a: "${PW}"
  consumer: {bootstrap_servers: ["${PW}"], region: "${PW}", "${PW}": x, properties: {x: ["${PW}"]}}
  fronting: {bootstrap_servers: x}
catalogs: {lake: {type: "${PW}"}}
spark: {master: "${PW}", conf: "${PW}"}
state_dir: [${PW}]
""".replace("[${PW}]", '["${PW}"]'),
    "streams/playback.yaml": """\
kind: stream
name: "X ${PW}"
source: {type: "${PW}", cluster: "${PW}", topic: "${PW} ", format: "${PW}", schema: "${PW}"}
hygiene: {required: ["${PW}"], max_future_skew: "5${PW}", on_bad_record: "${PW}", quarantine: {cluster: "${PW}", topic: "${PW} "}}
outputs:
  - {name: "${PW}", filter: "${PW} = 1", project: ["${PW}", "up(${PW})"], sink: {type: kafka, cluster: "${PW}", topic: "${PW}", format: json, key: "${PW}"}}
  - {name: "${PW}", filter: "${PW}(", sink: "${PW}"}
  - "${PW}"
isolation: "${PW}"
trigger: "${PW}"
overrides: {eu: {source: {cluster: "${PW}"}, trigger: "${PW}s"}}
""",
    "tables/starts.yaml": """\
kind: lake_table
name: "${PW}!"
source: {type: kafka, cluster: "${PW}", topic: x, format: json, schema: "schemas/${PW}.avsc"}
table: {catalog: "${PW}", database: x, table: y, partition_by: ["day(${PW})", "${PW}(x)", "hour(event_ts, ${PW})"], target_file_size: "1${PW}"}
batch: {max_rows: "${PW}", max_bytes: "1 ${PW}"}
schema_evolution: "${PW}"
""",
    "apps/rmi.yaml": """\
kind: app
name: "${PW}?"
sources:
  a: {type: dynamic, selected: "${PW}", candidates: ["${PW}", "${PW}", a]}
  b: {type: "${PW}"}
  c: {type: kafka, cluster: "${PW}", topics: ["${PW} "], format: json, schema: {registry: {url: "${PW}", subject: []}}}
transform: {python: "${PW}", sql: "${PW}", sql_file: "${PW}"}
watermarks: {a: {column: "${PW}", delay: "${PW}"}}
sink: {type: iceberg, catalog: "${PW}", database: ["${PW}"], table: "${PW}", mode: "${PW}"}
""",
    "streams/more.yaml": """\
kind: stream
name: more
source: {type: kafka, cluster: fronting, topic: t, format: json, schema: schemas/playback.avsc, on_data_loss: "${PW}", registry: {url: "${PW}", properties: {ssl.ca.location: ["${PW}"], bearer.auth.credentials.source: "${PW}", bearer.auth.token: "${PW}"}}}
hygiene:
  required: {columns: ["${PW}", "__metadata__.${PW}", "event_id.${PW}"], on_bad_record: "${PW}"}
  ranges: {event_ts: {min: "${PW}", max: "2${PW}"}, user_id: {min: "${PW}"}}
  max_future_skew: {limit: "5${PW}"}
  max_size: "5${PW}"
  coerce: ["${PW}", "event_ts"]
  unknown_fields: "${PW}"
  mask: {user_id: "${PW}", event_ts: {sha256: {salt: ["${PW}"]}}, country: {keep_first: "${PW}"}}
outputs:
  - {name: a, starting_offsets: "${PW}", project: ["event_id AS ${PW}"], sink: {type: kafka, cluster: consumer, topic: x, format: avro, schema: "${PW}", compression: "${PW}", registry: {url: "${PW}", subject: ["${PW}"]}}}
  - {name: b, sink: {type: iceberg, catalog: "${PW}", database: d, table: t, partition_by: ["day(${PW})"], target_file_size: "1${PW}"}}
  - {name: c, sink: {type: search, url: "${PW}", api_key: ["${PW}"], ca: "${PW}", index: "A ${PW}", id: "${PW}", batch_rows: "${PW}"}}
  - {name: d, sink: {type: stream, stream: "${PW}", key: "${PW}"}}
  - {name: e, sink: {type: stream, stream: "../${PW}.avsc"}}
overrides: {eu: {source: {starting_offsets: "${PW}"}, resources: {memory: "${PW}", cores: "${PW}"}, region: ["${PW}"]}}
""",
    "streams/kind.yaml": 'kind: "${PW}"\nname: x\n',
}


def test_no_mistake_makes_a_secret_visible(files: Files) -> None:
    for name, text in LEAKS.items():
        files.write(name, text)
    # A file of that name, so that it is said that it is no stream.
    files.write(f"{PASSWORD}.avsc", "{}")
    said = "\n".join(files.problems())
    assert len(files.problems()) > 80
    assert PASSWORD not in said
    # nor a part of it, as a unit or a suggestion would be
    assert "hunter" not in said
    assert "${PW}" in said
    with pytest.raises(BadConfig) as caught:
        load_workspace()
    assert PASSWORD not in repr(caught.value) + str(caught.value)


def test_a_value_from_outside_never_becomes_structure(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in (
        "a: b",
        "{a: b}",
        "- x",
        "x\nregion: y",
        "null",
        "~",
        "True",
        "*a",
        "&b",
        "!!x",
        "",
        "#",
        "${PW}",
    ):
        monkeypatch.setenv("VALUE", value)
        files.write(
            "headrace.yaml",
            "clusters:\n  c:\n    bootstrap_servers: x\n    properties:\n      p: ${VALUE}\n      q: '${VALUE}'\n",
        )
        properties = load_workspace().cluster("c").properties
        assert properties["p"].reveal() == value
        assert properties["q"].reveal() == value


def test_a_plain_scalar_has_the_type_of_what_was_filled_in(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROWS", "1000")
    files.spoil("tables/starts.yaml", "max_rows: 5000000}", "max_rows: 1}")
    files.spoil("tables/starts.yaml", "{max_interval: 1min, max_rows: 1}", "\n  max_rows: ${ROWS}")
    assert files.problems() == []
    files.spoil("tables/starts.yaml", "${ROWS}", '"${ROWS}"')
    assert files.problems() == ['tables/starts.yaml:6:13: expected a whole number, got "${ROWS}"']


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("${NO_SUCH_VARIABLE:d}", "d"),
        ("${NO_SUCH_VARIABLE:}", ""),
        ("${NO_SUCH_VARIABLE:a:b}", "a:b"),
        ("${PW:d}", PASSWORD),
        ("$${PW}", "${PW}"),
        ("$$${PW}", "$${PW}"),
        ("$PW ${PW}-${PORT}", f"$PW {PASSWORD}-9092"),
    ],
)
def test_what_is_filled_in(files: Files, written: str, value: str) -> None:
    files.write(
        "headrace.yaml",
        f'clusters: {{c: {{bootstrap_servers: x, properties: {{p: "{written}"}}}}}}\n',
    )
    assert load_workspace().cluster("c").properties["p"].reveal() == value


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("${file:none.txt}", "1:20: ${file:none.txt}: there is no such file — looked in "),
        ("${file:}", "1:20: ${file:} does not name a file — write ${file:PATH}"),
        ("a ${PW", '1:22: "${" without a closing "}" — write $${ for a literal ${'),
        (
            "${1a}",
            '1:20: "${1a}" is not a variable — write ${NAME}, ${NAME:default} or ${file:PATH}',
        ),
        ("${A:${PW}}", "1:20: a ${…} inside another ${…} — put the whole value in one variable"),
    ],
)
def test_what_cannot_be_filled_in(files: Files, written: str, problem: str) -> None:
    files.write("headrace.yaml", f'spark: {{conf: {{k: "{written}"}}}}\n')
    found = [one for one in files.problems() if one.startswith("headrace.yaml")]
    assert len(found) == 1
    assert found[0].startswith(f"headrace.yaml:{problem}")

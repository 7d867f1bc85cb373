from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from headrace.errors import HeadraceError, UsageError
from tests.integration.pipelines import event
from tests.unit.router.workspaces import SOURCE, invoke, to_topic, write_stream

if TYPE_CHECKING:
    from pathlib import Path

AT_MS = 1_700_000_000_000
ONLY_SPARK = "soundex(kind) = 'S363'"


def explained(stream: Path, *lines: bytes, envelope: bool = False) -> dict[str, Any]:
    options = ["--envelope"] if envelope else []
    done = invoke(
        "explain", stream, "--record", "-", "-o", "json", *options, stdin=b"\n".join(lines)
    )
    whole: dict[str, Any] = json.loads(done.stdout)
    return whole


def test_each_step_of_a_record_is_told(tmp_path: Path) -> None:
    keyed = to_topic("starts", filter="kind = 'start'", project=["id", "upper(kind) AS kind"])
    keyed["sink"] = {**SINK, "key": "id"}
    failing = to_topic("failing", project=["100 div (id - 1) AS share"])
    stream = write_stream(tmp_path, [keyed, failing], hygiene={"mask": {"kind": {"keep_first": 2}}})
    envelope = {"value": json.loads(event(1)), "headers": {"trace": "x"}, "timestamp": AT_MS}
    found = explained(stream, json.dumps(envelope).encode(), envelope=True)
    assert found["outputs"]["starts"] == {
        "to": "topic t as json",
        "expressions": "compiled",
        "reason": None,
    }
    (one,) = found["records"]
    assert one["read"] == {"id": 1, "kind": "st***", "at": "2026-03-01T00:00:00.001000Z"}
    assert one["masked"] == ["kind"]
    # The filter sees what every output sees: the masked value.
    assert one["outputs"]["starts"] == {"outcome": "filtered", "filter": "kind = 'start'"}
    assert one["outputs"]["failing"] == {
        "outcome": "bad",
        "reason": "a division by zero",
        "becomes": "quarantine",
    }


SINK = {"type": "kafka", "cluster": "consumer", "topic": "t", "format": "json"}


def test_what_would_be_written(tmp_path: Path) -> None:
    keyed = {**to_topic("out", project=["id"]), "sink": {**SINK, "key": "id"}}
    search = {"type": "search", "url": "http://u:hunter2@127.0.0.1:1", "index": "i"}
    table = {"type": "iceberg", "catalog": "lake", "database": "d", "table": "t"}
    others = [{"name": "found", "sink": search}, {"name": "lake", "sink": table}]
    stream = write_stream(tmp_path, [keyed, *others])
    envelope = {"value": json.loads(event(7)), "headers": {"a": "ü"}, "timestamp": AT_MS}
    found = explained(stream, json.dumps(envelope).encode(), envelope=True)
    assert found["outputs"]["lake"]["reason"] == "Spark writes its table"
    outputs = found["records"][0]["outputs"]
    assert outputs["out"] == {
        "outcome": "written",
        "value": {"id": 7},
        "key": "7",
        "headers": [
            ["a", "ü"],
            ["region", "us-east-1"],
            ["headrace.origin", f"raw/0/0/{AT_MS}"],
        ],
    }
    assert outputs["found"]["id"] == "raw-0-0"
    assert outputs["lake"]["value"]["id"] == 7
    text = invoke("explain", stream, "--record", "-", stdin=event(7)).stdout
    assert "out    written, key 7" in text
    assert "found  written, id raw-0-0" in text
    assert "hunter2" not in text


def test_a_table_among_the_outputs_makes_a_record_without_a_usable_time_bad(
    tmp_path: Path,
) -> None:
    table = {"type": "iceberg", "catalog": "lake", "database": "d", "table": "t"}
    line = json.dumps({"value": json.loads(event(7)), "timestamp": 2**62}).encode()
    outputs: list[dict[str, object]] = [to_topic("out"), {"name": "lake", "sink": table}]
    (alone, beside) = (
        explained(write_stream(tmp_path, some), line, envelope=True)["records"][0]
        for some in (outputs[:1], outputs)
    )
    assert alone["outputs"]["out"]["outcome"] == "written"
    assert beside["bad"]["reason"] == "its timestamp lies beyond the years 0001 to 9999"


@pytest.mark.parametrize(
    ("settings", "by_spark"),
    [
        ({"spark.sql.ansi.enabled": "false"}, "spark.sql.ansi.enabled"),
        ({"spark.sql.session.timeZone": "Europe/Berlin"}, "spark.sql.session.timeZone"),
        ({"spark.sql.caseSensitive": "true"}, "spark.sql.caseSensitive"),
        ({"spark.sql.legacy.sizeOfNull": "true"}, "spark.sql.legacy.sizeOfNull"),
        ({"spark.sql.ansi.enabled": "TRUE", "spark.sql.session.timeZone": "UTC"}, None),
        ({"spark.sql.shuffle.partitions": "8"}, None),
    ],
)
def test_spark_evaluates_what_its_settings_change(
    tmp_path: Path, settings: dict[str, str], by_spark: str | None
) -> None:
    output = to_topic("out", filter="kind = 'start'")
    stream = write_stream(tmp_path, [output], overrides={"eu": {"spark": {"conf": settings}}})
    found = json.loads(
        invoke("explain", stream, "--region", "eu", "--record", "-", "-o", "json", stdin=b"").stdout
    )
    told = found["outputs"]["out"]
    assert told["expressions"] == ("compiled" if by_spark is None else "spark")
    assert (told["reason"] or "").split(" ")[0] == (by_spark or "")


def test_a_long_chain_fits_into_the_route_or_is_left_to_spark(tmp_path: Path) -> None:
    chains = [" AND ".join(["nullif(kind, 'x') = kind"] * count) for count in (20, *range(80, 110))]
    outputs = [to_topic(f"n{n}", filter=chain) for n, chain in enumerate(chains)]
    found = explained(write_stream(tmp_path, outputs))
    by = [one["expressions"] for one in found["outputs"].values()]
    assert by[0] == "compiled"
    assert {one["reason"] for one in found["outputs"].values()} <= {
        None,
        "filter: it is nested too deep",
    }


def test_functions_that_share_a_name_work_in_outputs_side_by_side(tmp_path: Path) -> None:
    plain = to_topic("plain", project=["replace(kind, 's', 'z') AS kind"])
    regex = to_topic("regex", project=["regexp_replace(kind, 's+', 'z') AS kind"])
    found = explained(write_stream(tmp_path, [plain, regex]), event(1))
    outputs = found["records"][0]["outputs"]
    assert [outputs[name]["value"]["kind"] for name in ("plain", "regex")] == ["ztart", "ztart"]


def test_bad_records_are_told_with_their_rule_and_end(tmp_path: Path) -> None:
    hygiene = {
        "required": {"columns": ["kind"], "on_bad_record": "drop"},
        "ranges": {"id": {"max": 10, "on_bad_record": "fail"}},
    }
    stream = write_stream(tmp_path, [to_topic("out")], hygiene=hygiene)
    found = explained(stream, b"{", event(1, None), b"", event(11), event(1))
    assert [one["line"] for one in found["records"]] == [1, 2, 4, 5]
    bad = [one["bad"] and (one["bad"]["rule"], one["bad"]["becomes"]) for one in found["records"]]
    assert bad == [("decode", "quarantine"), ("required", "drop"), ("range", "fail"), None]
    text = invoke("explain", stream, "--record", "-", stdin=b"{\n" + event(1, None)).stdout
    assert "to the quarantine topic raw.quarantine" in text
    assert "it is dropped and counted" in text


def test_what_only_spark_evaluates_is_named_and_the_rest_told(tmp_path: Path) -> None:
    stream = write_stream(tmp_path, [to_topic("odd", filter=ONLY_SPARK), to_topic("out")])
    found = explained(stream, event(1))
    odd = found["outputs"]["odd"]
    assert odd["expressions"] == "spark"
    assert "filter: soundex" in odd["reason"]
    outputs = found["records"][0]["outputs"]
    assert outputs["odd"] == {"outcome": "not evaluated"}
    assert outputs["out"]["outcome"] == "written"
    text = invoke("explain", stream, "--record", "-", stdin=event(1)).stdout
    assert "only Spark can evaluate this output: add --spark" in text


def test_an_object_may_be_laid_out_over_many_lines(tmp_path: Path) -> None:
    stream = write_stream(tmp_path, [to_topic("out")])
    laid_out = json.dumps(json.loads(event(7)), indent=2).encode()
    (one,) = explained(stream, laid_out)["records"]
    assert one["read"]["id"] == 7
    wrapped = json.dumps({"value": json.loads(event(8))}, indent=2).encode()
    (one,) = explained(stream, wrapped, envelope=True)["records"]
    assert one["read"]["id"] == 8
    # Two of them are no object: each line is a record, and a bad one.
    assert len(explained(stream, laid_out + b"\n" + laid_out)["records"]) > 2


def test_an_envelope_that_is_read_as_a_value_is_told(tmp_path: Path) -> None:
    stream = write_stream(tmp_path, [to_topic("out")])
    wrapped = json.dumps({"value": json.loads(event(7)), "key": "7"}).encode()
    done = invoke("explain", stream, "--record", "-", stdin=wrapped)
    assert "try --envelope" in done.stderr
    assert "try --envelope" not in invoke("explain", stream, "--record", "-", stdin=event(7)).stderr


def test_bytes_are_given_in_base64(tmp_path: Path) -> None:
    source = {**SOURCE, "format": "raw"}
    del source["schema"]
    out = {"name": "out", "project": ["value"], "sink": {**SINK, "format": "raw"}}
    stream = write_stream(tmp_path, [out], source=source)
    line = {"value_base64": base64.b64encode(b"\xff").decode(), "key": "k"}
    found = explained(stream, json.dumps(line).encode(), envelope=True)
    assert found["records"][0]["outputs"]["out"]["value"] == {"base64": "/w=="}
    for damaged, said in (
        ({"value_base64": "?"}, "stdin:1: value_base64 is not valid base64"),
        ({**line, "value": 1}, "stdin:1: a line has either value or value_base64"),
    ):
        with pytest.raises(HeadraceError, match=said):
            explained(stream, json.dumps(damaged).encode(), envelope=True)


def test_a_line_is_no_avro_and_a_file_that_is_none(tmp_path: Path) -> None:
    registry = {"url": "http://127.0.0.1:1"}
    stream = write_stream(
        tmp_path, [to_topic("out")], source={**SOURCE, "format": "avro", "registry": registry}
    )
    with pytest.raises(UsageError, match="a line of text is not an Avro record"):
        explained(stream, event(1))
    with pytest.raises(UsageError, match="there is no file"):
        invoke("explain", stream, "--record", str(tmp_path / "none"), "--envelope")


def test_every_setting_is_shown_with_its_origin(tmp_path: Path) -> None:
    overrides = {"eu": {"trigger": "5s"}}
    stream = write_stream(tmp_path, [to_topic("out")], overrides=overrides)
    text = invoke("show", stream, "--region", "eu").stdout
    assert "isolation: output" in text
    found = json.loads(invoke("show", stream, "--region", "eu", "-o", "json").stdout)
    assert found["trigger"]["value"] == "5s"
    assert found["trigger"]["origin"].startswith("overrides.eu (")
    assert found["isolation"] == {"value": "output", "origin": "default"}
    with pytest.raises(UsageError, match="no deployment us"):
        invoke("show", stream, "--region", "us")

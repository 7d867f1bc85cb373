"""Files for many topics: the pattern, the placeholders, and which topics make which file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from headrace.config.common.topic_pattern import TopicPattern
from headrace.config.kind_files import check_file
from headrace.config.lake_table.file import LakeTable
from headrace.config.load import known_names, load_lake_table, load_stream, load_workspace
from headrace.config.many_topics import Expansion, expand
from headrace.config.stream.file import Stream
from headrace.config.stream.sinks import TableSink, TopicSink
from headrace.config.validate import check_workspace
from headrace.errors import BadConfig, UsageError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from headrace.config.kind_files import CheckedFile

HEADRACE = """\
clusters:
  fronting: {bootstrap_servers: "127.0.0.1:1,127.0.0.1:2"}
  same: {bootstrap_servers: "127.0.0.1:2"}
  consumer: {bootstrap_servers: "127.0.0.1:3"}
  eu: {bootstrap_servers: "127.0.0.1:4", region: eu-west-1}
catalogs:
  lake: {type: sql, uri: "sqlite:///catalog.db", warehouse: "warehouse"}
"""
STREAM = r"""kind: stream
name: events-${team}-${rest_}
for_each: {cluster: fronting, topics: "events\\.(?P<team>[a-z]+)\\.(?P<rest>.*)"}
source: {type: kafka, cluster: fronting, topic: "${topic}", format: json, schema: "schemas/${team}.avsc"}
outputs:
  - name: starts
    filter: "kind = 'start'"
    sink: {type: kafka, cluster: fronting, topic: "${topic}.starts", format: json}
  - {name: lake, sink: {type: iceberg, catalog: lake, database: "${team}", table: "${rest_}"}}
"""
TABLE = r"""kind: lake_table
name: ${topic_}
for_each: {cluster: fronting, topics: 'events\..*'}
source: {type: kafka, format: raw}
table: {catalog: lake, database: tv, table: "${topic_}"}
"""
EVENT = json.dumps(
    {
        "type": "record",
        "name": "tv.Event",
        "fields": [{"name": "id", "type": "long"}, {"name": "kind", "type": "string"}],
    }
)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "headrace.yaml").write_text(HEADRACE)
    for team in ("tv", "games"):
        (tmp_path / "schemas").mkdir(exist_ok=True)
        (tmp_path / f"schemas/{team}.avsc").write_text(EVENT)
    return tmp_path


def problems(root: Path, text: str, name: str = "many.yaml") -> list[str]:
    """Return what `headrace validate` says of a file."""
    (root / name).write_text(text)
    return [str(one) for one in check_workspace(root).problems]


def expanded(root: Path, topics: Collection[str] | None, **files: str) -> Expansion:
    for name, text in files.items():
        (root / f"{name}.yaml").write_text(text)
    known = known_names(load_workspace(root))
    checked = [check_file(root / f"{name}.yaml", known) for name in files]
    assert [one.document.problems for one in checked] == [[] for _ in checked]
    return expand(checked, {"fronting": topics})


def by_topic(found: Expansion) -> dict[str, CheckedFile]:
    return {one.topic or "": one for one in found.files}


def said(checked: CheckedFile) -> list[str]:
    return [str(one) for one in checked.document.problems]


def test_each_topic_makes_a_stream_of_its_own(root: Path) -> None:
    found = by_topic(expanded(root, {"events.tv.Play-Back", "events.games.x", "other"}, s=STREAM))
    assert set(found) == {"events.tv.Play-Back", "events.games.x"}
    config = found["events.tv.Play-Back"].config
    assert isinstance(config, Stream)
    assert config.name == "events-tv-play_back"
    assert config.source.topic == "events.tv.Play-Back"
    assert config.quarantine is not None
    assert config.quarantine.topic == "events.tv.Play-Back.quarantine"
    topic, table = (one.sink for one in config.outputs)
    assert isinstance(topic, TopicSink)
    assert isinstance(table, TableSink)
    assert topic.topic == "events.tv.Play-Back.starts"
    assert table.identifier == "lake.tv.play_back"
    assert "source" in found["events.games.x"].schemas


def test_cluster_and_topic_of_the_source_may_be_left_out(root: Path) -> None:
    found = by_topic(expanded(root, {"events.a", "events.2026"}, t=TABLE))
    configs = [one.config for one in found.values()]
    assert all(isinstance(one, LakeTable) for one in configs)
    assert [(one.name, one.source.cluster, one.source.topic) for one in configs] == [  # type: ignore[union-attr]
        ("events_2026", "fronting", "events.2026"),
        ("events_a", "fronting", "events.a"),
    ]


def test_a_topic_whose_name_is_a_number_is_a_text(root: Path) -> None:
    text = TABLE.replace(r"events\..*", "[0-9]+")
    (config,) = (one.config for one in expanded(root, {"2026"}, t=text).files)
    assert isinstance(config, LakeTable)
    assert (config.name, config.table.table) == ("2026", "2026")


def test_numbered_groups_and_defaults(root: Path) -> None:
    text = TABLE.replace(r"'events\..*'", r"'events\.([a-z]+)(\.v[0-9]+)?'")
    text = text.replace('table: "${topic_}"', 'table: "${1}_${2_:first}"')
    found = by_topic(expanded(root, {"events.a", "events.a.v2"}, t=text))
    tables = [one.config.table.table for one in found.values()]  # type: ignore[union-attr]
    assert tables == ["a_first", "a_v2"]
    without = text.replace("${2_:first}", "${2_}")
    (one,) = expanded(root, {"events.a"}, t=without).files
    assert said(one)[0].startswith("t.yaml:5:51: topic events.a: the group 2_ took no part")


def test_a_placeholder_wins_over_the_environment(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("topic", "from_outside")
    monkeypatch.setenv("PREFIX", "events")
    text = TABLE.replace(r"'events\..*'", r"'${PREFIX}\..*'").replace(
        "database: tv", 'database: "${DB:x}"'
    )
    (one,) = expanded(root, {"events.a"}, t=text).files
    assert one.config.name == "events_a"  # type: ignore[union-attr]


def test_a_written_topic_is_never_read(root: Path) -> None:
    topics = {
        *("events.tv.a", "events.tv.a.starts", "events.tv.a.quarantine"),
        # Its source was removed; what it wrote is still there.
        *("events.tv.gone.starts", "events.tv.gone.quarantine"),
        *("__consumer_offsets", "_schemas", "headrace.events.tv.ledger"),
    }
    assert set(by_topic(expanded(root, topics, s=STREAM))) == {"events.tv.a"}
    wide = STREAM.replace(r"events\\.(?P<team>[a-z]+)\\.", r"(?P<team>tv)?.*(?P<last>.)")
    assert problems(root, wide) != []


def test_a_cluster_with_two_names_is_one_cluster(root: Path) -> None:
    sink = 'cluster: fronting, topic: "${topic}.starts"'
    text = STREAM.replace(sink, 'cluster: same, topic: "${topic}.starts"')
    topics = {"events.tv.a", "events.tv.a.starts"}
    assert set(by_topic(expanded(root, topics, s=text))) == {"events.tv.a"}
    # It may be one that has no address in common, too.
    elsewhere = STREAM.replace(sink, 'cluster: consumer, topic: "${topic}.starts"')
    assert set(by_topic(expanded(root, topics, s=elsewhere))) == {"events.tv.a"}
    own = STREAM.replace(sink, 'cluster: same, topic: "${topic}"')
    (problem, *_) = problems(root, own)
    assert problem.endswith("an endless loop — use another topic")
    # From another cluster, the same name is another topic.
    mirrored = STREAM.replace(sink, 'cluster: consumer, topic: "${topic}"')
    assert set(by_topic(expanded(root, topics, s=mirrored))) == topics


def test_files_that_read_what_they_write_by_way_of_each_other_are_reported(root: Path) -> None:
    def stream(name: str, pattern: str, cluster: str = "fronting") -> str:
        text = STREAM.replace(r"events\\.(?P<team>[a-z]+)\\.(?P<rest>.*)", pattern)
        text = text.replace("events-${team}-${rest_}", f"{name}-${{topic_}}")
        text = text.replace("cluster: fronting", f"cluster: {cluster}", 2)
        text = text.replace("${topic}.starts", "${topic}." + name).replace(
            "schemas/${team}", "schemas/tv"
        )
        return text.replace(
            'database: "${team}", table: "${rest_}"', f'database: {name}, table: "${{topic_}}"'
        )

    (root / "b.yaml").write_text(stream("b", "events.*"))
    found = problems(root, stream("a", "events.*"), "a.yaml")
    assert [one.partition(" — ")[0] for one in found] == [
        "a.yaml:3:39: files for many topics read what they write: eventsx → eventsx.a → eventsx.a.b",
        "b.yaml:3:39: files for many topics read what they write: eventsx → eventsx.b → eventsx.b.a",
    ]
    assert [one.rpartition("see ")[2] for one in found] == ["b.yaml", "a.yaml"]
    # The same cluster by another name.
    assert len(problems(root, stream("a", "events.*", "same"), "a.yaml")) == 2
    assert problems(root, stream("a", "events.*", "eu"), "a.yaml") == []
    # In a row, and not in a circle.
    (root / "b.yaml").write_text(stream("b", "events[a-z]*"))
    assert problems(root, stream("a", r"events[a-z]*\\.b"), "a.yaml") == []
    assert problems(root, TABLE.replace(r"events\..*", "events.*"), "t.yaml") == []


def test_what_all_of_a_file_write_to_is_not_read(root: Path) -> None:
    text = STREAM.replace("${topic}.starts", "events.tv.all")
    found = by_topic(expanded(root, {"events.tv.a", "events.tv.b", "events.tv.all"}, s=text))
    assert set(found) == {"events.tv.a", "events.tv.b"}
    part = STREAM.replace("${topic}.starts", "events.clean.${rest_}")
    topics = {"events.tv.a", "events.clean.a", "events.clean.gone"}
    assert set(by_topic(expanded(root, topics, s=part))) == {"events.tv.a"}


def test_a_name_of_many_parts_is_told_quickly(root: Path) -> None:
    groups = "".join(rf"\\.(?P<g{number}>[a-z]+)" for number in range(8))
    out = "out-" + "-".join(f"${{g{number}}}" for number in range(8)) + "-end"
    text = STREAM.replace(r"events\\.(?P<team>[a-z]+)\\.(?P<rest>.*)", f"(?:events{groups}|out-.*)")
    text = text.replace("events-${team}-${rest_}", "${topic_}").replace("${topic}.starts", out)
    text = (
        text.replace("${team}.avsc", "tv.avsc")
        .replace("${team}", "tv")
        .replace("${rest_}", "${topic_}")
    )
    topics = {"events.a.b.c.d.e.f.g.h", "out-a-b-c-d-e-f-g-h-end", "out-" + "a-" * 120}
    found = by_topic(
        expanded(
            root,
            topics,
            s=text.replace("${g", "${g").replace("}-", ":x}-").replace("}-end", ":x}-end"),
        )
    )
    assert set(found) == topics - {"out-a-b-c-d-e-f-g-h-end"}


def test_what_another_of_its_streams_writes_is_not_read(root: Path) -> None:
    text = STREAM.replace("${topic}.starts", "events.${rest_}.${team}")
    topics = {"events.tv.a", "events.a.tv", "events.tv.b"}
    # Each of the two writes what the other would read.
    assert set(by_topic(expanded(root, topics, s=text))) == {"events.tv.b"}


def test_the_stream_that_an_output_names_is_not_read(root: Path) -> None:
    other = "kind: stream\nname: all\nsource: {type: kafka, cluster: fronting, topic: events.tv.all, format: json, schema: schemas/tv.avsc}\noutputs:\n  - {name: o, sink: {type: kafka, cluster: consumer, topic: out, format: json}}\n"
    (root / "all.yaml").write_text(other)
    text = STREAM.replace(
        'sink: {type: kafka, cluster: fronting, topic: "${topic}.starts", format: json}',
        "sink: {type: stream, stream: all.yaml}",
    )
    assert set(by_topic(expanded(root, {"events.tv.a", "events.tv.all"}, s=text))) == {
        "events.tv.a"
    }


def test_two_topics_with_one_name_are_both_named_and_others_are_fine(root: Path) -> None:
    found = by_topic(expanded(root, {"events.a-b", "events.a_b", "events.c"}, t=TABLE))
    assert said(found["events.c"]) == []
    (name, table) = said(found["events.a-b"])
    assert name.startswith(
        "t.yaml:2:7: topic events.a-b: the lake table events_a_b is also that of topic events.a_b"
    )
    assert "the table lake.tv.events_a_b is also that of topic events.a_b" in table
    assert "is also that of topic events.a-b" in said(found["events.a_b"])[0]


def test_a_file_of_one_topic_wins_over_one_of_many(root: Path) -> None:
    plain = (
        TABLE.replace("${topic_}", "events_a")
        .replace("for_each: {cluster: fronting, topics: 'events\\..*'}\n", "")
        .replace("type: kafka", "type: kafka, cluster: fronting, topic: other")
    )
    found = by_topic(expanded(root, {"events.a", "events.b"}, one=plain, t=TABLE))
    assert said(found[""]) == []
    assert "is also that of one.yaml" in said(found["events.a"])[0]
    assert said(found["events.b"]) == []


def test_a_topic_with_a_name_that_cannot_be_is_alone_with_it(root: Path) -> None:
    text = STREAM.replace("${rest_}", "${rest}")
    found = by_topic(expanded(root, {"events.tv.a", "events.tv.B.c"}, s=text))
    assert said(found["events.tv.a"]) == []
    name, table = said(found["events.tv.B.c"])
    assert name == (
        "s.yaml:2:7: topic events.tv.B.c: expected a name of a-z, 0-9, _ and -, got "
        '"events-tv-B.c" from "events-${team}-${rest}" — write ${team_} and ${rest_}: it has _ for '
        "all other characters"
    )
    assert table.startswith(
        "s.yaml:9:83: topic events.tv.B.c: expected a name of letters, digits and _"
    )


def test_a_topic_without_its_schema_file_is_alone_with_it(root: Path) -> None:
    found = by_topic(expanded(root, {"events.tv.a", "events.music.a"}, s=STREAM))
    assert said(found["events.tv.a"]) == []
    (problem,) = said(found["events.music.a"])
    assert problem.startswith("s.yaml:4:83: topic events.music.a: there is no file")
    assert problem.endswith("looked for schemas/music.avsc")


def test_no_topic_and_no_answer_are_not_the_same(root: Path) -> None:
    assert len(expanded(root, {"other"}, t=TABLE).empty) == 1
    nothing = expanded(root, None, t=TABLE)
    assert (len(nothing.files), len(nothing.empty), len(nothing.unknown)) == (0, 0, 1)


def test_a_sound_file_is_valid_without_a_topic(root: Path) -> None:
    assert problems(root, STREAM) == []
    assert problems(root, TABLE, "other.yaml") == []
    report = check_workspace(root)
    assert (report.kinds, report.notes) == ({"stream": 1, "lake_table": 1}, [])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("${team}-", "${taem}-"), "2:14: ${taem} is no placeholder of for_each, and not set in the environment — did you mean ${team}?"),
        (("${team}-", "${3}-"), "2:14: ${3} is no placeholder of for_each"),
        (("events-${team}-${rest_}", "events"), '2:7: all topics would have the name "events" — put ${topic_}'),
        (('database: "${team}", table: "${rest_}"', "database: tv, table: all"), '9:76: all topics would have the table "all"'),
        (("events-${team}-${rest_}", "${topic}"), '2:7: expected a name of a-z, 0-9, _ and -, got "events.x.y" from "${topic}" — write ${topic_}'),
        (("[a-z]+)", "[a-z]+"), "3:39: expected a regular expression for names of topics"),
        (("[a-z]+", "([a-z]+)+"), '3:39: expected a regular expression for names of topics, got "events'),
        (("[a-z]+", r"[a-z]+)\\.(?P=team"), "it may look at a name again and again"),
        (('topic: "${topic}"', "topic: fixed"), '4:49: a file for many topics reads each of them, and not "fixed" — write topic: ${topic}'),
        (("source: {type: kafka, cluster: fronting", "source: {type: kafka, cluster: eu"), "4:32: for_each is about cluster fronting"),
        (("for_each: {cluster: fronting", "for_each: {cluster: frontin"), '3:21: headrace.yaml defines no cluster "frontin" — did you mean "fronting"?'),
        (("topics:", "topic:"), '3:31: unknown key "topic" — did you mean "topics"?'),
        (('"${topic}.starts"', '"${topic}"'), "8:51: this output writes to the topic that the stream reads"),
        (("kind = 'start'", "kimd = 'start'"), "filter"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_at_its_place_without_a_topic(
    root: Path, change: tuple[str, str], expected: str
) -> None:
    text = STREAM.replace("${team}.avsc", "tv.avsc")
    assert change[0] in text
    found = problems(root, text.replace(*change, 1))
    if expected == "filter":
        assert found[0].startswith("many.yaml:7:14: unknown column"), found
    else:
        assert any(expected in one for one in found), found


def test_a_missing_variable_is_named_as_such(root: Path) -> None:
    text = TABLE.replace("database: tv", 'database: "${LAKE_DB}"')
    (problem,) = problems(root, text)
    assert problem == (
        "many.yaml:5:35: ${LAKE_DB} is no placeholder of for_each, and not set in the environment "
        "— placeholders: ${topic}"
    )
    # In a file of one topic, a placeholder is a variable like any other.
    plain = TABLE.replace("for_each: {cluster: fronting, topics: 'events\\..*'}\n", "")
    assert "${topic_} is not set" in problems(root, plain)[0]


def test_a_name_that_leaves_out_a_part_is_noted(root: Path) -> None:
    text = TABLE.replace(r"events\..*", r"(a|b)\.(?P<name>[a-z]+)").replace("${topic_}", "${name}")
    assert problems(root, text) == []
    notes = [str(one) for one in check_workspace(root).notes]
    assert notes[0].startswith('many.yaml:2:7: two topics may give the same name: "${name}"')
    assert len(notes) == 2


def test_a_file_that_an_output_names_cannot_be_about_many(root: Path) -> None:
    (root / "many.yaml").write_text(STREAM)
    text = "kind: stream\nname: s\nsource: {type: kafka, cluster: eu, topic: t, format: json, schema: schemas/tv.avsc}\noutputs:\n  - {name: o, sink: {type: stream, stream: many.yaml}}\n"
    (problem,) = problems(root, text, "s.yaml")
    assert problem.startswith('s.yaml:5:44: "many.yaml" is about many topics')


def test_an_application_is_about_its_own_topics(root: Path) -> None:
    text = "kind: app\nname: a\nfor_each: {cluster: fronting, topics: x}\n"
    assert any('unknown key "for_each"' in one for one in problems(root, text))


def test_a_deployment_may_read_another_cluster_and_no_other_topic(root: Path) -> None:
    text = TABLE + "overrides: {eu: {source: {cluster: eu}}}\n"
    assert problems(root, text) == []
    checked = check_file(root / "many.yaml", known_names(load_workspace(root)))
    found = expand([checked], {"fronting": {"events.a"}, "eu": {"events.b"}}, "eu")
    assert [one.topic for one in found.files] == ["events.b"]
    (problem,) = problems(root, text.replace("{cluster: eu}", "{topic: t}"))
    assert problem.startswith("many.yaml:6:27: a deployment of a file for many topics cannot read")


def test_one_topic_is_loaded_by_its_name(root: Path) -> None:
    (root / "s.yaml").write_text(STREAM)
    (root / "t.yaml").write_text(TABLE)
    workspace = load_workspace(root)
    assert load_stream(root / "s.yaml", workspace, "events.tv.a").config.name == "events-tv-a"
    assert load_lake_table(root / "t.yaml", workspace, "events.b").config.name == "events_b"
    with pytest.raises(UsageError, match=r"s.yaml is about many topics"):
        load_stream(root / "s.yaml", workspace)
    with pytest.raises(UsageError, match=r"for_each in s.yaml does not match topic other"):
        load_stream(root / "s.yaml", workspace, "other")
    with pytest.raises(UsageError, match=r"events.tv.a.starts is written by the streams of s.yaml"):
        load_stream(root / "s.yaml", workspace, "events.tv.a.starts")
    with pytest.raises(BadConfig, match=r"topic events\.music\.a"):
        load_stream(root / "s.yaml", workspace, "events.music.a")


@pytest.mark.parametrize("pattern", [".*", "a.*b", ".*-events-.*", r"(.*)\.(.*)", "(?!x).*", "a|b", r"a\.([a-z]+)\.(.*)|b\.([a-z]+)\.(.*)\.(.*)", r"\w+\.\w+\.\w+\.\w+", "[^.]+(?:\\.v[0-9]+)?"])  # fmt: skip
def test_a_pattern_that_is_quick_is_taken(pattern: str) -> None:
    found = TopicPattern.parse(pattern)
    sample = found.sample("c")
    assert found.match(sample.topic, "c") is not None


@pytest.mark.parametrize("pattern", ["(a+)+b", "(.*)*", ".*.*.*.*x", r"(a)\1", "(a|b)+(a|b)+(a|b)+(a|b)+c", "(a{1,50}){1,50}b"])  # fmt: skip
def test_a_pattern_that_is_expensive_is_refused(pattern: str) -> None:
    with pytest.raises(Exception, match="refused"):
        TopicPattern.parse(pattern)

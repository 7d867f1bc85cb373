"""Each offset lands once, whatever happens to the catalog, the table and the writer in between."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from pyiceberg.table.update import SetSnapshotRefUpdate

from headrace.errors import Terminal, Transient
from headrace.iceberg import history, manifests
from headrace.iceberg.history import refers_to
from headrace.iceberg.manifests import MERGED_TOGETHER
from headrace.kafka.source_topic import TopicRecreated
from headrace.landing import commits as protocol
from headrace.landing.commit_state import SUMMARY, Identity
from headrace.landing.commits import LostRace, TableBatch, TableCommits
from headrace.landing.completeness import losses_of, losses_property
from tests.integration.lake_writer.landing_table import TOPIC, LandingTable, rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyiceberg.table import Table

OTHER = 99


@pytest.fixture
def landing(tmp_path: Path) -> LandingTable:
    table = LandingTable(tmp_path)
    table.make()
    return table


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "FIRST_WAIT_S", 0.0)


def expected(*ranges: tuple[int, range]) -> list[tuple[int, int]]:
    return sorted((partition, offset) for partition, span in ranges for offset in span)


def append_by_hand(landing: LandingTable) -> None:
    """Append a row, as somebody else's job does."""
    table = landing.load()
    table.append(rows(table, TOPIC, OTHER, [len(table.metadata.snapshots)]))


def refuse(error: type[Exception]) -> Callable[[], None]:
    def fail() -> None:
        raise error("injected")

    return fail


def test_every_commit_tells_its_range_and_its_writer(landing: LandingTable) -> None:
    writer = landing.commits()
    writer.commit(landing.batch({0: range(5, 8)}))
    writer.commit(landing.batch({0: range(8, 9), 1: range(2)}))
    told = [
        {} if snapshot.summary is None else snapshot.summary.additional_properties
        for snapshot in landing.load().metadata.snapshots
    ]
    offsets = ['{"0":[5,5,8]}', '{"0":[5,8,9],"1":[0,0,2]}']
    for summary, said, snapshot in zip(
        told, offsets, landing.load().metadata.snapshots, strict=True
    ):
        assert summary[SUMMARY] == (
            '{"v":1,"writer":"w","topic":"events","host":"here","pid":1,'
            f'"started":"2026-03-01T00:00:00.000Z","snapshot":{snapshot.snapshot_id},'
            f'"offsets":{said}}}'
        )
    assert told[1]["total-records"] == "6"
    assert landing.load().properties["headrace.writer.w"] == told[1][SUMMARY]
    assert landing.files() == landing.referenced()


@pytest.mark.parametrize("error", [CommitStateUnknownException, CommitFailedException, OSError])
def test_a_catalog_that_applied_a_commit_and_lost_the_answer(
    landing: LandingTable, error: type[Exception]
) -> None:
    catalog = landing.catalog()
    writer = landing.commits(catalog)
    catalog.after = refuse(error)
    writer.commit(landing.batch({0: range(10)}))
    writer.commit(landing.batch({0: range(10, 12)}))
    assert landing.places() == expected((0, range(12)))
    assert len(landing.load().metadata.snapshots) == 2


@pytest.mark.parametrize("error", [CommitStateUnknownException, CommitFailedException, OSError])
def test_a_catalog_that_did_not_apply_is_asked_again(
    landing: LandingTable, error: type[Exception]
) -> None:
    catalog = landing.catalog()
    writer = landing.commits(catalog)
    catalog.before = refuse(error)
    writer.commit(landing.batch({0: range(10)}))
    assert landing.places() == expected((0, range(10)))
    assert len(landing.load().metadata.snapshots) == 1


def test_a_commit_that_the_catalog_takes_after_all_is_found_by_the_next_run(
    landing: LandingTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "ATTEMPTS", 1)
    catalog = landing.catalog()
    writer = landing.commits(catalog)
    catalog.after = refuse(TimeoutError)
    with pytest.raises(Transient, match=r"did not accept a commit.*TimeoutError: injected"):
        writer.commit(landing.batch({0: range(10)}))
    state = landing.commits().resume()
    assert state is not None
    assert state.next_offsets == {0: 10}
    # The first one goes on without having looked again: it is refused.
    with pytest.raises(LostRace):
        writer.commit(landing.batch({0: range(10)}))
    assert landing.places() == expected((0, range(10)))


def test_the_loser_of_a_race_stops_and_names_the_winner(landing: LandingTable) -> None:
    first, second = landing.commits(host="first"), landing.commits(host="second")
    first.commit(landing.batch({0: range(10)}))
    with pytest.raises(LostRace) as lost:
        second.commit(landing.batch({0: range(7)}))
    assert str(lost.value) == (
        "w on second (pid 1, started 2026-03-01T00:00:00.000Z) stops:"
        " w on first (pid 1, started 2026-03-01T00:00:00.000Z) committed (table"
        " lake.tv.events); nothing of its current batch is in the table\n"
        "  → only one process may land this topic; start this one again if it should do so"
    )
    assert landing.places() == expected((0, range(10)))
    assert landing.files() == landing.referenced()


def test_the_condition_holds_inside_the_commit_not_only_before_it(landing: LandingTable) -> None:
    """The winner commits when the loser has looked at the table, and found it as it wanted."""
    catalog = landing.catalog()
    loser, winner = landing.commits(catalog, "loser"), landing.commits(host="winner")
    catalog.before = lambda: void(winner.commit(landing.batch({0: range(10)})))
    with pytest.raises(LostRace, match="winner"):
        loser.commit(landing.batch({0: range(10)}))
    assert landing.places() == expected((0, range(10)))
    assert landing.files() == landing.referenced()


def test_writers_that_race_for_every_batch(landing: LandingTable) -> None:
    """Whoever loses starts again, as a supervisor would have it."""
    goal, lost = 60, []

    def run(host: str) -> None:
        catalog = landing.catalog()
        writer = landing.commits(catalog, host)
        while (place := next_offset(writer)) < goal:
            try:
                writer.commit(landing.batch({0: range(place, min(goal, place + 3))}))
            except LostRace as problem:
                lost.append(problem)

    threads = [threading.Thread(target=run, args=(host,)) for host in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert landing.places() == expected((0, range(goal)))
    assert lost


def next_offset(writer: TableCommits) -> int:
    state = writer.resume()
    return 0 if state is None else state.next_offsets[0]


def test_what_others_commit_in_between_is_no_hindrance(landing: LandingTable) -> None:
    catalog = landing.catalog()
    writer = landing.commits(catalog)
    writer.commit(landing.batch({0: range(5)}))
    catalog.before = lambda: append_by_hand(landing)
    writer.commit(landing.batch({0: range(5, 9)}))
    assert landing.places() == expected((0, range(9)), (OTHER, range(1, 2)))
    assert landing.files() == landing.referenced()


def test_the_mark_outlives_its_snapshot(landing: LandingTable) -> None:
    landing.commits().commit(landing.batch({0: range(5), 1: range(3)}))
    append_by_hand(landing)
    table = landing.load()
    own = table.metadata.snapshots[0].snapshot_id
    table.maintenance.expire_snapshots().by_id(own).commit()
    assert [one.snapshot_id for one in landing.load().metadata.snapshots] != [own]
    writer = landing.commits()
    assert next_offset(writer) == 5
    writer.commit(landing.batch({0: range(5, 6), 1: range(3, 4)}))
    assert landing.places() == expected((0, range(6)), (1, range(4)), (OTHER, range(1, 2)))


def roll_back(table: Table, snapshot_id: int) -> None:
    update = SetSnapshotRefUpdate(
        ref_name="main",
        type="branch",
        snapshot_id=snapshot_id,
        max_ref_age_ms=None,
        max_snapshot_age_ms=None,
        min_snapshots_to_keep=None,
    )
    table.catalog.commit_table(table, (), (update,))


def test_a_table_that_was_rolled_back_is_filled_again(landing: LandingTable) -> None:
    writer = landing.commits()
    writer.commit(landing.batch({0: range(5)}))
    writer.commit(landing.batch({0: range(5, 9)}))
    roll_back(landing.load(), landing.load().metadata.snapshots[0].snapshot_id)
    append_by_hand(landing)
    with pytest.raises(LostRace):
        writer.commit(landing.batch({0: range(9, 12)}))
    again = landing.commits()
    assert next_offset(again) == 5
    again.commit(landing.batch({0: range(5, 12)}))
    assert landing.places() == expected((0, range(12)), (OTHER, range(2, 3)))


def test_a_table_rolled_back_behind_the_writer_is_for_a_human(landing: LandingTable) -> None:
    append_by_hand(landing)
    landing.commits().commit(landing.batch({0: range(5)}))
    roll_back(landing.load(), landing.load().metadata.snapshots[0].snapshot_id)
    with pytest.raises(Terminal, match="rolled back to before the first commit of w on here"):
        landing.commits()


def test_history_and_manifests_stay_short_and_leave_nothing_behind(tmp_path: Path) -> None:
    landing = LandingTable(tmp_path)
    landing.make(
        **{"headrace.history.max-snapshots": "10", "write.metadata.previous-versions-max": "5"}
    )
    writer = landing.commits()
    number = MERGED_TOGETHER * 2 + 20
    for offset in range(number):
        writer.commit(landing.batch({0: range(offset, offset + 1)}))
    metadata = landing.load().metadata
    assert len(metadata.snapshots) == 10
    assert len(metadata.metadata_log) == 5
    head = landing.load().current_snapshot()
    assert head is not None
    # Two merged ones, and those since.
    assert len(head.manifests(landing.load().io)) <= 2 + MERGED_TOGETHER
    assert landing.places() == expected((0, range(number)))
    assert landing.files() == landing.referenced()


def test_merged_manifests_are_merged_once_more_and_never_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifests, "MERGED_TOGETHER", 4)
    monkeypatch.setattr(manifests, "FILES_MERGED", 4 * 8)
    landing = LandingTable(tmp_path)
    landing.make(**{"headrace.history.max-snapshots": "3"})
    writer = landing.commits()
    number = 4 * 4 * 5 + 7
    for offset in range(number):
        writer.commit(landing.batch({0: range(offset, offset + 1)}))
    table = landing.load()
    head = table.current_snapshot()
    assert head is not None
    found = [
        (one.added_files_count or 0) + (one.existing_files_count or 0)
        for one in head.manifests(table.io)
    ]
    assert sum(found) == number
    assert sorted(found, reverse=True) == [16] * 5 + [4] + [1] * 3
    assert landing.places() == expected((0, range(number)))
    assert landing.files() == landing.referenced()


def test_a_table_with_very_many_manifests_is_tidied_a_merge_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing = LandingTable(tmp_path)
    landing.make()
    writer = landing.commits()
    for offset in range(11):
        writer.commit(landing.batch({0: range(offset, offset + 1)}))
    monkeypatch.setattr(manifests, "MERGED_TOGETHER", 4)
    monkeypatch.setattr(manifests, "FILES_MERGED", 4 * 8)
    counts = []
    for offset in range(11, 14):
        writer.commit(landing.batch({0: range(offset, offset + 1)}))
        table = landing.load()
        head = table.current_snapshot()
        assert head is not None
        found = [one for one in head.manifests(table.io) if one.existing_files_count]
        counts.append(sorted(one.existing_files_count or 0 for one in found))
    assert counts == [[4], [4, 4], [4, 4, 4]]
    assert landing.places() == expected((0, range(14)))
    assert landing.files() == landing.referenced()


def test_what_was_let_go_is_told_from_what_is_there(tmp_path: Path) -> None:
    landing = LandingTable(tmp_path)
    landing.make(**{"headrace.history.max-snapshots": "3"})
    writer = landing.commits()
    lists = []
    for offset in range(6):
        writer.commit(landing.batch({0: range(offset, offset + 1)}))
        head = landing.load().current_snapshot()
        assert head is not None
        lists.append(head.manifest_list)
    table = landing.load()
    assert [refers_to(table, one) for one in lists] == [False] * 3 + [True] * 3
    (manifest, *_) = table.metadata.snapshots[-1].manifests(table.io)
    # As Hadoop writes a place on a disk.
    assert refers_to(table, manifest.manifest_path.replace("file://", "file:"))
    assert not refers_to(table, f"{manifest.manifest_path}.old")


AGE, FEWEST = "history.expire.max-snapshot-age-ms", "history.expire.min-snapshots-to-keep"
A_DAY, COUNT = "86400000", "headrace.history.max-snapshots"


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        # By the table's own words for the age and the number, as Iceberg's expiry would.
        ({AGE: "1", FEWEST: "5"}, 5),
        ({AGE: A_DAY, FEWEST: "1"}, 12),
        # Our own word is for the number; a snapshot goes where it is too old as well.
        ({COUNT: "3", AGE: A_DAY}, 12),
        ({COUNT: "3", FEWEST: "6"}, 6),
        # Without a word: more than the usual number for an hour, within reason.
        ({}, 8),
        ({FEWEST: "20"}, 12),
    ],
)
def test_how_much_history_stays_is_the_tables_to_say(
    said: dict[str, str], kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "USUAL", range(2, 5))
    monkeypatch.setattr(history, "MOST_YOUNG", 8)
    landing = LandingTable(tmp_path)
    landing.make(**said)
    writer = landing.commits()
    for offset in range(12):
        writer.commit(landing.batch({0: range(offset, offset + 1)}))
    assert len(landing.load().metadata.snapshots) == kept
    assert landing.files() == landing.referenced()


def test_what_is_old_goes_beyond_the_usual_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "USUAL", range(2, 5))
    monkeypatch.setattr(history, "YOUNG_MS", 0)
    landing = LandingTable(tmp_path)
    landing.make()
    writer = landing.commits()
    for offset in range(12):
        writer.commit(landing.batch({0: range(offset, offset + 1)}))
    assert len(landing.load().metadata.snapshots) == 4
    assert landing.files() == landing.referenced()


def test_a_tagged_snapshot_stays_as_it_was(tmp_path: Path) -> None:
    landing = LandingTable(tmp_path)
    landing.make(**{"headrace.history.max-snapshots": "5"})
    writer = landing.commits()
    writer.commit(landing.batch({0: range(3)}))
    table = landing.load()
    head = table.current_snapshot()
    assert head is not None
    table.manage_snapshots().create_tag(head.snapshot_id, "replay").commit()
    for offset in range(3, MERGED_TOGETHER + 10):
        writer.commit(landing.batch({0: range(offset, offset + 1)}))
    table = landing.load()
    assert len(table.metadata.snapshots) == 5 + 1
    tagged = table.scan(snapshot_id=head.snapshot_id).to_arrow()
    assert sorted(tagged["id"].to_pylist()) == [0, 1, 2]
    assert landing.referenced() <= landing.files()


def test_what_lies_before_a_deletion_is_not_the_writers_to_forget(tmp_path: Path) -> None:
    """Its files would lose their last reference, and nobody would remove them."""
    landing = LandingTable(tmp_path)
    landing.make(**{"headrace.history.max-snapshots": "4"})
    writer = landing.commits()
    writer.commit(landing.batch({0: range(1)}))
    landing.load().delete("id = 0")
    for offset in range(1, 10):
        writer.commit(landing.batch({0: range(offset, offset + 1)}))
    assert landing.files() == landing.referenced()
    operations = [
        one.summary.operation.value for one in landing.load().metadata.snapshots if one.summary
    ]
    assert operations[:2] == ["append", "delete"]


def test_a_topic_is_not_taken_for_another(landing: LandingTable) -> None:
    landing.commits().commit(landing.batch({0: range(5)}))
    identity = Identity("w", "another", "here", 1, "")
    other = TableCommits(landing.load, "lake.tv.events", identity)
    with pytest.raises(
        Terminal,
        match=r"w has landed topic events in lake\.tv\.events, but its file now names topic",
    ):
        other.resume()


def test_a_topic_that_was_made_anew_is_another(landing: LandingTable) -> None:
    # A commit state of before the ids were kept says nothing of which topic it was.
    landing.commits().commit(landing.batch({0: range(5)}))
    writer = landing.commits()
    writer.resume("one")
    writer.commit(landing.batch({0: range(5, 9)}))
    landing.commits().resume("one")
    with pytest.raises(TopicRecreated, match="topic events was deleted and re-created"):
        landing.commits().resume("other")
    assert len(landing.places()) == 9


def test_what_was_lost_on_the_way_is_kept_with_the_commit_that_goes_past_it(
    landing: LandingTable,
) -> None:
    catalog = landing.catalog()
    writer = landing.commits(catalog)
    writer.commit(landing.batch({0: range(5)}))
    late = TableBatch([landing.file(0, range(8, 9))], {0: 5}, {0: 9}, {0: range(5, 8)})
    # Somebody's commit comes first; the second attempt tells of the loss once.
    catalog.before = lambda: landing.load().append(rows(landing.load(), "x", 0, [1]))
    writer.commit(late)
    writer.commit(TableBatch([], {0: 9}, {0: 12}, {0: range(9, 12)}))
    said = landing.load().properties[losses_property("w")]
    assert losses_of(said) == {0: [range(5, 8), range(9, 12)]}
    state = landing.commits().resume()
    assert state is not None
    assert state.next_offsets == {0: 12}


def void(_value: object) -> None:
    """Take what a callback has no use for."""

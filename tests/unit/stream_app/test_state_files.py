"""Which versions of a state are there, by names as Spark gives them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_app.rewind.state_files import QueryState, Store, belongs_to_later

VERSIONS = st.frozensets(st.integers(1, 12), max_size=12)
ID = "0c8e4b69-5d68-47f8-92e7-5d01b01cfb85"


@given(whole=VERSIONS, changes=VERSIONS, version=st.integers(0, 13))
def test_a_version_is_whole_or_a_change_to_one_that_is_there(
    whole: frozenset[int], changes: frozenset[int], version: int
) -> None:
    def is_there(one: int) -> bool:
        return one == 0 or one in whole or (one in changes and is_there(one - 1))

    store = Store("it", Path("nowhere"), whole, changes)
    assert (store.missing(version) is None) == is_there(version)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def operator(state: Path, *files: str, stores: tuple[str, ...] = ("default",)) -> QueryState:
    """Make the state of one operator with two partitions."""
    said = {
        "operatorInfo": {"operatorId": 0, "operatorName": "join"},
        "stateStoreInfo": [{"storeName": one, "numPartitions": 2} for one in stores],
    }
    for name in ("0/_metadata/metadata", *files):
        (state / name).parent.mkdir(parents=True, exist_ok=True)
        (state / name).touch()
    (state / "0/_metadata/metadata").write_text(f"v1\n{json.dumps(said)}")
    return QueryState(state)


def test_every_partition_and_every_store_is_looked_at(folder: Path) -> None:
    files = [f"0/{part}/left/{one}.delta" for part in (0, 1) for one in (1, 2)]
    files += [f"0/{part}/right/{one}.delta" for part in (0, 1) for one in (1, 2)]
    assert operator(folder, *files, stores=("left", "right")).missing(1) is None
    (folder / "0/1/right/1.delta").unlink()
    told = "the state of operator 0 (join), partition 1, right lacks the change to version 1"
    assert QueryState(folder).missing(1) == told
    (folder / "0/1/right/2.snapshot").touch()
    assert QueryState(folder).missing(1) is None
    assert QueryState(folder).missing(0) == told


def test_checksums_of_a_file_are_not_the_file(folder: Path) -> None:
    state = operator(folder, "0/0/1.delta", "0/1/.1.delta.crc", "0/1/1.delta.crc")
    told = state.missing(0)
    assert told is not None
    assert "partition 1 lacks" in told


def test_a_zip_of_rocksdb_needs_the_files_that_it_names(folder: Path) -> None:
    state = operator(folder, f"0/0/1_{ID}.changelog", f"0/0/2_{ID}.changelog", "0/1/SSTs/a.sst")
    with zipfile.ZipFile(folder / "0/1/2.zip", "w") as zipped:
        names = {"sstFiles": [{"dfsSstFileName": "a.sst", "sizeBytes": 3}]}
        zipped.writestr("metadata", f"v1\n{json.dumps(names)}")
    (folder / "0/1/SSTs/a.sst").write_bytes(b"abc")
    assert state.missing(1) is None
    (folder / "0/1/SSTs/a.sst").write_bytes(b"ab")
    told = QueryState(folder).missing(1)
    assert told is not None
    assert told.endswith("partition 1 lacks the file SSTs/a.sst")
    (folder / "0/1/2.zip").write_bytes(b"no zip")
    told = QueryState(folder).missing(1)
    assert told is not None
    assert told.endswith("lacks the file 2.zip")


@pytest.mark.parametrize(
    ("name", "later"),
    [
        ("0/0/8.delta", False),
        ("0/0/9.delta", True),
        ("0/0/.9.delta.crc.crc", True),
        ("0/0/left-keyToNumValues/10.snapshot", True),
        (f"0/0/9_{ID}.changelog", True),
        (f"0/0/8_{ID}.zip", False),
        ("0/0/SSTs/000023-24ee15ce.sst", False),
        ("0/0/_metadata/schema", False),
        ("0/_metadata/metadata", False),
        ("0/_metadata/v2/7", False),
        ("0/_metadata/v2/8", True),
        ("0/_metadata/v2/.8.crc", True),
        (f"0/_stateSchema/default/8_{ID}", False),
    ],
)
def test_what_is_of_a_later_batch_than_the_seventh(folder: Path, name: str, later: bool) -> None:
    assert belongs_to_later(folder / "state" / name, 7) == later

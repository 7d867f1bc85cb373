from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from tests.side_by_side import LONGEST, MOST, THREE_BROKERS, longest_first, processes, room_of

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_what_comes_first_is_there() -> None:
    assert [file for file in LONGEST if not (ROOT / file).is_file()] == []
    assert set(THREE_BROKERS) <= set(LONGEST)


def test_all_who_share_the_three_brokers_are_in_one_room() -> None:
    using = {
        f"tests/faults/{file.name}"
        for file in (ROOT / "tests" / "faults").glob("test_*.py")
        if "brokers: BrokerCluster" in file.read_text(encoding="utf-8")
    }
    assert using == set(THREE_BROKERS)
    assert {room_of(f"{file}::test") for file in using} == {"three brokers"}
    assert room_of("tests/unit/a.py::T::test[a::b]") == "tests/unit/a.py"


def test_what_takes_long_begins_and_the_rest_stays_in_order() -> None:
    names = ["tests/a.py::one", f"{LONGEST[1]}::one", "tests/b.py::one", f"{LONGEST[0]}::two"]
    items = [SimpleNamespace(nodeid=name) for name in names]
    longest_first(cast("list[pytest.Item]", items))
    assert [one.nodeid for one in items] == [names[3], names[1], names[0], names[2]]


def test_there_are_as_many_processes_as_cores_and_memory_carry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machines = ((1, 8, 2), (2, 24, MOST), (64, 256, MOST), (2, 8, 2), (8, 12, MOST), (1, 2, 1))
    for cores, gibibytes, wanted in machines:
        memory = SimpleNamespace(total=gibibytes * 2**30)
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        monkeypatch.setattr("psutil.virtual_memory", lambda memory=memory: memory)
        assert processes() == wanted

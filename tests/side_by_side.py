"""How `make test` spreads the tests over processes: files that take long first, rooms as a whole.

What of it is wrong after a change costs time and no result: any test runs in any process.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import psutil
from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    import pytest

# Each process has a broker and a Spark session of its own, and a good part of its time it waits.
FOR_A_CORE: Final = 2
MOST: Final = 4
# These two, the process itself, a search node, and what a test starts besides.
BYTES_EACH: Final = 3 * 2**30
# These share three brokers, which take half a minute of work to start.
THREE_BROKERS: Final = (
    "tests/faults/test_followers.py",
    "tests/faults/test_truncation.py",
    "tests/faults/test_quarantine_topic.py",
)
# Half a minute or more each; whoever comes last keeps everybody waiting. The longest first.
LONGEST: Final = (
    "tests/end_to_end/test_no_secret_gets_out.py",
    *THREE_BROKERS,
    "tests/end_to_end/test_up.py",
    "tests/faults/test_hosts.py",
    "tests/faults/test_dev_stack.py",
    "tests/faults/test_router_kills.py",
    "tests/integration/test_class_archive.py",
    "tests/integration/app/test_examples.py",
    "tests/faults/test_lake_writer_kills.py",
    "tests/faults/test_fleet_kills.py",
    "tests/end_to_end/test_init.py",
    "tests/integration/lake_writer/test_stores.py",
    "tests/integration/app/test_cdc_example.py",
    "tests/integration/app/test_ahead.py",
    "tests/end_to_end/test_many_topics.py",
    "tests/end_to_end/test_control_room.py",
    "tests/end_to_end/test_http.py",
)


class Rooms(LoadScopeScheduling):  # type: ignore[misc]  # it ships no types
    """Gives a file of tests to one process, and those that share what is expensive with it."""

    def _split_scope(self, nodeid: str) -> str:
        return room_of(nodeid)


def room_of(nodeid: str) -> str:
    """Return what is given to one process as a whole: a file, or several that share much."""
    file = file_of(nodeid)
    return "three brokers" if file in THREE_BROKERS else file


def file_of(nodeid: str) -> str:
    """Return the file of a test."""
    return nodeid.partition("::")[0]


def longest_first(items: list[pytest.Item]) -> None:
    """Put the tests of the files that take long at the beginning; the others stay in order."""
    rank = {file: number for number, file in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(file_of(item.nodeid), len(rank)))


def processes() -> int:
    """Return how many processes do best on this machine."""
    by_memory: int = psutil.virtual_memory().total // BYTES_EACH
    return max(1, min(MOST, FOR_A_CORE * (os.cpu_count() or 1), by_memory))

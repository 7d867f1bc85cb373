"""`python -m benchmarks.poison`: what a megabyte of each poison costs."""

from __future__ import annotations

import argparse
import gc
import sys
import time
from typing import TYPE_CHECKING, Final

from benchmarks.poisons import avro_records, expressions, headers, hygiene, json_records

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.poisons.model import Poison

MB: Final = 1_000_000
WARM_BYTES: Final = 1000
POISONS: Final[tuple[Poison, ...]] = (
    *json_records.POISONS,
    *headers.POISONS,
    *hygiene.POISONS,
    *expressions.POISONS,
    *avro_records.POISONS,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the milliseconds of CPU for each; 1 where one takes more than it may."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.poison", description=__doc__)
    parser.add_argument("--bytes", type=int, default=MB, help=f"of each poison [{MB}]")
    parser.add_argument("--most-ms", type=float, default=100.0, help="a poison may take [100]")
    parser.add_argument("--only", default="", help="poisons whose name has this in it")
    given = parser.parse_args(arguments)
    slow = 0
    for one in POISONS:
        if given.only in one.name:
            took = cpu_ms(one, given.bytes)
            slow += took > given.most_ms
            print(f"{took:10.1f} ms  {one.name}", flush=True)
    return 1 if slow else 0


def cpu_ms(poison: Poison, size: int) -> float:
    """Return the milliseconds of CPU for one poison of that size."""
    # What is imported or compiled for the first of all records is not this one's.
    poison.run(poison.make(min(size, WARM_BYTES)))
    value = poison.make(size)
    # As in the tasks of router and lake writer, whose records hold no cycles.
    gc.disable()
    started = time.process_time_ns()
    poison.run(value)
    took_ns = time.process_time_ns() - started
    gc.enable()
    return took_ns / 1e6


if __name__ == "__main__":
    sys.exit(main())

"""Many streams in one `headrace up`: `python -m benchmarks.fleet --streams 500`.

A workspace with so many streams over one broker, each with topics of its own. What is measured, and
printed: how long `validate` and `ls` take; until all files are at work, at first and again; what an
idle fleet takes; with records in all streams, how old each is when a reader gets it that reads what
is committed, and what all takes then; how soon a file that is new or changed is in effect. At the
end each record is counted: none is lost, none is there twice.

With `--backlog N` one more stream is added that has N records, and the ages of the others are
printed from before and from meanwhile; with `--faults` one that writes to a cluster that is away,
and one whose file is broken.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.arena import console_script
from benchmarks.fleet_ground import START_LIMIT_S, Fleet, Up
from benchmarks.fleet_load import Reader, Traffic
from benchmarks.fleet_usage import Meter
from headrace.embedded.broker import Broker, BrokerOptions
from headrace.embedded.process import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

BROKER_HEAP_MB = 1024
PHASES = ("files", "idle", "load", "change", "backlog", "again")
SETTLE_S = 15.0
SETTLE_ROUNDS = 12


def main() -> None:
    """Measure and report."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--streams", type=int, default=500)
    asked.add_argument("--trigger", type=float, default=1, help="seconds between two batches")
    asked.add_argument("--per-second", type=float, default=20, help="records a stream")
    asked.add_argument("--seconds", type=float, default=60, help="how long each state is looked at")
    asked.add_argument("--partitions", type=int, default=1, help="of each topic")
    asked.add_argument(
        "--backlog", type=int, default=0, help="records of the stream that is behind"
    )
    asked.add_argument("--faults", action="store_true", help="add streams that fail")
    asked.add_argument("--phases", default=",".join(PHASES))
    asked.add_argument("--pid-file", type=Path, help="for profilers: the pid of headrace up")
    given = asked.parse_args()
    # Whoever ends it early leaves nothing behind either.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        options = BrokerOptions(heap_mb=BROKER_HEAP_MB, partitions=given.partitions)
        with Broker(root / "broker", options) as broker:
            measure(root, broker, given)


def measure(root: Path, broker: Broker, given: argparse.Namespace) -> None:
    """Go through the phases that were asked for."""
    phases = given.phases.split(",")
    fleet = Fleet(
        root / "ws", broker.bootstrap_servers, given.streams, given.trigger, given.partitions
    )
    fleet.make()
    say(f"{given.streams} streams, trigger {given.trigger:g} s")
    if "files" in phases:
        for command in ("validate", "ls"):
            say(f"{command}: {timed(fleet, command)}")
    ran = [one for one in phases if one not in {"files", "again"}]
    if ran:
        with Up(fleet, root / "up.log") as up:
            if given.pid_file:
                given.pid_file.write_text(str(up.pid))
            say(f"ready, the first time: {ready(up, broker)}")
            run(fleet, up, broker, given, ran)
            say(f"stopped in {up.stop():.1f} s")
    if "again" in phases:
        with Up(fleet, root / "again.log") as up:
            say(f"ready, again: {ready(up, broker)}")
            up.stop()


def ready(up: Up, broker: Broker) -> str:
    """Wait until all files are at work; return what that took."""
    meter = Meter(up.pid, broker.pid)
    took_s, facts = up.ready()
    cpu_s = meter.read().cpu_s
    busy = os.getloadavg()[0]
    return f"{took_s:.1f} s, {cpu_s:.1f} s of CPU ({facts['files']} files; load average {busy:.1f})"


def run(fleet: Fleet, up: Up, broker: Broker, given: argparse.Namespace, phases: list[str]) -> None:
    """Measure a fleet that is at work."""
    if "idle" in phases:
        time.sleep(SETTLE_S)
        meter = Meter(up.pid, broker.pid)
        time.sleep(given.seconds)
        say(f"idle: {meter.read()}")
    if not {"load", "change", "backlog"} & set(phases):
        return
    late = ["late", "away", "spoilt"]
    fleet.make_topics("added", *late)
    names = [*fleet.names, "added", *late]
    servers = broker.bootstrap_servers
    reader = Reader(servers, names, fleet.partitions)
    with reader:
        with Traffic(servers, fleet.names, given.per_second) as traffic:
            loaded(fleet, up, broker, given, reader)
            if "change" in phases:
                change(fleet, reader, traffic)
            if "backlog" in phases and given.backlog:
                backlog(fleet, reader, traffic, given)
        wait_until(lambda: reader.read >= traffic.sent.total(), START_LIMIT_S / 5)
    lost, doubled = reader.flaws(traffic.sent)
    say(f"counted: {reader.read:,} of {traffic.sent.total():,}, lost {lost}, doubled {doubled}")


def loaded(fleet: Fleet, up: Up, broker: Broker, given: argparse.Namespace, reader: Reader) -> None:
    """Wait until records come from all streams, then measure."""
    began_s = time.monotonic()
    wait_until(lambda: all(reader.ids[name] for name in fleet.names), START_LIMIT_S)
    say(f"first records of all streams after {time.monotonic() - began_s:.1f} s")
    # What came while the first producers were made is behind it by then.
    for _ in range(SETTLE_ROUNDS):
        reader.begin()
        time.sleep(SETTLE_S)
        if reader.oldest_s < 3 * given.trigger + 1:
            break
    meter = Meter(up.pid, broker.pid)
    reader.begin()
    time.sleep(given.seconds)
    say(f"loaded: {reader.quantiles()}")
    say(f"loaded: {meter.read()}")


def change(fleet: Fleet, reader: Reader, traffic: Traffic) -> None:
    """Change one stream, and add another."""
    reader.begin()
    changed = fleet.names[0]
    took = until(
        lambda: fleet.write(changed, "id, id + 1 AS following"),
        lambda: "following" in reader.newest.get(changed, {}),
    )
    say(f"changed: in effect, and read, after {took:.1f} s; others: {reader.quantiles()}")
    traffic.send("added", 1)
    reader.begin()
    took = until(lambda: fleet.write("added"), lambda: bool(reader.ids["added"]))
    say(f"added: in effect, and read, after {took:.1f} s; others: {reader.quantiles()}")


def backlog(fleet: Fleet, reader: Reader, traffic: Traffic, given: argparse.Namespace) -> None:
    """Add a stream that is far behind, and some that fail."""
    traffic.send("late", given.backlog)
    traffic.flush()
    time.sleep(SETTLE_S)
    reader.begin()
    time.sleep(given.seconds)
    say(f"before the backlog: {reader.quantiles()}")
    if given.faults:
        fleet.write("away", target="nowhere")
        fleet.write("spoilt", columns="no_such_column")
    reader.begin()
    reader.ignored = "late"
    fleet.write("late")
    began_s = time.monotonic()
    wait_until(lambda: len(reader.ids["late"]) >= given.backlog, START_LIMIT_S)
    took_s = time.monotonic() - began_s
    say(f"a backlog of {given.backlog:,} in {took_s:.1f} s; others: {reader.quantiles()}")


def until(do: Callable[[], object], condition: Callable[[], bool]) -> float:
    """Do something, and return how long it took until something is so."""
    began_s = time.monotonic()
    do()
    wait_until(condition, START_LIMIT_S / 10)
    return time.monotonic() - began_s


def timed(fleet: Fleet, command: str) -> str:
    """Return what a command takes."""
    began_s = time.monotonic()
    process = subprocess.Popen(
        [console_script("headrace"), command], cwd=fleet.root, stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    took_s = time.monotonic() - began_s
    facts = {"exit": os.waitstatus_to_exitcode(status)}
    return f"{took_s:.2f} s, {used.ru_utime + used.ru_stime:.2f} s of CPU {json.dumps(facts)}"


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


if __name__ == "__main__":
    main()

"""A fleet for hours, disturbed at random: `python -m benchmarks.soak --streams 200 --hours 6`.

`headrace up` runs streams and tables over one broker, with records in all of them. Every so often
something happens: it or one of its workers is killed, it is restarted, a file is edited, a topic
gets a partition more, a stream is added with its topics, or one that was added is removed with
them. At the end each record is counted in each output and table, and all are audited. `--picture`
draws the memory over time. Exit code 1 means that a record is lost or there twice, or that an
audit has found something.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from benchmarks.fleet_ground import Fleet, Up
from benchmarks.fleet_usage import Meter
from benchmarks.memory_picture import Sample, as_svg
from benchmarks.soak_ground import Ground, Records
from headrace.embedded.broker import Broker, BrokerOptions
from headrace.embedded.process import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

BROKER_HEAP_MB = 1024
LOOK_EVERY_S = 15.0
LIMIT_S = 900.0
COUNT_EVERY_S = 3.0
TRIGGER_S = 2.0
# How often each happens, compared with the others.
OFTEN = {"kill": 3, "kill a worker": 3, "restart": 1, "edit": 6, "widen": 2, "add": 2, "remove": 2}


def main() -> None:
    """Disturb it for as long as was asked for, then count."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--streams", type=int, default=200)
    asked.add_argument("--tables", type=int, default=10)
    asked.add_argument("--hours", type=float, default=6)
    asked.add_argument("--per-second", type=int, default=2, help="records a stream")
    asked.add_argument("--every", type=float, default=30, help="seconds between two disturbances")
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--picture", type=Path, help="where the memory over time is drawn")
    given = asked.parse_args()
    # Whoever ends it early leaves nothing behind either.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with Broker(root / "broker", BrokerOptions(heap_mb=BROKER_HEAP_MB, partitions=1)) as broker:
            fleet = Fleet(root / "ws", broker.bootstrap_servers, given.streams, TRIGGER_S)
            soak = Soak(Ground(fleet, given.tables), broker, root, given)
            is_sound = soak.run()
    sys.exit(0 if is_sound else 1)


class Soak:
    """One run: what is done to the fleet, and what it takes meanwhile."""

    def __init__(
        self, ground: Ground, broker: Broker, root: Path, given: argparse.Namespace
    ) -> None:
        self._ground = ground
        self._broker = broker
        self._root = root
        self._given = given
        self._chance = random.Random(given.seed)  # noqa: S311 - a run that can be repeated
        self._records = Records(ground, given.per_second)
        self._done: Counter[str] = Counter()
        self._added: list[str] = []
        self._gone = 0
        self._ups = 0
        self._samples: list[Sample] = []
        self._held = contextlib.ExitStack()

    def run(self) -> bool:
        """Return whether all is there, once."""
        self._ground.make()
        self._began_s = time.monotonic()
        with self._held, self._records:
            self._up = self._start()
            self._up.ready()
            self._say(f"{len(self._ground.streams)} streams are at work")
            self._disturb(time.monotonic() + self._given.hours * 3600)
            self._records.end()
            is_sound = self._count()
            self._say(f"stopped in {self._up.stop():.1f} s")
        if self._given.picture:
            text = as_svg(f"{self._given.streams} streams, disturbed at random", self._samples)
            self._given.picture.write_text(text, encoding="utf-8")
        return is_sound

    def _disturb(self, until_s: float) -> None:
        does: dict[str, Callable[[], str]] = {
            "kill": self._kill,
            "kill a worker": self._kill_worker,
            "restart": self._restart,
            "edit": self._edit,
            "widen": self._widen,
            "add": self._add,
            "remove": self._remove,
        }
        next_s = time.monotonic()
        while time.monotonic() < until_s:
            next_s += self._chance.expovariate(1 / self._given.every)
            while time.monotonic() < min(next_s, until_s):
                self._look()
                left_s = min(next_s, until_s) - time.monotonic()
                time.sleep(max(0.0, min(LOOK_EVERY_S, left_s)))
            (what,) = self._chance.choices(list(OFTEN), list(OFTEN.values()))
            said = does[what]()
            self._done[what] += bool(said)
            if said:
                self._samples.append(Sample(self._at_s(), {}, said))
                self._say(said)

    def _look(self) -> None:
        with contextlib.suppress(psutil.Error, OSError):
            used = Meter(self._up.pid, self._broker.pid).read()
            self._samples.append(Sample(self._at_s(), used.parts_mb, ""))

    def _start(self) -> Up:
        self._ups += 1
        return self._held.enter_context(Up(self._ground.fleet, self._root / f"up{self._ups}.log"))

    def _kill(self) -> str:
        started = psutil.Process(self._up.pid).children(recursive=True)
        self._up.kill()
        self._up = self._start()
        psutil.wait_procs(started, LIMIT_S)
        return "killed headrace up"

    def _kill_worker(self) -> str:
        with contextlib.suppress(psutil.Error):
            found = psutil.Process(self._up.pid).children(recursive=True)
            workers = [one for one in found if "headrace.jvm.python_workers" in one.cmdline()]
            if workers:
                self._chance.choice(workers).kill()
                return "killed a worker"
        return ""

    def _restart(self) -> str:
        took_s = self._up.stop()
        self._up = self._start()
        return f"restarted, drained in {took_s:.1f} s"

    def _edit(self) -> str:
        name = self._chance.choice(self._ground.streams)
        self._ground.edit(name)
        return f"edited {name}"

    def _widen(self) -> str:
        name = self._chance.choice(self._ground.fleet.names)
        return f"{name}.in has {self._ground.widen(name)} partitions"

    def _add(self) -> str:
        name = self._ground.add()
        self._added.append(name)
        self._records.add(name)
        return f"added {name}"

    def _remove(self) -> str:
        if not self._added:
            return ""
        self._up.ready()
        name = self._added.pop(self._chance.randrange(len(self._added)))
        self._records.drop(name)
        if not self._is_whole([name]):
            self._say(f"removed {name}: {self._ground.flaws(self._records.sent, [name])}")
            raise SystemExit(1)
        self._ground.remove(name)
        wait_until(lambda: self._has_left(name), LIMIT_S)
        self._ground.delete_topics(name)
        self._gone += self._records.sent.pop(name)
        return f"removed {name}, which was whole"

    def _has_left(self, name: str) -> bool:
        said = self._up.said()
        return any(one.get("event") == "stopping" and one.get("name") == name for one in said)

    def _is_whole(self, names: list[str]) -> bool:
        until_s = time.monotonic() + LIMIT_S
        while self._ground.flaws(self._records.sent, names):
            if time.monotonic() > until_s:
                return False
            time.sleep(COUNT_EVERY_S)
        return True

    def _count(self) -> bool:
        self._is_whole(list(self._ground.streams))
        sent = self._records.sent
        flaws = self._ground.flaws(sent, self._ground.streams)
        lost, doubled = (sum(one[at] for one in flaws.values()) for at in (0, 1))
        findings = self._ground.findings()
        happened = ", ".join(f"{what} {times}" for what, times in sorted(self._done.items()))
        self._say(f"what happened: {happened}")
        self._say(
            f"{sent.total() + self._gone:,} records to {len(self._ground.streams)} streams,"
            f" {len(self._ground.tables)} tables and {self._done['remove']} that are gone:"
            f" lost {lost}, doubled {doubled}; audits that found something: {len(findings)}"
        )
        for one in [*flaws, *findings]:
            self._say(one)
        return not flaws and not findings

    def _at_s(self) -> float:
        return time.monotonic() - self._began_s

    def _say(self, text: str) -> None:
        print(f"{self._at_s():7.0f} s  {text}", flush=True)


if __name__ == "__main__":
    main()

"""A day of the playback example, replayed by the command: `python -m benchmarks.a_day_replayed`.

A thousandth of a billion events is spread over 24 hours by the example's own generator, sent to a
broker and landed by `lake-writer start --once`, with a commit for every so many minutes of the
day. Then each application of the example is run over that day by `backfill replay -c`, and its
result is held against one that is computed in plain Python. As many events in one hour, of as many
more users, and next to none in one hour, tell what an event and a step cost. Only replays are
measured; what a billion events would take is extrapolated from that, and said to be so.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
from bisect import bisect_left, bisect_right
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow.compute as pc

from benchmarks.arena import PARTITIONS, console_script
from benchmarks.checks import require
from benchmarks.extrapolated import A_BILLION, DAY_HOURS, EVENTS_OF_A_PLAY, Past, Replayed, report
from benchmarks.machine import machine
from benchmarks.measure import ROOT, Command, measure
from headrace.config.load import load_workspace
from headrace.embedded.broker import Broker, BrokerOptions
from headrace.iceberg.catalog import table_loader

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLE: Final = ROOT / "examples" / "playback"
APPS: Final = ("sessions", "rmi")
TOPICS: Final = ("playback", "impressions")
HOUR_MS: Final = 3_600_000
PLAYS_OF_A_USER: Final = 5
FEW_PLAYS: Final = 100
LIMIT_S: Final = 3_600.0
RUN_ID: Final = "day"


def main() -> None:
    """Measure and report."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--events", type=int, default=A_BILLION // 1_000)
    asked.add_argument("--commit-minutes", type=int, default=15, help="of the day, in a commit")
    asked.add_argument("--app", choices=APPS, action="append", help="only this one")
    given = asked.parse_args()
    plays = round(given.events / EVENTS_OF_A_PLAY)
    users = plays // PLAYS_OF_A_USER
    pasts = (
        Past("a-day", DAY_HOURS, plays, users),
        Past("an-hour", 1, plays, users * DAY_HOURS),
        Past("an-idle-hour", 1, FEW_PLAYS, users * DAY_HOURS),
    )
    found: dict[str, list[Replayed]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for past in pasts:
            for replayed in over(Path(folder) / past.name, past, given):
                print(replayed.shown(), flush=True)
                found[replayed.app].append(replayed)
    facts = {app: report(app, *of) for app, of in found.items()}
    print(json.dumps({"machine": machine(), **facts}))


def over(root: Path, past: Past, given: argparse.Namespace) -> Iterator[Replayed]:
    """Make a past, land it, replay each application over it."""
    shutil.copytree(EXAMPLE, root, ignore=shutil.ignore_patterns(".*", "events"))
    with Broker(root / "broker", BrokerOptions(partitions=PARTITIONS)) as broker:
        settings = root / "headrace.yaml"
        text = settings.read_text(encoding="utf-8")
        settings.write_text(text.replace("127.0.0.1:9092", broker.bootstrap_servers))
        made = land(root, past, given.commit_minutes)
        for app in given.app or APPS:
            yield replay(root, past, app, expected(made, app))


def land(root: Path, past: Past, commit_minutes: int) -> Path:
    """Generate, send and land; returns where the records lie as JSON Lines."""
    made = root / "events"
    say(f"generating {past.events:,} events of {past.hours} h")
    words = ["--hours", past.hours, "--plays-per-hour", past.plays // past.hours]
    words += ["--users", past.users, "--titles", 2_000, "--to", made]
    run(root, sys.executable, "generate.py", *words)
    for topic in TOPICS:
        say(f"landing {topic}")
        to = ["--envelope", "--cluster", "consumer", "--topic", topic]
        run(root, console_script("headrace"), "produce", made / f"{topic}.jsonl", *to)
        table = root / "tables" / f"{topic}.yaml"
        rows = past.plays * (1 if topic == "playback" else EVENTS_OF_A_PLAY - 1)
        commits = max(1, past.hours * 60 // commit_minutes)
        with table.open("a", encoding="utf-8") as file:
            file.write(f"batch: {{max_rows: {math.ceil(rows / commits)}}}\n")
        run(root, console_script("lake-writer"), "start", "-c", table, "--once")
    return made


def replay(root: Path, past: Past, app: str, rows_expected: int) -> Replayed:
    """Run an application over the past, and look at what came out."""
    say(f"replaying {app} over {past.hours} h")
    run_id = f"{RUN_ID}-{app}"
    period = ["--start-ts", "2026-03-01T00:00", "--end-ts", f"2026-03-0{1 + past.hours // 24}"]
    period[-1] += f"T{past.hours % 24:02d}:00"
    argv = [console_script("backfill"), "replay", "-c", f"apps/{app}.yaml", *period]
    argv += [
        "--warmup",
        "75min",
        "--cooldown",
        "4h",
        "--stage",
        "--run-id",
        run_id,
        "--workspace",
        str(root),
    ]
    command = Command([*argv, "-o", "json"], root)
    measured = measure(command, LIMIT_S)
    rows = rows_of(root, app, f"{app}__{run_id}".replace("-", "_"))
    require(f"{app}, {past.name}", rows, rows_expected)
    state = root / ".headrace" / "state" / "backfill" / run_id
    work_s = batches_s(state / "checkpoint")
    return Replayed(past, app, measured, work_s, int(json.loads(measured.stdout)["steps"]), rows)


def batches_s(checkpoint: Path) -> float:
    """Return how long a query has run. Of its batches Spark keeps the last hundred only."""
    ended = max(file.stat().st_mtime for file in (checkpoint / "commits").glob("[0-9]*"))
    return ended - (checkpoint / "metadata").stat().st_mtime


def rows_of(root: Path, app: str, table: str) -> int:
    """Return what is counted of a result: the pairs, or the plays in all sessions."""
    scan = table_loader(load_workspace(root), f"lake.playback.{table}")().scan()
    if app == "rmi":
        return int(scan.count())
    return int(pc.sum(scan.select("events").to_arrow()["events"]).as_py())


def expected(made: Path, app: str) -> int:
    """Return what is to be counted, computed without Spark from what was generated."""
    plays = [one for one in values(made / "playback.jsonl") if one["event_id"] != "last"]
    if app == "sessions":
        return len(plays)
    shown = defaultdict(list)
    for one in values(made / "impressions.jsonl"):
        shown[one["user_id"], one["title_id"]].append(one["event_ts"])
    for times in shown.values():
        times.sort()
    pairs = 0
    for one in plays:
        times, at = shown[one["user_id"], one["title_id"]], one["event_ts"]
        pairs += bisect_right(times, at) - bisect_left(times, at - HOUR_MS)
    return pairs


def values(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the values of a file of envelopes."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)["value"]


def run(root: Path, *words: object) -> None:
    """Run a command to its end; what it says is for when it fails."""
    done = subprocess.run(
        [str(word) for word in words], cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{words[0]} ended with {done.returncode}: {done.stderr[-2_000:]}")


def say(what: str) -> None:
    """Say on stderr what is being done."""
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

"""Redpanda Connect as a router, where there is Go to build it: modules locked by their hashes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.arena import RAW_TOPIC
from benchmarks.measure import Command
from benchmarks.model import LeftOut
from benchmarks.routing import new_target, routing_run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.arena import Arena
    from benchmarks.model import Run

SOURCE = Path(__file__).with_name("peers") / "redpanda"
# The first build compiles some hundred modules; later ones find them in Go's own cache.
BUILD_LIMIT_S = 900.0
# A process has no more, as every JVM here; and no other version of Go is fetched for it.
MEMORY = {"GOMEMLIMIT": "2GiB"}
BUILD = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -buildvcs=false"}
# One for each core, as everybody else here has them.
THREADS = 2
MAPPING = """\
root = if this.event_type == "start" {
  {
    "event_id": this.event_id,
    "user_id": this.user_id,
    "title_id": this.title_id,
    "event_ts": this.event_ts,
    "country": this.country.uppercase()
  }
} else {
  deleted()
}
"""
# Batches as large on the way in as on the way out, as the input's documentation asks for.
ORDERED: Final = (
    {"fetch_max_wait": "50ms", "max_yield_batch_bytes": "2MB", "partition_buffer_bytes": "8MB"},
    {"max_in_flight": 8, "max_message_bytes": "2MB"},
)
UNORDERED: Final = (
    {
        "fetch_max_wait": "200ms",
        "unordered_processing": {
            "enabled": True,
            "checkpoint_limit": 100_000,
            "batching": {"count": 5000, "period": "50ms"},
        },
    },
    {"max_in_flight": 4, "max_message_bytes": "1MB"},
)


def redpanda_connect(arena: Arena, folder: Path) -> Run:
    """Prepare Redpanda Connect that keeps the order of each partition."""
    read, written = ORDERED
    return _redpanda(arena, folder, read, written, {})


def unordered_redpanda_connect(arena: Arena, folder: Path) -> Run:
    """Prepare the fastest that it can: no order, and fewer collections of garbage."""
    read, written = UNORDERED
    return _redpanda(arena, folder, read, written, {"GOGC": "400"})


def _redpanda(
    arena: Arena,
    folder: Path,
    read: Mapping[str, object],
    written: Mapping[str, object],
    environment: Mapping[str, str],
) -> Run:
    program = _built(arena)
    target = new_target(arena, folder)
    brokers = [arena.bootstrap_servers]
    config = {
        "http": {"enabled": False},
        "logger": {"level": "WARN"},
        "metrics": {"none": {}},
        "input": {
            "redpanda": {
                "seed_brokers": brokers,
                "topics": [RAW_TOPIC],
                "consumer_group": folder.name,
                "start_offset": "earliest",
                **read,
            }
        },
        "pipeline": {"threads": THREADS, "processors": [{"mapping": MAPPING}]},
        "output": {
            "redpanda": {
                "seed_brokers": brokers,
                "topic": target,
                "key": "${! this.user_id }",
                "compression": "lz4",
                **written,
            }
        },
    }
    file = folder / "route.yaml"
    # JSON is YAML, too.
    file.write_text(json.dumps(config, indent=2), encoding="utf-8")
    argv = [str(program), "run", str(file)]
    command = Command(argv, folder, {**MEMORY, **environment}, endless=True)
    return routing_run(arena, target, command)


def _built(arena: Arena) -> Path:
    """Build the program once for all rounds."""
    target = arena.root / "redpanda-connect"
    if target.exists():
        return target
    go = shutil.which("go")
    if go is None:
        raise LeftOut("there is no go on the PATH, which it is built with")
    arena.say("building Redpanda Connect (the first time some minutes)")
    try:
        done = subprocess.run(
            [go, "build", "-o", str(target), "."],
            cwd=SOURCE,
            env={**os.environ, **BUILD},
            capture_output=True,
            text=True,
            check=False,
            timeout=BUILD_LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        raise LeftOut(f"it was not built within {BUILD_LIMIT_S:.0f} s") from None
    if done.returncode:
        last = (done.stderr.strip() or "go says nothing").splitlines()[-1]
        raise LeftOut(f"it cannot be built here: {last}")
    return target

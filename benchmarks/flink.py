"""Flink with Iceberg's source: the talks' own engine, its splits in the order of a column."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Command
from headrace.config.load import load_workspace
from headrace.contract import INGESTION_TS
from headrace.errors import Terminal
from headrace.jars.cache import ensure_all
from headrace.jars.java import java
from headrace.jars.lock import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.arena import Arena

LOCK = Path(__file__).with_name("flink.lock")
SOURCE = Path(__file__).with_name("peers") / "FlinkReplay.java"
HEAP_MB = 2048
# What Flink's own scripts open on Java 17.
OPENED = ("lang", "net", "io", "nio", "util", "util.concurrent", "util.concurrent.atomic", "text")
# Iceberg keeps no bounds of fields inside a struct where pyiceberg writes.
ORDERED_BY = "event_ts"


@dataclass(frozen=True, slots=True)
class Job:
    """What Flink is to read: all columns where none are named, aligned where a drift is."""

    tables: Sequence[str]
    columns: Sequence[str]
    drift_s: int | None


def flink_command(arena: Arena, folder: Path, workspace: Path, job: Job) -> Command:
    """Return the command that reads tables by their times."""
    held = load_workspace(workspace).catalog("lake").properties()
    settings = {
        "catalog": "lake",
        "tables": ",".join(name.partition(".")[2] for name in job.tables),
        "uri": held["uri"].replace("sqlite:///", "jdbc:sqlite:"),
        "warehouse": held["warehouse"],
        "columns": ",".join([*job.columns, INGESTION_TS] if job.columns else []),
        "ordered_by": ORDERED_BY,
        "drift_s": "" if job.drift_s is None else str(job.drift_s),
    }
    file = folder / "flink.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    classpath = os.pathsep.join([str(_compiled(arena)), *map(str, _jars())])
    opens = (f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in OPENED)
    argv = [java(), f"-Xmx{HEAP_MB}m", *opens, "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED"]
    argv += ["-Dorg.slf4j.simpleLogger.defaultLogLevel=error", f"-Djava.io.tmpdir={folder}"]
    return Command([*argv, "-cp", classpath, "FlinkReplay", str(file)], folder)


def _jars() -> tuple[Path, ...]:
    return ensure_all(parse(LOCK.read_text(encoding="utf-8")))


def _compiled(arena: Arena) -> Path:
    """Compile the job once for all rounds."""
    target = arena.root / "flink"
    if target.exists():
        return target
    compiler = Path(java()).resolve().with_name("javac")
    if not compiler.exists():
        raise Terminal(
            f"{compiler} is missing, which Flink's job is compiled with",
            "install a JDK; a JRE is enough for everything else",
        )
    arena.say("compiling Flink's job")
    classpath = os.pathsep.join(map(str, _jars()))
    command = [str(compiler), "-nowarn", "-d", str(target), "-cp", classpath, str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Terminal("Flink's job does not compile", done.stderr)
    return target

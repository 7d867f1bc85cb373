"""Peers that are small Java programs: compiled when they first run, with jars locked by hash."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.model import LeftOut
from headrace.errors import Terminal
from headrace.jars.cache import ensure_all
from headrace.jars.java import java
from headrace.jars.lock import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.arena import Arena

SOURCES = Path(__file__).with_name("peers")
HEAP_MB = 2048
# What Flink's own scripts open on Java 17.
OPENED_FOR_FLINK = (
    *(f"java.base/java.{name}" for name in ("lang", "net", "io", "nio", "text", "util")),
    *(f"java.base/java.util.concurrent{name}" for name in ("", ".atomic")),
    "java.base/sun.nio.ch",
)


@dataclass(frozen=True, slots=True)
class Program:
    """A Java program of one source file, and what it stands on."""

    main_class: str
    # A lock file beside this module, and the set in it.
    lock: str
    jar_set: str
    opened: Sequence[str] = ()


def java_command(
    arena: Arena, folder: Path, program: Program, arguments: Sequence[Path]
) -> list[str]:
    """Return the command that runs a program; fetches its jars and compiles it where needed."""
    jars = _jars(program)
    classpath = os.pathsep.join(map(str, (_compiled(arena, program, jars), *jars)))
    return [
        java(),
        f"-Xmx{HEAP_MB}m",
        *(f"--add-opens={package}=ALL-UNNAMED" for package in program.opened),
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
        f"-Djava.io.tmpdir={folder}",
        "-cp",
        classpath,
        program.main_class,
        *map(str, arguments),
    ]


def write_properties(file: Path, settings: dict[str, str]) -> Path:
    """Write settings as Java reads them."""
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), "utf-8")
    return file


def _jars(program: Program) -> tuple[Path, ...]:
    locked = parse(Path(__file__).with_name(program.lock).read_text(encoding="utf-8"))
    return ensure_all([jar for jar in locked if jar.jar_set == program.jar_set])


def _compiled(arena: Arena, program: Program, jars: Sequence[Path]) -> Path:
    """Compile a program once for all rounds."""
    target = arena.root / program.main_class
    if target.exists():
        return target
    compiler = Path(java()).resolve().with_name("javac")
    if not compiler.exists():
        raise LeftOut(f"there is no javac beside {java()}: a JDK is needed, not only a JRE")
    arena.say(f"compiling {program.main_class}")
    source = SOURCES / f"{program.main_class}.java"
    command = [str(compiler), "-nowarn", "-d", str(target), "-cp", os.pathsep.join(map(str, jars))]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Terminal(f"{source.name} does not compile", done.stderr)
    return target

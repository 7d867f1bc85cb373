"""The committed list of jars: what each set holds, and the hash of every file."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import Literal, TypeAlias, get_args

JarSet: TypeAlias = Literal["spark", "broker", "postgres", "s3", "s3a"]
JAR_SETS: tuple[JarSet, ...] = get_args(JarSet)
# The others come when a catalog needs them.
ALWAYS: tuple[JarSet, ...] = ("spark", "broker")


@dataclass(frozen=True, slots=True, order=True)
class Jar:
    """One jar, or another file of its kind: where it comes from by name, what its bytes hash to."""

    jar_set: str
    group: str
    artifact: str
    version: str
    sha256: str
    extension: str = "jar"

    @property
    def file_name(self) -> str:
        """The name under which the jar lies in the cache."""
        return f"{self.artifact}-{self.version}.{self.extension}"

    @property
    def coordinate(self) -> str:
        """The name under which a Maven repository knows the jar."""
        name = f"{self.group}:{self.artifact}:{self.version}"
        return name if self.extension == "jar" else f"{name}:{self.extension}"


def locked(jar_set: JarSet) -> tuple[Jar, ...]:
    """Return the jars of one set, in the order of the file."""
    text = resources.files("headrace.jars").joinpath("jars.lock").read_text(encoding="utf-8")
    return tuple(jar for jar in parse(text) if jar.jar_set == jar_set)


def parse(text: str) -> list[Jar]:
    """Read the list's text."""
    jars = []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        name, coordinate, sha256 = line.split()
        group, artifact, version, *extension = coordinate.split(":")
        jars.append(Jar(name, group, artifact, version, sha256, *extension))
    return jars

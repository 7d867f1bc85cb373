"""The Python environment as an archive, for the machines of a cluster that share no disk with us.

Reads: the packages that are installed where this runs. Writes: one archive, whole or not at all.
Promises: unpacked anywhere, it runs on a Python of the same version; it holds no JVM's jars.
"""

from __future__ import annotations

import io
import json
import re
import shlex
import sys
import tarfile
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headrace import state_files
from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

OURS: Final = "headrace"
PACKAGES: Final = ("headrace", "router", "lake_writer", "backfill", "stream_app", "fleet")
FOLDER: Final = "site-packages"
# A worker's Spark has its jars; what is left out of the others are tests and headers of C.
LEFT_OUT: Final = {
    "pyspark": {"jars", "bin", "sbin", "data", "examples", "licenses", "python"},
    "pyarrow": {"include", "src", "tests"},
    "pandas": {"tests"},
}
# Whoever packs waits for it, and a cluster's network is quick.
LEVEL: Final = 1
_REQUIREMENT: Final = re.compile(r"([A-Za-z0-9._-]+)\s*(?:\[([^\]]*)\])?")
_EXTRA: Final = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")
# It finds the Python of the machine that it is on: no path of ours is in there but as a first try.
LAUNCHER: Final = """\
#!/bin/sh
here=$(cd "$(dirname "$0")/.." && pwd)
export PYTHONPATH="$here/{folder}${{PYTHONPATH:+:$PYTHONPATH}}" PYTHONNOUSERSITE=1
for python in {base} python{version}; do
  found=$(command -v "$python") && exec "$found" "$@"
done
echo "headrace: this machine has no python{version}, for which the environment was packed" >&2
exit 127
"""


@dataclass(frozen=True, slots=True)
class Packed:
    """What an archive has in it."""

    distributions: int
    files: int
    bytes: int


def pack(target: Path, *, minimal: bool) -> Packed:
    """Write the archive of this environment; with `minimal`, of what headrace itself needs."""
    names = required(OURS) if minimal else installed()
    held = dict(_files(names))
    with (
        state_files.writing(target, lasting=False) as file,
        tarfile.open(fileobj=file, mode="w:gz", compresslevel=LEVEL) as archive,
    ):
        _add_launcher(archive)
        for name in sorted(held):
            archive.add(held[name], f"{FOLDER}/{name}", recursive=False, filter=_of_nobody)
    return Packed(len(names), len(held) + 1, target.stat().st_size)


def python_version() -> str:
    """Return the version that an archive is for; a later patch of it does as well."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def installed() -> list[str]:
    """Return the names of all distributions that can be imported here."""
    return sorted({_normal(one.name) for one in metadata.distributions()})


def required(root: str) -> list[str]:
    """Return a distribution and all that it requires, as far as it is installed."""
    found: dict[str, set[str]] = {}
    left: list[tuple[str, set[str]]] = [(root, set())]
    while left:
        name, extras = left.pop()
        if name in found and extras <= found[name]:
            continue
        try:
            requires = metadata.distribution(name).requires or []
        except metadata.PackageNotFoundError:
            # Of another system, or another version of Python.
            continue
        found.setdefault(name, set()).update(extras)
        left += [one for line in requires if (one := _requirement(line, extras)) is not None]
    return sorted(found)


def _requirement(line: str, extras: set[str]) -> tuple[str, set[str]] | None:
    named, _, marker = line.partition(";")
    wanted = _EXTRA.search(marker)
    parsed = _REQUIREMENT.match(named.strip())
    if parsed is None or (wanted is not None and wanted[1] not in extras):
        return None
    own = {one.strip() for one in (parsed[2] or "").split(",") if one.strip()}
    return _normal(parsed[1]), own


def _files(names: list[str]) -> Iterator[tuple[str, Path]]:
    """Yield the files of distributions, by their names below the folder of packages."""
    for name in names:
        one = metadata.distribution(name)
        if name != OURS and _is_editable(one):
            raise Terminal(
                f"{name} is installed as a link to its source, which an archive cannot hold",
                "install it as a package, or leave it out: headrace package --minimal",
            )
        for file in one.files or ():
            path = Path(str(one.locate_file(file)))
            inside = not file.is_absolute() and file.parts[0] != ".." and file.suffix != ".pth"
            if inside and path.is_file() and not _is_left_out(file.parts):
                yield str(file), path
    for name in PACKAGES:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            folder = Path(spec.origin).parent
            for path in folder.rglob("*"):
                if path.is_file():
                    yield str(path.relative_to(folder.parent)), path


def _is_editable(one: metadata.Distribution) -> bool:
    found = json.loads(one.read_text("direct_url.json") or "{}")
    return bool(found.get("dir_info", {}).get("editable"))


def _is_left_out(parts: tuple[str, ...]) -> bool:
    return len(parts) > 1 and parts[1] in LEFT_OUT.get(parts[0], ())


def _add_launcher(archive: tarfile.TarFile) -> None:
    version = python_version()
    base = shlex.quote(str(Path(sys.base_prefix) / "bin" / f"python{version}"))
    text = LAUNCHER.format(folder=FOLDER, base=base, version=version).encode()
    entry = tarfile.TarInfo("bin/python")
    entry.size, entry.mode = len(text), 0o755
    archive.addfile(entry, io.BytesIO(text))


def _of_nobody(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Leave out who packed it; everybody may read."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mode |= 0o444
    return entry


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()

"""The user's cache of jars: checked by hash at every use, filled at the first."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from headrace.errors import Terminal
from headrace.jars import ivy
from headrace.jars.lock import Jar, JarSet, locked

if TYPE_CHECKING:
    from collections.abc import Sequence

CACHE_VARIABLE = "HEADRACE_CACHE"
log = structlog.get_logger(__name__)


class HashMismatch(Terminal):
    """A jar whose bytes are not the committed ones."""

    def __init__(self, jar: Jar, found: str) -> None:
        super().__init__(
            f"the repository served another {jar.coordinate}: sha256 {found}, not {jar.sha256}",
            "do not use that repository; if the new jar is correct, add it to the lock file",
        )


def cache_root() -> Path:
    """Return the folder of this user's cache; all of it can be re-created."""
    base = os.environ.get(CACHE_VARIABLE)
    if base:
        return Path(base).absolute()
    xdg = os.environ.get("XDG_CACHE_HOME")
    return (Path(xdg) if xdg else Path.home() / ".cache") / "headrace"


def cache_dir() -> Path:
    """Return the folder of this user's jars."""
    return cache_root() / "jars"


def ensure(jar_set: JarSet) -> tuple[Path, ...]:
    """Return the paths of a set's jars, downloading what is not there or is damaged."""
    return ensure_all(locked(jar_set))


def ensure_all(jars: Sequence[Jar]) -> tuple[Path, ...]:
    """Return the paths of locked jars, downloading what is not there or is damaged."""
    folder = cache_dir()
    # Hashing all of it costs a fifth of a second; a damaged jar costs an evening.
    if _missing(jars, folder):
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            missing = _missing(jars, folder)
            if missing:
                first = missing[0].jar_set
                log.info("downloading jars, once for this user", set=first, jars=len(missing))
                _fetch(missing, folder)
    return tuple(folder / jar.file_name for jar in jars)


def missing(jar_set: JarSet) -> list[Jar]:
    """Return the jars of a set that are not in the cache, or are damaged there."""
    return _missing(locked(jar_set), cache_dir())


def _missing(jars: Sequence[Jar], folder: Path) -> list[Jar]:
    return [jar for jar in jars if sha256(folder / jar.file_name) != jar.sha256]


def _fetch(jars: Sequence[Jar], folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder, prefix=".download-") as name:
        download = Path(name)
        wanted = (
            ivy.dependency(jar.group, jar.artifact, jar.version, jar.extension, transitive=False)
            for jar in jars
        )
        ivy.retrieve(ivy.module(wanted), download)
        for jar in jars:
            found = sha256(download / jar.file_name)
            if found != jar.sha256:
                raise HashMismatch(jar, found)
        for jar in jars:
            shutil.move(download / jar.file_name, folder / jar.file_name)


def sha256(path: Path) -> str:
    """Return a file's hash, or nothing where there is no file."""
    try:
        with path.open("rb") as source:
            return hashlib.file_digest(source, "sha256").hexdigest()
    except FileNotFoundError:
        return ""

"""The classes of a command's JVM, kept as it has read them: the next one starts in less time.

Reads: the archive that this Java made of these jars, in the user's cache. Writes: it, once, when a
command has done its work. Promises: an archive that is away, damaged or another's, and one that
cannot be made, costs time and never the start.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import structlog

from headrace.jars.cache import cache_root, sha256
from headrace.jars.java import major_version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

SUFFIX: Final = ".jsa"
TRIED: Final = ".tried"
PART: Final = ".part-"
# 110 to 160 MB each: those of the Javas and jars that were used last.
MOST_KEPT: Final = 4
LEAST_FREE: Final = 2**30
# What did not come to an archive is tried again after that.
AGAIN_AFTER_S: Final = 86_400.0
STALE_AFTER_S: Final = 3_600.0
# How the JVM tells where it is to be kept what it has read.
KEPT_AS: Final = "headrace.class.archive"
# A JVM with an archive of its own classes says so in its banner; without one it keeps none.
CAPABLE: Final = "sharing"
# Later ones may do without the options, and would not start with them.
MAJORS: Final = range(17, 22)
# Whoever says so much about archives wants none of ours; -Xshare:off does without any.
SAID_BY_USERS: Final = ("-Xshare", "SharedArchiveFile", "ArchiveClassesAtExit")
# Options from the environment: `java` says that it has picked them up, Spark's launcher does not.
PICKED_UP: Final = "Picked up"
LAUNCHER: Final = "SPARK_SUBMIT_OPTS"
# What Spark's launcher puts on the classpath. A folder there ends a JVM that writes an archive.
FOLDERS: Final = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH")
# Of other paths the JVM's commands make several arguments.
PLAIN_PATH: Final = re.compile(r"[\w./@+,:~-]+")
log = structlog.get_logger(__name__)


def options(banner: str, classpath: Sequence[Path], said: str, *, keeps: bool) -> str:
    """Return the JVM's options that read the archive, or those that make it possible to keep one.

    `said` is what users say to the JVM. Neither where that is about archives, or where there can
    be none.
    """
    if CAPABLE not in banner or major_version(banner) not in MAJORS:
        return ""
    if any(one in banner + said for one in SAID_BY_USERS) or not all(map(Path.is_file, classpath)):
        return ""
    try:
        path = cache_root() / "classes" / _name(banner, classpath)
        kept = _sound(path)
        if kept is not None:
            return f' "-XX:SharedArchiveFile={kept}"'
        if not (keeps and _may_be_kept(path, banner, said)):
            return ""
    except OSError:
        return ""
    return f' -XX:+RecordDynamicDumpInfo "-D{KEPT_AS}={path}"'


def give_back(options: str) -> None:
    """Let the next command try to make an archive, where the JVM with these options did nothing."""
    found = re.search(rf"-D{re.escape(KEPT_AS)}=([^\"]+)", options)
    if found is not None:
        _tried(Path(found[1])).unlink(missing_ok=True)


def keep(spark: SparkSession) -> None:
    """Write the archive, if the JVM of a session was started to make one. Its session has ended."""
    # Nothing of it is worth an error at the end of a command that has done its work, not even that
    # somebody will not wait for it.
    try:
        jvm: Any = spark._jvm  # noqa: SLF001 - Spark has no other way to its JVM
        said = jvm.java.lang.System.getProperty(KEPT_AS)
        if said is not None:
            _keep(jvm, spark._sc._gateway, Path(said))  # noqa: SLF001 - as above
    except (Exception, KeyboardInterrupt) as problem:  # noqa: BLE001 - py4j's, Java's, the system's
        log.debug("the JVM's classes could not be archived", problem=repr(problem))


def _keep(jvm: Any, gateway: Any, path: Path) -> None:  # noqa: ANN401 - py4j has no types
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=PART) as name:
        if not _archives(path.parent, path.name):
            made = Path(name) / path.name
            log.info("archiving the JVM's classes, so that Spark starts faster from now on")
            _dump(jvm, gateway, made)
            made.replace(_by_hash(path, made))
    _tried(path).unlink(missing_ok=True)
    remove_unused(path.parent)


def remove_unused(folder: Path) -> None:
    """Remove the archives that have not been used for the longest time, and what a kill has left."""
    for old in _archives(folder)[:-MOST_KEPT]:
        old.unlink(missing_ok=True)
    for part in folder.glob(f"{PART}*"):
        if _age_s(part) > STALE_AFTER_S:
            shutil.rmtree(part, ignore_errors=True)


def _dump(jvm: Any, gateway: Any, made: Path) -> None:  # noqa: ANN401 - as above
    """Ask the JVM for the archive by its own diagnostic command: a JRE has no jcmd."""
    lang, found = jvm.java.lang, jvm.java.lang.Class.forName

    def array(kind: Any, *values: object) -> Any:  # noqa: ANN401 - as above
        filled = gateway.new_array(kind, len(values))
        for number, value in enumerate(values):
            filled[number] = value
        return filled

    types = ("javax.management.ObjectName", "java.lang.String")
    arrays = ("[Ljava.lang.Object;", "[Ljava.lang.String;")
    # The server's own class is hidden from reflection, its interface is not.
    invoke = found("javax.management.MBeanServer").getMethod(
        "invoke", array(lang.Class, *map(found, (*types, *arrays)))
    )
    server = lang.management.ManagementFactory.getPlatformMBeanServer()
    command = jvm.javax.management.ObjectName("com.sun.management:type=DiagnosticCommand")
    said = array(lang.Object, array(lang.String, "dynamic_dump", str(made)))
    signature = array(lang.String, "[Ljava.lang.String;")
    answer = invoke.invoke(server, array(lang.Object, command, "vmCds", said, signature))
    log.debug("the JVM's classes are archived", answer=str(answer).strip())


def _sound(path: Path) -> Path | None:
    """Return the archive of that name. A damaged one, which would end the JVM, is removed."""
    for kept in _archives(path.parent, path.name):
        if kept == _by_hash(path, kept):
            with contextlib.suppress(OSError):
                os.utime(kept)
            return kept
        log.warning("the class archive was damaged and is re-created", path=str(kept))
        kept.unlink()
    return None


def _may_be_kept(path: Path, banner: str, said: str) -> bool:
    """Whether a JVM is to be started to make an archive; once a day, until there is one.

    With agents and many other options a JVM that is to make one does not start. So it is asked for
    one only if nobody else has given it options.
    """
    options = said or os.environ.get(LAUNCHER)
    if options or PICKED_UP in banner or PLAIN_PATH.fullmatch(str(path)) is None:
        return False
    if any(folder.is_dir() and any(folder.iterdir()) for folder in _folders()):
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(path.parent).free < LEAST_FREE:
        return False
    tried = _tried(path)
    if tried.exists() and _age_s(tried) < AGAIN_AFTER_S:
        return False
    tried.touch()
    return True


def _tried(path: Path) -> Path:
    return path.with_name(path.name + TRIED)


def _age_s(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _by_hash(path: Path, archive: Path) -> Path:
    return path.with_name(f"{path.name}-{sha256(archive)[:16]}{SUFFIX}")


def _archives(folder: Path, name: str = "*") -> list[Path]:
    """Return the archives that are kept, the one that was used last at the end."""
    found = folder.glob(f"{name}-*{SUFFIX}")
    return sorted(found, key=lambda archive: archive.stat().st_mtime)


def _name(banner: str, classpath: Sequence[Path]) -> str:
    """Return a name for what an archive depends on: with another Java or jar it is of no use."""
    stats = [(str(jar), (found := jar.stat()).st_size, found.st_mtime_ns) for jar in classpath]
    return hashlib.sha256(repr((banner, stats)).encode()).hexdigest()[:16]


def _folders() -> list[Path]:
    """Return the folders on the classpath of Spark's launcher, of whose classes none are kept."""
    further = [path for name in FOLDERS for path in os.environ.get(name, "").split(os.pathsep)]
    conf = Path(os.environ.get("SPARK_HOME", "")) / "conf"
    return [conf, *(Path(path) for path in further if path)]

"""Spark sessions, all from one place: our jars, our catalogs, the size of the machine, UTC."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING

import structlog

from headrace import state_files
from headrace.errors import HeadraceError
from headrace.iceberg.catalog import jar_sets, spark_catalog_settings
from headrace.jars.cache import ensure
from headrace.jars.java import java_and_banner
from headrace.jvm import class_archive
from headrace.jvm.cluster import (
    EXECUTOR_CLASSPATH,
    TASKS_PYTHON,
    cluster_settings,
    is_local,
    is_on_this_machine,
)
from headrace.jvm.launch import PORT, InBackground, LaunchedJvm, ParentJvm
from headrace.jvm.log_file import keep_small
from headrace.jvm.not_started import STANDALONE, require_master, why_not_started
from headrace.jvm.python_launcher import of_tasks, use_our_spark, without_archives
from headrace.jvm.sizes import driver_memory_mb, shuffle_partitions
from headrace.secret import SECRET_NAMES
from headrace.state_version import require_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from headrace.config.workspace.workspace import Workspace
    from headrace.jars.lock import JarSet

LARGEST_FUNCTION = 2**30
log = structlog.get_logger(__name__)

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
DEFAULT_JAVA_OPTIONS = "spark.driver.defaultJavaOptions"
# For a JVM that schedules and does no work on records: what compiles much, and what collects in
# parallel, costs such a one more than it saves. Beside a core or two, twice over.
SCHEDULER_JVM = {DEFAULT_JAVA_OPTIONS: "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"}

CLASSPATH = "spark.driver.extraClassPath"
PYTHONPATH = "spark.executorEnv.PYTHONPATH"
LAUNCHED = ("spark.driver.", "spark.master")
# Without Hadoop's native library each file of a checkpoint starts ten processes: two chmod for it
# and its checksums, and eight readlink that only the default manager of these files asks for.
CHECKPOINT_KEY = "spark.sql.streaming.checkpointFileManagerClass"
CHECKPOINT_FILES = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
# Spark shows a setting or an option whose name matches this only as a mask.
MASKED = rf"{SECRET_NAMES}|spark[.]sql[.]catalog[.].*[.]uri"
EXTENSIONS_KEY = "spark.sql.extensions"
EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"

LOGGING = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c{1} %m%n%ex
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""


@contextlib.contextmanager
def session(
    workspace: Workspace,
    name: str,
    conf: Mapping[str, str] | None = None,
    *,
    lasting: bool = False,
    meanwhile: Callable[[], object] | None = None,
) -> Iterator[SparkSession]:
    """Hold a session for the length of a command; `lasting` ones go on until they are asked to end.

    Those who ask for that wait for nothing further. `meanwhile` is called while the JVM starts;
    what it raises ends the JVM.
    """
    spark = start_session(workspace, name, conf, keeps_classes=not lasting, meanwhile=meanwhile)
    from headrace.jvm import failures  # noqa: PLC0415 - importing py4j takes long, as pyspark does

    try:
        yield spark
    finally:
        try:
            spark.stop()
        except Exception as problem:
            # A JVM that was killed needs no stop, and what ended with it has been reported by then.
            if not failures.has_ended(problem):
                raise
    class_archive.keep(spark)


def start_session(
    workspace: Workspace,
    name: str,
    conf: Mapping[str, str] | None = None,
    *,
    keeps_classes: bool = False,
    meanwhile: Callable[[], object] | None = None,
) -> SparkSession:
    """Start Spark for one command. Its log goes to a file of the workspace, not to the terminal."""
    require_known(workspace.state_dir)
    conf, log_file = conf or {}, log_path(workspace, name)
    given = {"spark.master": workspace.spark.master, **workspace.spark.conf, **conf}
    master = given["spark.master"]
    require_master(master)
    use_our_spark()
    log.info("starting Spark", master=master)
    keep_small(log_file)
    # The log has what earlier starts have said, too.
    begins_at = log_file.stat().st_size if log_file.exists() else 0
    with log_file.open("ab") as output, _our_ctrl_c(), _python(workspace, given) as folder:
        starting = InBackground(
            lambda: _launched(workspace, name, conf, output, folder, keeps_classes=keeps_classes)
        )
        try:
            if meanwhile is not None:
                meanwhile()
            try:
                return _connected(*starting.result())
            except HeadraceError:
                raise
            except Exception as problem:  # noqa: BLE001 - from py4j, Java and the launcher alike
                said = _written_since(log_file, begins_at) + str(problem)
                raise why_not_started(master, log_file, said, problem) from None
        except BaseException:
            with contextlib.suppress(Exception):
                jvm, settings = starting.result()
                jvm.end()
                class_archive.give_back(settings[JAVA_OPTIONS])
            raise


def _python(
    workspace: Workspace, given: Mapping[str, str]
) -> contextlib.AbstractContextManager[Path | None]:
    """Let tasks run the right Python; yields the folder in which the JVM has to start for that."""
    if is_local(given["spark.master"]):
        named = PYTHONPATH in given
        return contextlib.nullcontext() if named else without_archives(workspace.state_dir)
    if TASKS_PYTHON in given:
        return of_tasks(given[TASKS_PYTHON], workspace.state_dir)
    return contextlib.nullcontext()


def _launched(  # noqa: PLR0913 - a start is made of these
    workspace: Workspace,
    name: str,
    conf: Mapping[str, str],
    output: IO[bytes],
    folder: Path | None,
    *,
    keeps_classes: bool,
) -> tuple[LaunchedJvm | ParentJvm, Mapping[str, str]]:
    """Start the JVM; return the settings of its session, too."""
    settings = session_settings(workspace, name, log_path(workspace, name), conf)
    _, banner = java_and_banner()
    settings[JAVA_OPTIONS] += class_archive.options(
        banner, _classpath(settings), _said_to_java(workspace, conf), keeps=keeps_classes
    )
    # What the JVM is launched with stands on its command line, for everybody on the machine to
    # read; the rest, secrets of catalogs among it, is handed over once it runs.
    given = {name: value for name, value in settings.items() if name.startswith(LAUNCHED)}
    if PORT in os.environ:
        return ParentJvm(), settings
    if folder is not None:
        # Paths are those of whoever has started us, all the same.
        given[JAVA_OPTIONS] += f' "-Duser.dir={Path.cwd()}"'
    return LaunchedJvm(given, output, folder), settings


def _connected(jvm: LaunchedJvm | ParentJvm, settings: Mapping[str, str]) -> SparkSession:
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - importing it takes long
    from pyspark.sql import SparkSession  # noqa: PLC0415 - as above

    from headrace.jvm.pyspark_start import without_pandas  # noqa: PLC0415 - as above

    without_pandas()
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    return SparkSession(SparkContext(gateway=jvm.gateway(), conf=conf))


@contextlib.contextmanager
def _our_ctrl_c() -> Iterator[None]:
    """Keep SIGINT as it is: pyspark would take it, cancel all jobs and end without a drain."""
    ours = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, ours)


def log_path(workspace: Workspace, name: str) -> Path:
    """Return where the Spark of that command writes its log."""
    folder = workspace.state_dir / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"spark-{name}.log"


def needed_jar_sets(workspace: Workspace) -> list[JarSet]:
    """Return the sets of jars of a session, in a stable order: what is first on a classpath wins."""
    further = {one for held in workspace.catalogs.values() for one in jar_sets(held)}
    if (workspace.checkpoint_dir or "").startswith("s3a://"):
        further.add("s3a")
    return ["spark", *sorted(further)]


def session_settings(
    workspace: Workspace, name: str, log_file: Path, conf: Mapping[str, str]
) -> dict[str, str]:
    """Return all settings of a session: ours, then the workspace's, then the command's."""
    given = {**workspace.spark.conf, **conf}
    master = given.get("spark.master", workspace.spark.master)
    local = is_local(master)
    jars = [str(jar) for jar_set in needed_jar_sets(workspace) for jar in ensure(jar_set)]
    logging = log_file.with_name("log4j2.properties")
    state_files.write(logging, LOGGING.encode(), lasting=False)
    settings = {
        "spark.master": master,
        "spark.app.name": f"headrace-{name}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.redaction.regex": MASKED,
        # A query that waits for records asks Kafka ten times a second, not a hundred times.
        "spark.sql.streaming.pollingDelay": "100ms",
        # Queries go on for months, and a report of progress has some kilobytes.
        "spark.sql.streaming.numRecentProgressUpdates": "100",
        CHECKPOINT_KEY: CHECKPOINT_FILES,
        "spark.python.daemon.module": "headrace.jvm.python_workers",
        # A larger function is written to a file on its way to the tasks, with the passwords that
        # it holds.
        "spark.broadcast.UDFCompressionThreshold": str(LARGEST_FUNCTION),
        # Over TCP each small task waits 40 ms: one end holds back its second write until the first
        # is acknowledged, the other its acknowledgement until it has something to say. Elsewhere the
        # folder of temporary files may have a longer path than a socket's can be.
        "spark.python.unix.domain.socket.enabled": str(local or STANDALONE in master).lower(),
        "spark.sql.redaction.options.regex": MASKED,
        # Kafka by its newer interface: the counts of a batch come back with its write only there.
        "spark.sql.sources.useV1SourceList": "avro,csv,json,orc,parquet,text",
        EXTENSIONS_KEY: EXTENSIONS,
        "spark.sql.shuffle.partitions": str(shuffle_partitions(master)),
        "spark.driver.memory": f"{driver_memory_mb()}m",
        # Ahead of Spark's own classpath: its lz4 and Kafka client are the ones we replace.
        CLASSPATH: os.pathsep.join(jars),
        EXECUTOR_CLASSPATH: os.pathsep.join(jars),
        "spark.sql.warehouse.dir": str(workspace.state_dir / "spark-warehouse"),
    }
    if is_on_this_machine(master):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    for catalog in workspace.catalogs.values():
        settings |= spark_catalog_settings(catalog)
    settings |= given
    if workspace.checkpoint_dir is not None:
        # Spark's own choice fits what is no disk; the user's stays.
        settings = {
            key: value for key, value in settings.items() if key != CHECKPOINT_KEY or key in given
        }
    if not local:
        settings |= cluster_settings(master, [Path(jar) for jar in jars], given, workspace.root)
    ours = f"-Dlog4j2.configurationFile={logging.as_uri()}"
    return {**settings, JAVA_OPTIONS: f"{ours} {settings.get(JAVA_OPTIONS, '')}".rstrip()}


def _said_to_java(workspace: Workspace, conf: Mapping[str, str]) -> str:
    """Return the options that users give the JVM."""
    conf = {**workspace.spark.conf, **conf}
    given = [conf.get(name, "") for name in (DEFAULT_JAVA_OPTIONS, JAVA_OPTIONS)]
    return " ".join(one for one in given if one and one not in SCHEDULER_JVM.values())


def _classpath(settings: Mapping[str, str]) -> list[Path]:
    """Return what the JVM's classes come from, in order."""
    ours = [Path(jar) for jar in settings[CLASSPATH].split(os.pathsep)]
    return [*ours, *sorted(Path(os.environ.get("SPARK_HOME", "")).glob("jars/*.jar"))]


def _written_since(log_file: Path, begins_at: int) -> str:
    with log_file.open("rb") as file:
        file.seek(begins_at)
        return file.read().decode(errors="replace")

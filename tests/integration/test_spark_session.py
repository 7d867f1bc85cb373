"""What the one session factory promises beside a session."""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.datasource import DataSource

from headrace.config.load import load_workspace
from headrace.errors import Terminal, Transient
from headrace.jvm.not_started import why_not_started
from headrace.spark import log_path, session_settings, start_session

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headrace.config.workspace.workspace import Workspace

# As the tests were started: in the background it is ignored.
BEFORE = signal.getsignal(signal.SIGINT)


def test_ctrl_c_stays_ours(spark: SparkSession) -> None:
    assert spark.version
    assert signal.getsignal(signal.SIGINT) is BEFORE


def test_the_replaced_jars_are_the_ones_in_use(spark: SparkSession) -> None:
    jvm = spark._jvm  # noqa: SLF001 - where classes come from, only the JVM knows
    assert jvm is not None
    loaded = {
        name: jvm.java.lang.Class.forName(name).getProtectionDomain().getCodeSource().toString()
        for name in (
            "net.jpountz.lz4.LZ4Factory",
            "org.apache.kafka.clients.producer.KafkaProducer",
        )
    }
    assert "lz4-java-1.10" in loaded["net.jpountz.lz4.LZ4Factory"]
    assert "kafka-clients-3.9.2" in loaded["org.apache.kafka.clients.producer.KafkaProducer"]


def test_times_are_in_utc_and_the_ui_is_off(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.sparkContext.uiWebUrl is None


def test_tasks_in_python_run_without_archives_on_their_path(spark: SparkSession) -> None:
    def path(_: int) -> list[str]:
        import sys
        from pathlib import Path

        return [place for place in sys.path if Path(place).is_file()]

    # Each would be read anew at the start of every task.
    (archives,) = spark.sparkContext.parallelize([0], 1).map(path).collect()
    assert archives == []


def test_processes_that_plan_have_no_archives_on_their_path_either(spark: SparkSession) -> None:
    class Archives(DataSource):
        @classmethod
        def name(cls) -> str:
            return "archives"

        def schema(self) -> str:
            import sys
            from pathlib import Path

            # A column for each of them: what the process finds is nowhere else to be seen.
            found = [place for place in sys.path if Path(place).is_file()]
            return ", ".join(
                [f"python{sys.version_info[0]} int", *(f"`{one}` int" for one in found)]
            )

    spark.dataSource.register(Archives)
    assert spark.read.format("archives").load().columns == ["python3"]
    # Nobody else is given the launcher.
    assert os.environ["PYSPARK_PYTHON"] == sys.executable


def test_java_options_of_users_come_beside_ours(workspace: Workspace, tmp_path: Path) -> None:
    conf = {"spark.driver.extraJavaOptions": "-Duser.one=1 -ea"}
    said = session_settings(workspace, "any", tmp_path / "log", conf)[
        "spark.driver.extraJavaOptions"
    ]
    logging, *theirs = said.split()
    assert logging.startswith("-Dlog4j2.configurationFile=file:///")
    assert theirs == ["-Duser.one=1", "-ea"]


# The launcher leaves its pipe to the garbage collector.
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_a_start_that_fails_is_judged_by_its_own_words(tmp_path: Path) -> None:
    """The log has those of all starts before it, and what was true then may not be so any more."""
    (tmp_path / "headrace.yaml").write_text(
        'clusters: {c: {bootstrap_servers: "127.0.0.1:1"}}\n'
        "spark: {master: local, conf: {spark.driver.memory: 1k}}\n"
    )
    workspace = load_workspace(tmp_path)
    log = log_path(workspace, "once-full")
    log.write_text("java.io.IOException: No space left on device\n")
    with pytest.raises(Transient, match="Spark could not start"):
        start_session(workspace, "once-full")
    gc.collect()
    said = log.read_text(encoding="utf-8")
    assert len(said.splitlines()) > 1
    full = why_not_started("local", log, said, OSError("the gateway has ended"))
    assert isinstance(full, Terminal)

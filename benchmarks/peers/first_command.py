"""A command that uses Spark: from the second on, the classes of its JVM are kept."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.peers.spark_script import told
from headrace.config.load import load_workspace
from headrace.spark import session


def first_command(workspace: Path) -> None:
    """Run a small query, as a stream: what the classes are that most commands need."""
    with (
        session(load_workspace(workspace), "first-command") as spark,
        tempfile.TemporaryDirectory() as checkpoint,
    ):
        stream = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
        counts = stream.groupBy(stream.value % 3).count()
        query = (
            counts.writeStream.format("noop")
            .outputMode("complete")
            .option("checkpointLocation", checkpoint)
            .trigger(once=True)
            .start()
        )
        query.awaitTermination()


if __name__ == "__main__":
    first_command(Path(told()["workspace"]))

"""Spark's settings for sessions that run lines."""

from __future__ import annotations

from typing import Final

from headrace.jvm.python_workers import IMPORTS
from headrace.line.questions import SOURCE_MODULE

# What its workers import before they are forked: with a list of its own, nothing that reads tables.
IMPORTS_KEY: Final = f"spark.executorEnv.{IMPORTS}"
# A batch is a few rows: compiling code for them takes longer than doing without it.
NO_CODE: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
# Its checkpoint is scratch: files beside files with checksums, and a process for each, are too much.
NO_CHECKSUMS: Final = {"spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem"}
# A task sends records, and the second one that does the same work only says so: Spark would take
# that for the answer, whichever was first.
ONCE_EACH: Final = {"spark.speculation": "false"}


def line_settings(*modules: str) -> dict[str, str]:
    """Return Spark's settings for lines of which Spark evaluates nothing; tasks use these modules."""
    return {
        **NO_CODE,
        **NO_CHECKSUMS,
        **ONCE_EACH,
        IMPORTS_KEY: ",".join((SOURCE_MODULE, "pyarrow", *modules)),
    }

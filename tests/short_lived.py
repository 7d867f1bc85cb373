"""JVMs that live for the length of a test: what compiles much for later never pays there."""

from __future__ import annotations

from typing import Final

# As headrace itself starts a JVM that has little to do.
JAVA_OPTIONS: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
# The same in the `spark.conf` of a workspace.
SPARK_CONF: Final = ", ".join(
    f'spark.{process}.defaultJavaOptions: "{" ".join(JAVA_OPTIONS)}"'
    for process in ("driver", "executor")
)

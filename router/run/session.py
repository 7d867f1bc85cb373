"""What Spark's session is set to, and whether expressions mean in it what they mean when compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import Terminal
from headrace.expressions.session_settings import ALWAYS_SET, other_meaning
from headrace.spark import EXTENSIONS, EXTENSIONS_KEY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession


def require_same_meaning(session: Mapping[str, str], known: Mapping[str, str]) -> None:
    """Refuse a session that gives expressions a meaning of which the workspace's files say nothing.

    Spark has settings from spark-defaults.conf and from the environment, too, and what is compiled
    would not follow them.
    """
    if other_meaning(known) is not None:
        return
    conf = dict(session)
    if conf.get(EXTENSIONS_KEY) == EXTENSIONS:
        del conf[EXTENSIONS_KEY]
    name = other_meaning(conf)
    if name is not None:
        raise Terminal(
            f"{name} is {conf[name]} in Spark's session, which changes what expressions mean, but "
            "headrace.yaml does not set it",
            "set it under spark.conf there, or remove it from spark-defaults.conf and the "
            "environment",
        )


def session_settings(spark: SparkSession) -> dict[str, str]:
    """Return the settings of a session; each is a question to its JVM."""
    always = {name: str(spark.conf.get(name)) for name in ALWAYS_SET}
    return {**always, **spark.conf.getAll}

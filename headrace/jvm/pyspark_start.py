"""What pyspark does at a start that nobody here needs: pandas imported, packages looked through.

Promises: what pyspark does otherwise stays as it is, with values of numpy and with packages that
bring a source of their own, too.
"""

from __future__ import annotations

import contextlib
import pkgutil
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it ships no types
from pyspark.sql import types

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

CONVERTERS: Final = ("NumpyScalarConverter", "NumpyArrayConverter")
# Spark takes packages of these names for sources of data in Python, and looks for one in each.
SOURCES: Final = "pyspark_"
MANAGER: Final = "org.apache.spark.sql.execution.datasources.DataSourceManager$"
SETTER: Final = "dataSourceBuilders_$eq"


def without_pandas() -> None:
    """Let values go to Java without an import of pandas for the first of them.

    Of each value that is no plain one pyspark asks whether it is one of numpy's. For that it
    imports a module of tests, and pandas with it: half a second of each start.
    """
    for name in CONVERTERS:
        converter: Any = getattr(types, name, None)
        if converter is not None and not hasattr(converter.can_convert, "asked"):
            converter.can_convert = _asking_first(converter.can_convert)


def _asking_first(theirs: Callable[[Any, object], bool]) -> Callable[[Any, object], bool]:
    def can_convert(self: Any, value: object) -> bool:  # noqa: ANN401 - PySpark's converter
        return _is_of_numpy(value) and theirs(self, value)

    can_convert.asked = theirs  # type: ignore[attr-defined]  # a mark, too: once is enough
    return can_convert


def _is_of_numpy(value: object) -> bool:
    return any(kind.__module__.partition(".")[0] == "numpy" for kind in type(value).__mro__)


def without_lookup(spark: SparkSession) -> None:
    """Tell Spark that no package here brings a source of data, where that is so.

    Before it makes the first source in Python, it starts two processes to find that out.
    """
    if any(found.name.startswith(SOURCES) for found in pkgutil.iter_modules()):
        return
    # Where another Spark has no such thing, it looks.
    with contextlib.suppress(Py4JError, TypeError):
        jvm: Any = spark._jvm  # noqa: SLF001 - Spark has no other way to its JVM
        manager = jvm.java.lang.Class.forName(MANAGER).getField("MODULE$").get(None)
        if manager.dataSourceBuilders().isEmpty():
            none = jvm.org.apache.spark.api.python.PythonUtils.toScalaMap({})
            getattr(manager, SETTER)(jvm.scala.Some(none))

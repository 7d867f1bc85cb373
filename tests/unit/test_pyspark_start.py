"""What pyspark does at a start is left out only where nothing else changes."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from pyspark.sql import types

from headrace.jvm.pyspark_start import CONVERTERS, without_lookup, without_pandas

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.parametrize("name", CONVERTERS)
@pytest.mark.parametrize(
    "value",
    [np.int64(1), np.float32(1), np.array([1, 2]), np.ma.masked_array([1]), [1], "a", date.min],
)
def test_values_of_numpy_are_told_as_before(name: str, value: object) -> None:
    without_pandas()
    converter = getattr(types, name)()
    told = converter.can_convert(value)
    assert told == converter.can_convert.__func__.asked(converter, value)


def test_a_value_goes_to_java_without_pandas() -> None:
    code = (
        "import sys\n"
        "from pyspark.sql import types\n"
        "from headrace.jvm.pyspark_start import CONVERTERS, without_pandas\n"
        "without_pandas()\n"
        "without_pandas()\n"
        "assert not any(getattr(types, one)().can_convert(True) for one in CONVERTERS)\n"
        "assert 'pandas' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_spark_looks_where_a_package_may_bring_a_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a session that is none, nothing can be asked."""
    session = cast("SparkSession", object())
    with pytest.raises(AttributeError, match="_jvm"):
        without_lookup(session)
    (tmp_path / "pyspark_mine").mkdir()
    (tmp_path / "pyspark_mine" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    without_lookup(session)


@pytest.mark.parametrize(
    "modules", ["headrace.spark, router.run.jobs", "lake_writer.cli, lake_writer.spark_settings"]
)
def test_until_the_jvm_is_started_nothing_is_imported_that_takes_long(modules: str) -> None:
    code = (
        "import sys\n"
        f"import {modules}\n"
        "assert not {'pyspark', 'pyiceberg', 'pandas', 'pyarrow', 'numpy'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

from __future__ import annotations

import pytest

from headrace.errors import Terminal
from headrace.expressions.projection import Projected
from headrace.schema.model import Field, Primitive, Record
from router.plan.model import Outlet, ToTopic
from router.plan.planner import output_schema

EVENT = Record("Event", (Field("id", Primitive.LONG, nullable=False),))
TARGET = ToTopic("consumer", "out", "avro", None, "lz4")
ID = Projected("id", "id")
SHARE = Projected("share", "10 div id")


def test_a_type_is_known_before_spark_runs_where_no_setting_changes_it() -> None:
    written = output_schema(Outlet("out", None, (ID, SHARE), TARGET), EVENT)
    assert [(one.name, one.type) for one in written.fields] == [
        ("id", Primitive.LONG),
        ("share", Primitive.LONG),
    ]


def test_under_another_setting_only_spark_knows_the_type_of_an_expression() -> None:
    """Without ANSI, a division by zero is null."""
    setting = "spark.sql.ansi.enabled"
    plain = Outlet("out", None, (ID,), TARGET, setting)
    assert output_schema(plain, EVENT).fields == EVENT.fields
    with pytest.raises(Terminal, match=rf"share is not known.*{setting} is set"):
        output_schema(Outlet("out", None, (ID, SHARE), TARGET, setting), EVENT)

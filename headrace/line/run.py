"""Running lines to the end of all their jobs: what a command of one file does."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from headrace.errors import Terminal
from headrace.line.line import CHECK_EVERY_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from headrace.line.line import Line
    from headrace.signals import Drain


def run_lines(lines: Sequence[Line], spark: SparkSession, drain: Drain) -> None:
    """Run lines until all their jobs have ended, or until asked to drain; raise why jobs failed."""
    if drain.wait(0):
        return
    with contextlib.ExitStack() as held:
        for line in lines:
            held.enter_context(line)
        while not all(line.ended for line in lines):
            for line in lines:
                line.look(spark)
            if drain.wait(CHECK_EVERY_S):
                break
        for line in lines:
            line.begin_no_more()
        for line in lines:
            line.drain()
    reasons = [one.reason for line in lines for one in line.turns if one.reason is not None]
    if len(reasons) == 1:
        raise reasons[0]
    if reasons:
        raise Terminal("\n".join(str(reason) for reason in reasons))

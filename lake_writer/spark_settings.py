"""The Spark settings of a lake writer; to import them imports no other part of it."""

from __future__ import annotations

from headrace.line.settings import line_settings
from headrace.spark import SCHEDULER_JVM


def writer_settings() -> dict[str, str]:
    """Return the settings on top of the workspace's: the JVM schedules, and tasks are Python."""
    return {**SCHEDULER_JVM, **line_settings("lake_writer.task")}

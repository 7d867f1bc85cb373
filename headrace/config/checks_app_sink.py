"""What must hold between the keys of an application's sink, and between it and the sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.config.checks_kafka import check_sink

if TYPE_CHECKING:
    from headrace.config.sheet import Sheet


def check_app_sink(sheet: Sheet) -> None:
    """Report every contradiction in where the result goes."""
    kind = sheet.text("sink", "type")
    if kind == "iceberg":
        sheet.check_catalog("sink", "catalog")
        _check_mode(sheet)
        _check_table_loop(sheet)
    elif kind == "kafka":
        check_sink(sheet, ("sink",), None)
        _check_topic_loop(sheet)


def _check_mode(sheet: Sheet) -> None:
    mode = sheet.text("sink", "mode") or "append"
    given = sheet.mapping("sink")
    if mode == "upsert" and not sheet.items("sink", "key"):
        sheet.report(("sink",), "mode upsert needs a key", "key: [column, …]", key=True)
    if mode == "replace" and "time_column" not in given:
        sheet.report(
            ("sink",),
            "mode replace needs a time_column, to know which rows are of a period",
            "time_column: the result's column with a row's time",
            key=True,
        )
    if mode in {"append", "replace"}:
        for name in ("key", "version", "deleted"):
            if name in given:
                message = f"{name} is for mode upsert, and the mode is {mode}"
                sheet.report(("sink", name), message, "mode: upsert, or remove it", key=True)


def _check_topic_loop(sheet: Sheet) -> None:
    cluster, topic = sheet.text("sink", "cluster"), sheet.text("sink", "topic")
    for name in sheet.mapping("sources"):
        path = ("sources", name)
        written = sheet.items(*path, "topics") or [sheet.text(*path, "topics")]
        if topic and topic in written and cluster == sheet.text(*path, "cluster"):
            message = f'the sink writes to the topic that source "{name}" reads: an endless loop'
            sheet.report(("sink", "topic"), message, "use another topic")
            return


def _check_table_loop(sheet: Sheet) -> None:
    keys = ("catalog", "database", "table")
    sink = [sheet.text("sink", key) for key in keys]
    for name in sheet.mapping("sources"):
        read = [sheet.text("sources", name, key) for key in keys]
        if None not in sink and sink == read:
            message = f'the sink writes to the table that source "{name}" reads'
            sheet.report(("sink", "table"), message, "use another table")
            return

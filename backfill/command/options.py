"""The options of `backfill plan` and `backfill replay`, as decorators."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click

from headrace.contract import INGESTION_TS, VALUE_FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def table_options(function: F) -> F:
    """Add the options that a plan and a replay share."""
    for option in (
        click.option(
            "--rate-limit",
            metavar="N|SIZE|auto",
            help="The most rows per second (5000) or bytes per second (10MiB; for an application, bytes"
            " as stored in its tables). auto: as many as the target accepts without slowing down.",
        ),
        click.option(
            "--order",
            type=click.Choice(["bounded", "any", "strict"]),
            help="bounded: no record comes out of order by more than the threshold (--max-misalignment)."
            " strict: each Kafka partition in the order of its offsets, for change logs."
            " any: file by file, like a plain batch job. [default: bounded]",
        ),
        click.option(
            "--max-misalignment",
            "threshold",
            metavar="DURATION",
            help="The threshold: how much older a record may be than a record of an earlier step, over"
            " all tables. [default: the application's smallest max_misalignment_threshold; for tables"
            " 15min]",
        ),
        click.option(
            "--scan-without-bounds",
            "scan",
            is_flag=True,
            help="If a data file has no lower and upper bounds of its times, read the times while"
            " planning. Without this option such a file is rejected.",
        ),
        click.option(
            "--widen-watermarks",
            "widening",
            metavar="DURATION",
            help="For an application: how much longer than live the delays of the watermarks are. The"
            " default is computed from the bounds of the watermarks' columns, so that no record is"
            " dropped that was in time. With less, such records may be dropped.",
        ),
        click.option(
            "--null-times",
            type=click.Choice(["fail", "skip"]),
            help="What to do with rows without a time, which belong to no period. fail: reject the"
            " replay. skip: leave the rows out and count them. [default: as the application's file"
            " says; else fail]",
        ),
        click.option(
            "--up-to",
            type=click.Choice(["complete", "committed"]),
            default="complete",
            show_default=True,
            help="complete: reject a past period that ends after the time up to which a table says it"
            " is complete. committed: replay what there is.",
        ),
        click.option(
            "--time-column",
            default=INGESTION_TS,
            show_default=True,
            metavar="COLUMN",
            help="The column of times for the period, the order and the threshold. A table of another"
            " writer may have another column; dots lead into a struct.",
        ),
        click.option(
            "--cooldown",
            metavar="DURATION",
            help="For an application: also read this much after the end, and emit no rows of it.",
        ),
        click.option(
            "--warmup",
            metavar="DURATION",
            help="For an application: also read this much before the start, and emit no rows of it. So"
            " windows, sessions and joins are complete at the start.",
        ),
        click.option(
            "--regions", default="", metavar="A,B", help="Replay only records of these regions."
        ),
        click.option(
            "--end-ts", "end", metavar="TIME", help="The end of the period, not included."
        ),
        click.option(
            "--start-ts",
            "start",
            metavar="TIME",
            help="The start of the period, by ingestion time.",
        ),
        click.option(
            "--table",
            "tables",
            multiple=True,
            metavar="CATALOG.DB.TABLE",
            help="A table to replay without an application. Several tables are merged into one order.",
        ),
        click.option(
            "--select",
            multiple=True,
            metavar="SOURCE=CANDIDATE",
            help="For an application: replay a source from this candidate instead of the one of type"
            " iceberg that its file names first.",
        ),
        click.option(
            "-c",
            "--config",
            "app_path",
            type=click.Path(path_type=Path, dir_okay=False),
            help="An application's file (kind: app), to run over the past.",
        ),
    ):
        function = option(function)
    return function


def replay_options(function: F) -> F:
    """Add what a replay has beside a plan's options."""
    for option in (
        click.option("--resume", is_flag=True, help="Continue the run with that --run-id."),
        click.option(
            "--run-id", metavar="ID", help="The name of the run. [default: made from the time]"
        ),
        click.option(
            "--open-windows",
            type=click.Choice(["leave", "close"]),
            default="leave",
            show_default=True,
            help="For an application: what to do with windows that are still open at the end. leave: do not"
            " emit them. close: emit them with what they have, as if no record could come any more.",
        ),
        click.option(
            "--stage",
            is_flag=True,
            help="For an application: write the result to a staging table, to compare it and then publish"
            " it with backfill publish.",
        ),
        click.option(
            "--registry",
            metavar="URL",
            help="To Kafka as Avro: the schema registry. The table's schema is registered there under"
            " TOPIC-value. The URL is neither shown nor stored: give it again with --resume.",
        ),
        click.option(
            "--format",
            "value_format",
            type=click.Choice(VALUE_FORMATS),
            help="To Kafka: the format of the values. raw: the bytes of the column value, with those of"
            " the column key as the key. [default: the format of the table's own topic; json if the table"
            " does not name one]",
        ),
        click.option(
            "--key",
            metavar="COLUMN",
            help="To Kafka: the column to use as the key; it also decides the partition. [default: the key"
            " that the table stores, if it does, and the record's original partition]",
        ),
        click.option(
            "--to",
            "target",
            metavar="jsonl:DIR|kafka:CLUSTER/TOPIC",
            help="With --table: the target of the records.",
        ),
    ):
        function = option(function)
    return function

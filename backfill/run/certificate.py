"""What a replay says of itself at its end, from what it measured."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from headrace.application.late_rows import DroppedLate
from headrace.contract import INGESTION_TS
from headrace.problems import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from backfill.plan.lookups import PlannedLookup
    from backfill.plan.plan import Plan
    from backfill.run.fingerprint import AppFingerprint

US_PER_MS = 1000


@dataclass(frozen=True, slots=True)
class SourceCount:
    """One table in a replay: the rows that came, and how many the plan says there are.

    By metadata alone the plan knows a span, where the period ends within a file, where regions
    were chosen, or where rows are deleted. Rows without a time are of no period: they are passed over,
    and counted. Beyond the time up to which the table was complete rows may be missing; None where no
    writer says how far that is. Rows that do not meet the conditions of an application
    do not come, and are counted as left out.
    """

    name: str
    snapshot_id: int | None
    files: int
    rows: int
    rows_at_least: int
    rows_at_most: int
    left_out: int = 0
    null_times: int = 0
    complete_up_to: str | None = None
    beyond_complete: bool | None = None
    conditions: tuple[str, ...] = ()
    is_unread: bool = False

    @property
    def rows_read(self) -> int:
        """How many rows were looked at: those that came, and those that were left out."""
        return self.rows + self.left_out + self.null_times

    @property
    def as_planned(self) -> bool:
        """Whether as many rows were read as there are, or none of a table that nobody uses."""
        return self.is_unread or self.rows_at_least <= self.rows_read <= self.rows_at_most


@dataclass(frozen=True, slots=True)
class Certificate:
    """The measured facts. `threshold_ms` is null where no bound was asked for.

    `dropped_late` counts records; where an aggregation gets its rows from another operator with
    state, groups of them, so that there are at least so many records: then it is not exact.
    `offset_order_held` is null but in strict order. `batches_unmeasured` counts batches of an
    application whose late rows nobody counted, as the process was killed with the figure. `ahead`
    counts rows whose own time was further ahead of their arrival than the application allows.
    `open_windows` says what became of windows that no record had closed by the end.
    """

    period: str
    order: str
    steps: int
    threshold_ms: float | None
    max_disorder_ms: float
    dropped_late: int
    complete: bool
    sources: tuple[SourceCount, ...]
    offset_order_held: bool | None = None
    batches_unmeasured: int = 0
    time_column: str = INGESTION_TS
    ahead: int = 0
    lookups: tuple[PlannedLookup, ...] = ()
    open_windows: Literal["left", "closed"] | None = None
    regions: tuple[str, ...] = ()
    app: AppFingerprint | None = None
    dropped_late_is_exact: bool = True

    @property
    def bound_held(self) -> bool:
        """Whether no record was further out of order than the threshold."""
        return self.threshold_ms is None or self.max_disorder_ms <= self.threshold_ms

    @property
    def rows(self) -> int:
        """How many rows were delivered."""
        return sum(source.rows for source in self.sources)

    @property
    def rows_read(self) -> int:
        """How many rows were looked at for that."""
        return sum(source.rows_read for source in self.sources)

    @property
    def beyond_complete(self) -> bool | None:
        """Whether rows may be missing, as the period goes on beyond what is complete; None: unknown."""
        said = [source.beyond_complete for source in self.sources]
        return True if True in said else None if None in said else False

    @property
    def _late(self) -> str:
        return DroppedLate(self.dropped_late, self.dropped_late_is_exact).to_text()

    def differences(self) -> list[str]:
        """Say what is not as it should be, each in a sentence; nothing where all is well."""
        found = []
        if not self.bound_held:
            found.append(f"a record came {self.max_disorder_ms / 1000:.3f} s out of order")
        if self.offset_order_held is False:
            found.append("records of a Kafka partition came out of the order of their offsets")
        if self.dropped_late:
            found.append(f"{self._late} records were dropped as late")
        if self.complete:
            found += [
                (
                    f"{source.name} delivered {source.rows_read:,} rows, but the plan says "
                    f"{_span(source)}"
                )
                for source in self.sources
                if not source.as_planned
            ]
        return found

    def to_json(self) -> str:
        """Write the certificate for machines."""
        whole = {"rows": self.rows} | asdict(self)
        whole |= {
            "bound_held": self.bound_held,
            "null_times": sum(source.null_times for source in self.sources),
            "beyond_complete": self.beyond_complete,
            "sources": [
                asdict(source) | {"as_planned": source.as_planned} for source in self.sources
            ],
            "lookups": [lookup.to_json() for lookup in self.lookups],
            "snapshots": {source.name: source.snapshot_id for source in self.sources},
            "differences": self.differences(),
        }
        return json.dumps(whole, indent=2) + "\n"

    def to_text(self, place: str) -> str:
        """Write the certificate for a person."""
        regions = f", regions {', '.join(self.regions)}" if self.regions else ""
        bound = "" if self.threshold_ms is None else f" of {self.threshold_ms / 1000:g} s allowed"
        lines = [
            f"{self.rows:,} rows in {counted(self.steps, 'step')} → {place}",
            f"  period {self.period}, order {self.order}{regions}",
            (
                f"  largest disorder {self.max_disorder_ms / 1000:.3f} s{bound},"
                f" dropped as late {self._late}"
            ),
        ]
        if self.open_windows is not None:
            lines.append(f"  windows that were open at the end: {self.open_windows}")
        if self.ahead:
            lines.append(f"  too far ahead of their arrival {self.ahead:,} rows (max_ahead)")
        lines += [
            f"  {source.name} @ snapshot {source.snapshot_id}: {source.rows:,} rows,"
            f"{_left_out(source)} by the plan {_span(source)}"
            for source in self.sources
        ]
        lines += [
            (
                f"  {source.name} was complete up to {source.complete_up_to or 'no time yet'}, but "
                "the period ends later"
            )
            for source in self.sources
            if source.beyond_complete
        ]
        lines += [f"  {lookup.to_text()}" for lookup in self.lookups]
        return "\n".join([*lines, *(f"  DIFFERS: {one}" for one in self.differences())])


def certificate_of(  # noqa: PLR0913 - what every replay measures
    plan: Plan,
    *,
    steps: int,
    rows: Mapping[str, int],
    max_disorder_us: int,
    out_of_order: int,
    left_out: Mapping[str, int] | None = None,
    unread: Collection[str] = (),
) -> Certificate:
    """Put what came of each source beside what the plan says there is.

    Of the unread ones nothing was to come; where rows of them did, they count as any.
    """
    sources = tuple(
        SourceCount(
            source.name,
            source.snapshot_id,
            source.files,
            rows.get(source.name, 0),
            source.rows - source.rows_partly,
            source.rows,
            (left_out or {}).get(source.name, 0),
            source.null_times,
            source.complete_up_to,
            source.beyond_complete,
            tuple(map(str, source.conditions)),
            is_unread=source.name in unread and not rows.get(source.name, 0),
        )
        for source in plan.sources
    )
    return Certificate(
        period=str(plan.period),
        order=plan.order,
        steps=steps,
        threshold_ms=plan.threshold_us / US_PER_MS if plan.order == "bounded" else None,
        max_disorder_ms=max_disorder_us / US_PER_MS,
        dropped_late=0,
        complete=steps == len(plan.steps),
        sources=sources,
        offset_order_held=None if plan.order != "strict" else not out_of_order,
        time_column=plan.time_column,
        lookups=plan.lookups,
        regions=plan.regions,
    )


def _left_out(source: SourceCount) -> str:
    if source.is_unread:
        return " not read by the transform,"
    text = f" {source.null_times:,} without a time," if source.null_times else ""
    if source.conditions:
        text += f" {source.left_out:,} left out (not {' AND '.join(source.conditions)}),"
    return text


def _span(source: SourceCount) -> str:
    if source.rows_at_least == source.rows_at_most:
        return f"{source.rows_at_most:,}"
    return f"{source.rows_at_least:,} to {source.rows_at_most:,}"

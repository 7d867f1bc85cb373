from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from backfill.plan.period import Period, parse_period
from backfill.run.fingerprint import AppFingerprint
from backfill.run.options import RequestOptions, parse_request
from headrace.application.select import with_choices
from headrace.config.load import load_app, load_workspace
from headrace.contract import INGESTION_TS
from headrace.errors import UsageError
from tests.unit.config.workspaces import SOUND, Files

if TYPE_CHECKING:
    from pathlib import Path

    from backfill.plan.preconditions import NullTimes

HOUR_US = 3_600_000_000
DAY = parse_period("2026-03-01", "2026-03-02")


@pytest.fixture
def files(tmp_path: Path) -> Files:
    made = Files(tmp_path)
    for name, text in SOUND.items():
        made.write(name, text)
    return made


def asked(
    files: Files, warmup: str | None, cooldown: str | None, *, table: bool = False
) -> RequestOptions:
    return RequestOptions(
        app_path=None if table else files.root / "apps/rmi.yaml",
        tables=("lake.playback.starts",) if table else (),
        start="2026-03-01",
        end="2026-03-02",
        regions="",
        threshold=None,
        order=None,
        rate_limit=None,
        time_column=INGESTION_TS,
        scan=False,
        warmup=warmup,
        cooldown=cooldown,
    )


def test_more_is_read_than_is_emitted(files: Files) -> None:
    files.spoil("apps/rmi.yaml", "mode: append}", "mode: append, time_column: shown_at}")
    workspace = load_workspace(files.root)
    _, request = parse_request(asked(files, "2h", "1h"), workspace)
    assert request.period == Period(DAY.start_us - 2 * HOUR_US, DAY.end_us_exclusive + HOUR_US)
    assert request.emitted == DAY
    _, request = parse_request(asked(files, None, None), workspace)
    assert request.period == request.emitted == DAY


def test_a_warm_up_needs_to_know_when_a_row_belongs(files: Files) -> None:
    workspace = load_workspace(files.root)
    with pytest.raises(UsageError, match=r"(?s)each row needs a time.*sink.time_column"):
        parse_request(asked(files, "2h", None), workspace)
    with pytest.raises(UsageError, match=r"(?s)each row needs a time.*-c APP.yaml"):
        parse_request(asked(files, None, "1h", table=True), workspace)
    with pytest.raises(UsageError, match="--cooldown soon"):
        parse_request(asked(files, None, "soon"), workspace)
    _, request = parse_request(asked(files, None, None), workspace)
    assert request.emitted is None


def test_rows_without_a_time_are_refused_unless_file_or_command_say_otherwise(files: Files) -> None:
    def null_times(**said: NullTimes) -> set[str]:
        workspace = load_workspace(files.root)
        _, request = parse_request({**asked(files, None, None), **said}, workspace)  # type: ignore[typeddict-item]  # one key more
        return set(request.null_times.values())

    assert null_times() == {"fail"}
    assert null_times(null_times="skip") == {"skip"}
    files.spoil("apps/rmi.yaml", "table: impressions,", "table: impressions, null_times: skip,")
    assert null_times() == {"skip"}
    assert null_times(null_times="fail") == {"fail"}


def test_a_source_is_replayed_from_the_table_that_is_chosen(files: Files) -> None:
    candidates = "candidates: [live-impressions, backfill-impressions"
    files.spoil("apps/rmi.yaml", candidates, f"{candidates}, older")
    files.spoil(
        "apps/rmi.yaml",
        "transform:",
        "  older: {type: iceberg, catalog: lake, database: playback, table: older, "
        "max_misalignment_threshold: 5min}\ntransform:",
    )
    workspace = load_workspace(files.root)
    _, usual = parse_request(asked(files, None, None), workspace)
    options = asked(files, None, None)
    options["select"] = ("impressions=older",)
    app, chosen = parse_request(options, workspace)
    assert (usual.tables, usual.choices) == (("lake.playback.impressions",), {})
    assert (chosen.tables, chosen.choices) == (("lake.playback.older",), {"impressions": "older"})
    assert chosen.threshold_us == HOUR_US // 12
    assert app is not None
    # The run keeps it, and a resumed one goes on with it.
    again = with_choices(load_app(app.path, workspace), chosen.choices)
    assert AppFingerprint.of(again, files.root) == AppFingerprint.of(app, files.root)
    options = asked(files, None, None, table=True)
    options["select"] = ("impressions=older",)
    with pytest.raises(UsageError, match="--select is for an application"):
        parse_request(options, workspace)

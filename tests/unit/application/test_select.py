"""Which candidate each source reads, live and over the past."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.application.select import (
    names_for_the_transform,
    of_the_past,
    parse_choices,
    selected,
    with_choices,
)
from headrace.config.app.file import App
from headrace.config.load import LoadedApp
from headrace.errors import UsageError

LIVE = {"type": "kafka", "cluster": "c", "topics": "t", "format": "raw"}
PAST = {"type": "iceberg", "catalog": "lake", "database": "db", "table": "t"}


def app(**sources: object) -> App:
    return App.model_validate(
        {
            "kind": "app",
            "name": "a",
            "sources": sources,
            "transform": {"sql": "SELECT 1"},
            "sink": {"type": "jsonl", "path": "out"},
        }
    )


def dynamic(chosen: str, *candidates: str) -> dict[str, object]:
    return {"type": "dynamic", "selected": chosen, "candidates": list(candidates)}


def test_the_transform_knows_what_is_nobodys_candidate() -> None:
    two = app(s=dynamic("live", "live", "past"), live=LIVE, past=PAST, fixed=LIVE)
    assert names_for_the_transform(two) == ["s", "fixed"]


def test_a_choice_goes_before_the_file() -> None:
    one = app(s=dynamic("live", "live", "past"), live=LIVE, past=PAST)
    assert selected(one, {})["s"] is one.sources["live"]
    assert selected(one, {"s": "past"})["s"] is one.sources["past"]


def test_candidates_may_be_dynamic_themselves() -> None:
    nested = app(
        s=dynamic("inner", "inner"), inner=dynamic("live", "live", "past"), live=LIVE, past=PAST
    )
    assert selected(nested, {"inner": "past"})["s"] is nested.sources["past"]
    assert of_the_past(nested)["s"] is nested.sources["past"]


def test_over_the_past_the_selected_table_is_taken_before_the_others() -> None:
    other = {**PAST, "table": "other"}
    two = app(s=dynamic("second", "first", "second"), first=PAST, second=other)
    assert of_the_past(two)["s"].table == "other"


def test_a_source_without_a_table_cannot_be_replayed() -> None:
    with pytest.raises(UsageError, match="fixed has no candidate of type iceberg"):
        of_the_past(app(s=dynamic("past", "past"), past=PAST, fixed=LIVE))


def test_a_replay_reads_the_table_that_is_chosen() -> None:
    other = {**PAST, "table": "other"}
    two = app(s=dynamic("live", "live", "first", "second"), live=LIVE, first=PAST, second=other)
    loaded = LoadedApp(two, {}, None, Path("a.yaml"))
    assert of_the_past(loaded.config)["s"].table == "t"
    chosen = with_choices(loaded, parse_choices(["s=second"]))
    assert of_the_past(chosen.config)["s"].table == "other"
    with pytest.raises(UsageError, match="live of s is no table"):
        with_choices(loaded, {"s": "live"})
    with pytest.raises(UsageError, match="third is not a candidate of s"):
        with_choices(loaded, {"s": "third"})
    with pytest.raises(UsageError, match="--select s is not valid"):
        parse_choices(["s"])

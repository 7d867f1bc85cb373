"""Every metric and label that an alert or a dashboard asks for exists."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from ruamel.yaml import YAML

from headrace.metrics.definitions import METRICS
from tests.unit.deploy.asked_names import unknown_in
from tools.write_alert_rules import RULES
from tools.write_dashboards import DASHBOARDS, FOLDER, as_json, file_of

if TYPE_CHECKING:
    from tools.dashboards.panels import Dashboard


def test_each_file_is_what_the_code_writes() -> None:
    written = {file_of(one): as_json(one) for one in DASHBOARDS}
    found = {path: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert found == written, "make generated"


@pytest.mark.parametrize("board", DASHBOARDS, ids=lambda one: one.name)
def test_a_dashboard_asks_for_what_exists(board: Dashboard) -> None:
    whole = json.loads(file_of(board).read_text(encoding="utf-8"))
    targets = [target for panel in whole["panels"] for target in panel["targets"]]
    problems = [
        problem
        for one in targets
        for problem in unknown_in(one["expr"], re.findall(r"\{\{(\w+)\}\}", one["legendFormat"]))
    ]
    variables = [one for one in whole["templating"]["list"] if one["type"] == "query"]
    for one in variables:
        found = re.fullmatch(r"label_values\((.*), (\w+)\)", one["query"]["query"])
        assert found is not None
        problems += unknown_in(found[1], [found[2]])
    assert problems == []
    # What it has no variable for stays as it is, and matches nothing.
    chosen = {one["name"] for one in whole["templating"]["list"]}
    asked = {name for one in targets for name in re.findall(r"\$(\w+)", one["expr"])}
    assert asked <= chosen | {"__rate_interval"}


def test_an_alert_asks_for_what_exists() -> None:
    (group,) = YAML(typ="safe").load(RULES)["groups"]
    problems = []
    for rule in group["rules"]:
        shown = re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values()))
        problems += unknown_in(rule["expr"], shown)
    assert problems == []


def test_each_metric_is_on_a_dashboard() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in FOLDER.iterdir())
    missing = [one.name for one in METRICS if one.name not in text]
    assert missing == ["headrace_build_info"]


@pytest.mark.parametrize(
    ("expr", "problem"),
    [
        ("rate(headrace_records_inn_total[5m])", "there is no metric headrace_records_inn_total"),
        ('headrace_records_out_total{table="a"}', "headrace_records_out_total has no label table"),
        ("headrace_batch_duration_seconds", "there is no metric headrace_batch_duration_seconds"),
        ("sum by (topic) (headrace_job_up)", "no metric has the label topic in: sum by (topic)"),
        ("headrace_commit_duration_seconds_sum{le='1'}", "has no label le"),
        ("vector(1)", "no metric in: vector(1)"),
    ],
)
def test_what_does_not_exist_is_named(expr: str, problem: str) -> None:
    (found,) = unknown_in(expr)
    assert problem in found

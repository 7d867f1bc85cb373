"""The alerts that are shipped: as the code has them, and on recorded series, by Prometheus' own tool."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from tests.programs import NOTHING_LEFT_OUT, program
from tests.unit.deploy.alert_cases import CASES, Case
from tools.write_alert_rules import ALERTS, RULES, rules

if TYPE_CHECKING:
    from pathlib import Path

BY_NAME = {one.name: one for one in ALERTS}


def test_the_file_is_what_the_code_writes() -> None:
    assert RULES.read_text(encoding="utf-8") == rules(), "make generated"


def test_each_alert_has_series_on_which_it_fires_and_series_on_which_it_is_quiet() -> None:
    names = set(BY_NAME)
    assert {one.alert for one in CASES if one.summary is not None} == names
    assert {one.alert for one in CASES if one.summary is None} == names


def promtool(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program("promtool", "prometheus"), *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_prometheus_reads_the_file() -> None:
    checked = promtool("check", "rules", "--lint=all", "--lint-fatal", str(RULES))
    assert checked.returncode == 0, checked.stderr
    assert f"{len(ALERTS)} rules found" in checked.stdout


def test_the_alerts_fire_when_they_should_and_not_otherwise(tmp_path: Path) -> None:
    for every in {one.every for one in CASES}:
        done = run_cases(tmp_path, [one for one in CASES if one.every == every])
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("quiet", [True, False])
def test_a_case_that_says_the_contrary_fails(tmp_path: Path, *, quiet: bool) -> None:
    one = next(one for one in CASES if (one.summary is None) == quiet)
    summary = "Something else." if quiet else None
    contrary = Case(one.alert, one.why, one.series, one.at, summary, one.labels, one.every)
    assert run_cases(tmp_path, [contrary]).returncode != 0


def test_a_missing_program_leaves_a_test_out_only_where_that_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(NOTHING_LEFT_OUT, "1")
    with pytest.raises(pytest.fail.Exception, match="apt-get install nothing"):
        program("no-such-program", "nothing")
    monkeypatch.delenv(NOTHING_LEFT_OUT)
    with pytest.raises(pytest.skip.Exception, match="apt-get install nothing"):
        program("no-such-program", "nothing")


def run_cases(folder: Path, cases: list[Case]) -> subprocess.CompletedProcess[str]:
    whole = {
        "rule_files": [str(RULES)],
        "evaluation_interval": cases[0].every,
        "tests": [as_test(one) for one in cases],
    }
    with (folder / "cases.yaml").open("w") as out:
        YAML().dump(whole, out)
    return promtool("test", "rules", "cases.yaml", cwd=folder)


def as_test(one: Case) -> dict[str, Any]:
    alert = BY_NAME[one.alert]
    expected = []
    if one.summary is not None:
        annotations = {"summary": one.summary, "action": alert.action}
        labels = {"severity": alert.severity, **one.labels}
        expected = [{"exp_labels": labels, "exp_annotations": annotations}]
    return {
        "name": f"{one.alert}: {one.why}",
        "interval": one.every,
        "input_series": [{"series": key, "values": one.series[key]} for key in one.series],
        "alert_rule_test": [{"eval_time": one.at, "alertname": one.alert, "exp_alerts": expected}],
    }

"""`links` and `prices` of headrace.yaml: what they may hold, and the addresses that they give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.config.load import load_workspace
from headrace.errors import BadConfig
from headrace.http.pages.formats import money

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace


def workspace(root: Path, text: str) -> Workspace:
    (root / "headrace.yaml").write_text(text, encoding="utf-8")
    return load_workspace(root)


def test_without_them_there_are_none(tmp_path: Path) -> None:
    found = workspace(tmp_path, "clusters: {}")
    assert found.prices is None
    assert found.links.of_topic("c", "t") is None
    assert found.links.of_table("lake.tv.t") is None
    assert found.links.of_dashboard("stream", "s") is None


def test_names_are_filled_in_and_cannot_leave_their_place(tmp_path: Path) -> None:
    links = workspace(
        tmp_path,
        "links:\n"
        '  topic: "https://ui.example/{cluster}/{topic}?tab=messages"\n'
        '  table: "http://catalog.example/{catalog}/{database}/{table}"\n'
        '  dashboard: "https://grafana.example/d/{kind}?var-name={name}"\n',
    ).links
    assert (
        links.of_topic("a b", "../x?y#z") == "https://ui.example/a%20b/..%2Fx%3Fy%23z?tab=messages"
    )
    assert links.of_table("lake.a.b.t") == "http://catalog.example/lake/a.b/t"
    assert (
        links.of_dashboard("app", "rmi&x=1") == "https://grafana.example/d/app?var-name=rmi%26x%3D1"
    )


def test_prices_have_a_currency_and_go_by_the_copies_of_the_topic(tmp_path: Path) -> None:
    prices = workspace(tmp_path, "prices: {kafka_gb_month: 0.1, lake_gb_month: 0}").prices
    assert prices is not None
    assert (prices.kafka_gb_month, prices.lake_gb_month) == (0.1, 0.0)
    assert (prices.currency, prices.kafka_replication) == ("USD", None)


@pytest.mark.parametrize(
    "text",
    [
        'links: {topic: "javascript:alert(1)"}',
        'links: {topic: "//ui.example/{topic}"}',
        'links: {topic: "{topic}"}',
        'links: {topic: "https://ui.example/{table}"}',
        'links: {topic: "https://ui.example/{topic.__class__}"}',
        'links: {topic: "https://ui.example/{topic!r}"}',
        'links: {topic: "https://ui.example/{}"}',
        'links: {topic: "https://ui.example/{topic"}',
        'links: {topic: "https://user:secret@ui.example/{topic}"}',
        'links: {topics: "https://ui.example/"}',
        "prices: {kafka_gb_month: 0.1}",
        "prices: {kafka_gb_month: cheap, lake_gb_month: 1}",
        "prices: {kafka_gb_month: -1, lake_gb_month: 1}",
        "prices: {kafka_gb_month: .inf, lake_gb_month: 1}",
        "prices: {kafka_gb_month: true, lake_gb_month: 1}",
        "prices: {kafka_gb_month: 1, lake_gb_month: 1, currency: dollars}",
        "prices: {kafka_gb_month: 1, lake_gb_month: 1, kafka_replication: 0}",
    ],
)
def test_what_they_may_not_hold(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadConfig) as refused:
        workspace(tmp_path, text)
    (problem,) = refused.value.problems
    assert str(problem).startswith(f"{tmp_path / 'headrace.yaml'}:1:")


@pytest.mark.parametrize(
    ("amount", "shown"),
    [(0, "0.00 EUR"), (1234.567, "1,234.57 EUR"), (0.01, "0.01 EUR"), (0.0000123, "0.000012 EUR")],
)
def test_an_amount_is_never_rounded_to_nothing(amount: float, shown: str) -> None:
    assert money(amount, "EUR") == shown

"""What a query may use of its tables is among the names that it mentions."""

from __future__ import annotations

import re

import pytest

from headrace.expressions.queries import mentioned_columns


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        (
            "SELECT Country, count(*) AS n FROM s WHERE device = 'tv' GROUP BY country",
            "country device",
        ),
        ("SELECT s.__metadata__.offset FROM s", "__metadata__"),
        ("SELECT `A b` FROM s", "a b"),
        ("WITH x AS (SELECT a, ts FROM s) SELECT a FROM x WHERE ts > now()", "a ts"),
        ("SELECT l.x FROM l JOIN r USING (k)", "x k"),
        ("SELECT x FROM l UNION ALL SELECT y FROM r", "x y"),
        ("SELECT e.x FROM s LATERAL VIEW explode(items) e AS x", "items"),
        (
            "SELECT window.start, c FROM s GROUP BY window(event_ts, '1 minute'), c",
            "event_ts c window",
        ),
        ("SELECT transform(xs, x -> x + d) FROM s ORDER BY o", "xs d o"),
        ("SELECT count(*) FROM s", ""),
    ],
)
def test_each_column_that_is_used_is_mentioned(query: str, columns: str) -> None:
    mentioned = mentioned_columns(query)
    assert mentioned is not None
    wanted = {"a b"} if columns == "a b" else set(columns.split())
    assert wanted <= mentioned
    # No more than the query's own words (and Spark's name of a window's column): a column that it
    # does not name is not read.
    words = {word.lower() for word in re.findall(r"\w+", query)}
    assert mentioned <= wanted | words | {"window_"}
    assert not mentioned & {"select", "count", "explode", "now", "transform"}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM s",
        "SELECT l.* FROM l JOIN r ON l.k = r.k",
        "SELECT a FROM (SELECT * FROM s)",
        "SELECT struct(*) FROM s",
        "SELECT count(s.*) FROM s",
        "SELECT * EXCEPT (a) FROM s",
        "SELECT l.x FROM l NATURAL JOIN r",
        "SELECT a FROM s PIVOT (sum(v) FOR y IN (1, 2))",
        "SELECT identifier('a') FROM s",
        "FROM s",
        "TABLE s",
        "SELECT FROM WHERE",
    ],
)
def test_where_columns_are_used_unnamed_nothing_is_said(query: str) -> None:
    assert mentioned_columns(query) is None

"""No regular expression that meets a record can take more than linear time."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import headrace.records
from headrace.expressions import compiled
from tests.fuzz.patterns import patterns_of, problems_of

# The modules that meet what is in a record: those of records, and what expressions run.
MODULES = [
    *(one.name for one in pkgutil.walk_packages(headrace.records.__path__, "headrace.records.")),
    *(
        one.name
        for one in pkgutil.walk_packages(compiled.__path__, f"{compiled.__name__}.")
        if one.name.startswith(f"{compiled.__name__}.runtime.")
    ),
]


@pytest.mark.parametrize("name", MODULES)
def test_every_pattern_that_meets_a_record_is_linear(name: str) -> None:
    module = importlib.import_module(name)
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    made_where_it_is_used = re.findall(r"\bre\.(?!compile\(|Pattern|Match|[A-Z])\w+\(", source)
    assert not made_where_it_is_used, "give the pattern a name in the module: here it is not seen"
    problems = {
        pattern: problems_of(found.pattern, found.flags, searches=searches)
        for pattern, found, searches in patterns_of(module, source)
    }
    assert not {pattern: one for pattern, one in problems.items() if one}


@pytest.mark.parametrize(
    ("pattern", "searches"),
    [
        (r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', True),
        (r'"(?:[^"\\]|\\.)*+"', True),
        (r"[+-]?[0-9]+\.?[0-9]*", False),
        (r"\s*(?:Z|UTC)?\s*", False),
        (r"\s*+(?:a*+b)*+", False),
        (r"(?:\d{1,9})*", False),
        (r"(?:a|a)*b", False),
        (r"(.*) - at (.*)", False),
        (r"(.*)\1\1", False),
        (r"(?:x+x+)+y", False),
        (r"(?=a*b)a*c", False),
    ],
)
def test_a_pattern_that_is_slow_is_seen(pattern: str, searches: bool) -> None:
    assert problems_of(pattern, searches=searches)


@pytest.mark.parametrize(
    ("pattern", "searches"),
    [
        (r"\s*+(?:Z|UTC|[+-]\d{2})?\s*+", False),
        (r"\d{4}-\d{1,2}(?:\.\d{1,9})?", True),
        (r'"(?:[^"\\]|\\.)*+"', False),
        (r"[a-z]+", True),
        (r"\s*(\d{4})", False),
    ],
)
def test_a_pattern_that_is_linear_passes(pattern: str, searches: bool) -> None:
    assert problems_of(pattern, searches=searches) == []

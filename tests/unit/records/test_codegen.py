from __future__ import annotations

import gc
import linecache
import traceback

import pytest

from headrace.records.codegen import function


def test_a_traceback_shows_the_line() -> None:
    broken = function("broken", ["value"], ["value += 1", "return 1 / zero"], {"zero": 0})
    with pytest.raises(ZeroDivisionError) as told:
        broken(1)
    assert "return 1 / zero" in "".join(traceback.format_exception(told.value))


def test_nothing_stays_of_a_function_that_is_gone() -> None:
    before = set(linecache.cache)
    made = function("made", [], ["return 1"], {})
    assert len(set(linecache.cache) - before) == 1
    del made
    gc.collect()
    assert set(linecache.cache) <= before

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import Terminal
from router.ledger import Counts

_NUMBERS = st.integers(0, 10**12)
_COUNTS = st.builds(Counts, _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS)


@given(_COUNTS, _COUNTS)
def test_batches_add_up(one: Counts, other: Counts) -> None:
    both = one + other
    assert both == other + one
    assert both.read == one.read + other.read
    assert both.accounted == one.accounted + other.accounted
    assert one + Counts() == one


@given(_COUNTS)
def test_nothing_is_acknowledged_that_is_not_accounted_for(counts: Counts) -> None:
    whole = Counts(
        counts.accounted, counts.written, counts.filtered, counts.dropped, counts.quarantined
    )
    assert whole.checked() is whole
    if counts.read != counts.accounted:
        with pytest.raises(Terminal, match=f"of {counts.read} records read only"):
            counts.checked()

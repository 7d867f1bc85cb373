"""Which parts of a live run may be read a second time, to count what was dropped of them.

Rows of a table cost little to read again, and come out the same. A topic is read once: most of
what a live run drops is late there, and its bad records would go to the quarantine twice.
"""

from __future__ import annotations

import json


def is_of_tables(start: str, end: str) -> bool:
    """Whether a source read none but tables between two of its offsets."""
    begun, ended = json.loads(start), json.loads(end)
    if not isinstance(begun, dict) or not isinstance(ended, dict):
        return False
    if "past" in ended:
        # Of a hybrid source, the places in the topics stand still while its history is read.
        return bool(begun["live"] == ended["live"])
    # Of a table that is followed.
    return "base_us" in ended

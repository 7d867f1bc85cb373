"""What headrace counts and measures, for Prometheus: one list of names, and their text.

Reads: nothing. Writes: text.
Promises: a name or a label that is not in the list is never shown; no label has a record's key.
"""

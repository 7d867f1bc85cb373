"""What came of a replay: held against the live result, and published.

Reads: two tables of results, or what a replay has staged. Writes: the application's own table.
Promises: every difference has its name, its key and an example; a table changes in one commit.
"""

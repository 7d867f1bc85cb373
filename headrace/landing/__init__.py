"""Landing rows in a table exactly once, however often a batch is tried.

Reads: the commit state in the table itself. Writes: files that others wrote, the next commit state.
Promises: a commit is taken only on top of the very commit state that its writer goes on from.
"""

"""Landing rows in a table exactly once, however often a batch is tried.

Reads: the mark that the table itself holds. Writes: files that others wrote, and the next mark.
Promises: a commit is taken only on top of the very mark that its writer goes on from.
"""

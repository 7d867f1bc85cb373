"""The line: one Spark query that works for many jobs, from ranges of offsets to what makes them true.

Reads and writes: what its jobs do. Spark's checkpoint of it is scratch.
Promises: a job that fails rests and holds up no other; a batch counts only after its job finished it.
"""

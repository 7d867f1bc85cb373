"""The stream app: one application, its sources live or replayed.

Reads: what its sources give. Writes: what its sink takes.
Promises: the same code on both; which of them is read is a matter of the file or of a flag.
"""

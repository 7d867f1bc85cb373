"""Reads: expressions and the schema of their records.

Writes: nothing. Promises: the Python it gives means what Spark 4.1 makes of the same text.
"""

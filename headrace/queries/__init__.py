"""Streaming queries: run to their end or until asked to drain, started again, their checkpoints read.

Reads: Spark's checkpoints. Writes: nothing itself.
Promises: the batch at hand ends before a drain does, and a query that ends gives its cause.
"""
